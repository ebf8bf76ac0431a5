"""Where the trainings of a run ended, so that a longer run can go on from there: at a rate that
does not depend on the length it ends in the weights that it would have had from the start, bit for
bit.

    <job>/ends/<training>.safetensors
"""

import hashlib
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Tensors
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.contract.settings_io import from_stored
from icl_core.jobs.folder import Job, jobs_folder
from icl_core.jobs.reading import plain_file
from icl_core.runs import store
from icl_core.runs.disk import private_folder, write_whole
from icl_core.runs.file import Damaged, pack, read

TIMES = (2, 5, 10)  # how many times as long a run is asked for
LARGEST = 2**28  # bytes of all ends; the oldest go first
FIELD = "steps"


class Ends:
    """The ends of one job's trainings, and those of the shorter runs that it can go on from.
    `identity` is what a file must agree with: see `JobProgress`. A file that cannot be written
    costs only that a longer run starts anew."""

    def __init__(self, identity: dict[str, Any]) -> None:
        self._identity = identity

    def keep(self, training: str, state: Callable[[], Tensors]) -> None:
        """Keep the state in which a training ended; `state` gives it."""
        if config := self._going_on():
            path = _path(_folder(self._identity["experiment"], config), training)
            write_end(path, pack(state(), self._identity))

    def earlier(self, training: str) -> Tensors:
        """The state in which that training of the longest shorter run ended; empty if there is
        none."""
        name, config = self._identity["experiment"], self._going_on()
        for known in shorter(name, config) if config else ():
            path, wanted = (
                _path(_folder(name, known), training),
                {**self._identity, "config": store.stored_settings(known)},
            )
            if plain_file(path):
                with suppress(OSError, Damaged):
                    record, tensors = read(path)
                    if {field: record.get(field) for field in wanted} == wanted:
                        return tensors
        return {}

    def _going_on(self) -> Any:
        """The job's settings, if a run of these can be part of a longer one."""
        experiment = registry.experiment(self._identity["experiment"])
        config = from_stored(experiment.config, self._identity["config"])
        return config if experiment.goes_on(config) else None


def write_end(path: Path, content: bytes) -> None:
    """Keep the file of an end, if there is room."""
    with suppress(OSError):
        if len(content) <= LARGEST:
            private_folder(path.parent)
            write_whole(path, content)
            _make_room(path.parent)


def shorter(experiment_id: str, config: Any) -> list[Any]:
    """The settings of the runs that one of `config` is 2, 5 or 10 times as long as, the longest
    first."""
    found, steps = [], getattr(config, FIELD)
    for times in TIMES:
        with suppress(BadSetting):
            if steps % times == 0:
                found.append(replace(config, **{FIELD: steps // times}))
    return [each for each in found if registry.experiment(experiment_id).goes_on(each)]


def longer(experiment_id: str, config: Any) -> list[Any]:
    """The settings of the runs 2, 5 and 10 times as long, as far as there are any."""
    known = knobs_of(type(config)).get(FIELD)
    found = []
    for times in TIMES if known else ():
        with suppress(BadSetting):
            found.append(replace(config, **{FIELD: times * getattr(config, FIELD)}))
    return found


def has_end(experiment_id: str, config: Any) -> bool:
    """Whether the run of `config` was made here, to its end, and left what a longer one goes on
    from."""
    job = Job(store.key_of(experiment_id, config))
    done = registry.experiment(experiment_id).goes_on(config) and job.state()["status"] == "done"
    return done and any(job.ends.glob("*.safetensors"))


def _folder(experiment_id: str, config: Any) -> Path:
    return Job(store.key_of(experiment_id, config)).ends


def _path(folder: Path, training: str) -> Path:
    return folder / f"{hashlib.sha256(training.encode()).hexdigest()[:16]}.safetensors"


def _make_room(spared: Path) -> None:
    """Drop the ends of whole runs, the oldest first."""
    sizes = {}
    for folder in sorted(jobs_folder().glob("*/ends"), key=lambda path: path.stat().st_mtime):
        sizes[folder] = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    for folder in (each for each in list(sizes) if each != spared):
        if sum(sizes.values()) > LARGEST:
            shutil.rmtree(folder, ignore_errors=True)
            del sizes[folder]
