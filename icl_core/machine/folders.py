"""The project's folders: shipped files, and files created on this computer."""

import os
import stat
import tomllib
from importlib import metadata
from pathlib import Path

import platformdirs

NAME = "icl-dashboard"  # of the package
LIBRARY = Path(__file__).resolve().parents[2]  # the folder that holds icl_core


def dashboard_home(library: Path) -> Path:
    """Return the folder of app.py, pages/ and artifacts/, given the folder that holds `icl_core`.

    A wheel puts them into `icl_dashboard/` beside `icl_core`. Otherwise, and in an editable
    install, `library` is the repository and holds them itself.
    """
    installed = library / "icl_dashboard"
    return installed if (installed / "app.py").is_file() else library


HOME = dashboard_home(LIBRARY)
ARTIFACTS = HOME / "artifacts"


def is_installed() -> bool:
    """Return whether the dashboard runs from an installed wheel, not from its repository."""
    return HOME != LIBRARY


def project_version() -> str:
    """Return the version of the dashboard: that of the installed package, else the repository's."""
    if is_installed():
        return metadata.version(NAME)
    project = tomllib.loads((LIBRARY / "pyproject.toml").read_text(encoding="utf-8"))
    return project["project"]["version"]


def cache_folder() -> Path:
    """Return the folder for files created on this computer: local runs, jobs, documents.

    `ICL_CACHE_DIR` names it, in which a leading `~` is the user's home; else it is artifacts/cache
    in the repository, and the system's folder for the user's data if the dashboard is installed.
    """
    named = os.environ.get("ICL_CACHE_DIR")
    if named:
        return Path(os.path.expanduser(named))
    if is_installed():
        return platformdirs.user_data_path("icl-dashboard", appauthor=False)
    return ARTIFACTS / "cache"


def read_regular_file(path: Path, largest: int) -> bytes:
    """Return the bytes of a regular file of at most `largest` bytes.

    Raises `ValueError` for a larger file and for a pipe or a device, which could be read without
    end, and `OSError` if the file cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
        raise ValueError(
            f"expected a file of at most {largest} bytes, got {stat.filemode(status.st_mode)} of "
            f"{status.st_size}"
        )
    return path.read_bytes()
