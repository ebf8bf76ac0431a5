"""Read and write the seconds that the run of each preset takes, from which estimates are made.

    artifacts/seconds.json   {"pace": {"small": …, "products": …},
                              "presets": {<experiment>: {<preset>: seconds}}}

They are measured by `python -m icl_core build --time` on one machine, whose pace the file holds.
The seconds in the headers of shipped runs are not used: those runs are of several seeds, and of
machines whose pace is not known.
"""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from icl_core.machine.pace import Pace, is_pace
from icl_core.runs import store
from icl_core.runs.disk import write_whole


class PresetSeconds(NamedTuple):
    """Seconds by experiment's id and preset's name, at one pace."""

    pace: Pace
    by_experiment: Mapping[str, Mapping[str, float]]


def load() -> PresetSeconds | None:
    """Return what was measured; None if the file is not there or cannot be read."""
    try:
        status = _path().stat()
    except OSError:
        return None
    return _load(_path(), status.st_mtime_ns)


@lru_cache(4)
def _load(path: Path, changed: int) -> PresetSeconds | None:
    """Return what the file holds; it is read anew once it has `changed`."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not _is_record(record):
        return None
    return PresetSeconds(Pace(**record["pace"]), record["presets"])


def write(measured: PresetSeconds) -> None:
    """Write the file. Raises `OSError`."""
    rounded = {
        experiment: {preset: float(f"{seconds:.4g}") for preset, seconds in presets.items()}
        for experiment, presets in measured.by_experiment.items()
    }
    pace = {name: float(f"{seconds:.4g}") for name, seconds in measured.pace._asdict().items()}
    record = {"pace": pace, "presets": rounded}
    write_whole(_path(), (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def _path() -> Path:
    return store.default().shipped / "seconds.json"


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and is_pace(value.get("pace"))
        and isinstance(value.get("presets"), dict)
        and all(
            isinstance(presets, dict) and all(map(_is_seconds, presets.values()))
            for presets in value["presets"].values()
        )
    )


def _is_seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 < value < math.inf
