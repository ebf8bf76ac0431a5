"""Where files lie: what comes with the project, and what is made on this computer."""

import os
from pathlib import Path

ARTIFACTS = Path(__file__).resolve().parents[1] / "artifacts"


def cache_folder() -> Path:
    """The folder for what is made here; `ICL_CACHE_DIR` names another."""
    return Path(os.environ.get("ICL_CACHE_DIR") or ARTIFACTS / "cache")
