"""A Chromium on this computer, for those who take pictures or test in a browser."""

import shutil
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def find() -> str | None:
    """Return the path of a Chromium: on PATH, a macOS application, or Playwright's own; None if
    there is none."""
    on_path = next(filter(None, map(shutil.which, _NAMES)), None)
    return on_path or next((app for app in _APPS if Path(app).exists()), None) or _playwrights_own()


def _playwrights_own() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None
