"""Where the folder that the variable ICL_MODELS names holds a model, or a series of checkpoints."""

import os
from pathlib import Path

FOLDER = "ICL_MODELS"


def place_of(name: str) -> Path | None:
    """Return `<ICL_MODELS>/<name>` or `<ICL_MODELS>/<name>.gguf`; None if there is neither."""
    if folder := os.environ.get(FOLDER):
        parent = Path(os.path.expanduser(folder))  # which leaves a user that there is not as it is
        for path in (parent / name, parent / f"{name}.gguf"):
            if os.path.exists(path):  # False also for a name that no path can have
                return path
    return None
