"""A Chromium for the browser tests: `python tests/chromium.py` finds one or installs one, and
prints where it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from icl_core.share.chromium import find


def install() -> None:
    """Install a Chromium: the system's package on Debian and its like, else Playwright's own."""
    if shutil.which("apt-get"):
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        subprocess.run([*sudo, "apt-get", "update", "-q"], check=False)
        done = subprocess.run(
            [*sudo, "apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"]
        )
        # Ubuntu's package only fetches a snap, which does not run everywhere
        if done.returncode == 0 and find():
            return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def main() -> int:
    """Find or install; 0 if there is one now."""
    if find() is None:
        install()
    path = find()
    print(
        path or "no Chromium could be found or installed", file=sys.stdout if path else sys.stderr
    )
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
