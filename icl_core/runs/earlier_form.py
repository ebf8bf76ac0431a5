"""What versions of the dashboard before the database kept in files: the queue of jobs and the
owners of runs and documents. It is taken over once, when the database is made, and then deleted.

    <cache>/jobs/<key>/request.json   <cache>/jobs/<key>/state.json   <cache>/jobs/<key>/watched/
    <cache>/owners/<key or digest>/<visitor>
"""

import json
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from icl_core.machine.folders import cache_folder
from icl_core.runs.disk import files_of

_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")  # of an item and of a visitor
_COMMAND_LINE = "here"  # the file of the visitor whose name is empty
_STATUSES = ("queued", "interrupted", "running", "done", "failed", "cancelled", "left")
_PROGRESS = {"message": str, "step": int, "total": int, "kept": bool, "left": bool}
_FILES = ("request.json", "state.json", "cancel", "watched")


def exists() -> bool:
    """Return whether an earlier version has left something."""
    return any(_job_folders()) or os.path.isdir(cache_folder() / "owners")


def read() -> dict[str, list[dict[str, Any]]]:
    """Return the rows for the database's tables `jobs` and `owners`. A job whose request cannot be
    read is left out: it must be asked for again."""
    jobs: list[dict[str, Any]] = []
    for folder in _job_folders():
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            jobs.append(_job_row(folder))
    owners = [
        {
            "item": path.parent.name,
            "visitor": "" if path.name == _COMMAND_LINE else path.name,
            "added": time.time(),
        }
        for path in files_of(cache_folder() / "owners", "*/*")
        if _NAME.fullmatch(path.parent.name) and _NAME.fullmatch(path.name)
    ]
    return {"jobs": jobs, "owners": owners}


def delete() -> None:
    """Delete what was taken over. Checkpoints, curves and final states stay where they are."""
    for folder in _job_folders():
        for name in _FILES:
            path = folder / name
            with suppress(OSError):  # the next process tries again
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    shutil.rmtree(cache_folder() / "owners", ignore_errors=True)


def _job_folders() -> list[Path]:
    requests = files_of(cache_folder() / "jobs", "*/request.json")
    return [path.parent for path in requests if _NAME.fullmatch(path.parent.name)]


def _job_row(folder: Path) -> dict[str, Any]:
    """Return the row of a job. Raises `ValueError`, `KeyError` or `TypeError` if its request is
    none."""
    request: dict[str, Any] = json.loads((folder / "request.json").read_bytes())
    state: Any = {}
    changed = 0.0
    with suppress(OSError, ValueError, RecursionError):
        state = json.loads((folder / "state.json").read_bytes())
        changed = (folder / "state.json").stat().st_mtime
    if not isinstance(state, dict) or state.get("status") not in _STATUSES:
        state = {"status": "queued"}
    if state["status"] == "left":
        state = {"status": "cancelled", "left": True}
    progress = {
        name: state[name] for name, kind in _PROGRESS.items() if type(state.get(name)) is kind
    }
    return {
        "key": folder.name,
        "experiment": _text(request["experiment"]),
        "version": _number(request.get("version", 0)),
        "config": _text(json.dumps(dict(request["config"]))),
        "asked": _number(request["asked"]),
        "visitor": _text(request.get("visitor", "")),
        "turn": _number(request.get("turn", 0)),
        "later": bool(request.get("later", False)),
        "status": state["status"],
        "progress": _text(json.dumps(progress)),
        "changed": changed,
        "cancel": "",
    }


def _text(value: Any) -> str:
    """Return a text that a database can hold."""
    return str(value).encode(errors="replace").decode()


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"expected a number, got {value!r:.40}")
    return value
