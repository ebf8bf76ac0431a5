"""Make the pictures in .github/ anew: `python tests/screenshots.py` while the dashboard runs on its
usual port."""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import chromium

FOLDER = Path(__file__).parents[1] / ".github"
ADDRESS = "http://localhost:8501"
PAGES = {
    "front": "",
    "induction": "birth?preset=order",
    "constructed": "birth?experiment=constructed",
    "methods": "memformers",
    "convergence": "memformers?experiment=convergence",
    "gdssm": "gdssm",
    "lessons": "lessons",
    "claims": "claims",
    "runs": "runs",
}


def main(address: str = ADDRESS) -> None:
    """One picture a page, 1400 x 1000 pixels, light."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme="light")
        for name, path in PAGES.items():
            page.goto(f"{address}/{path}")
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            if name not in ("lessons", "claims", "runs"):
                page.wait_for_selector(".js-plotly-plot .main-svg")
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(1500)  # the clock brings the panels to its snapshot
            page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
