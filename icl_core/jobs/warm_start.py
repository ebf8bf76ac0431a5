"""Keep the final states of a run's trainings, so that a longer run can continue from them: with a
learning rate that does not depend on the run's length, it ends with the same weights, bit for bit,
as if it had been trained from the start.

    <job>/ends/<training>.safetensors

Called by the `Progress` classes of a job, by `train_longer` on the pages and by the cluster.
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
from icl_core.runs import store
from icl_core.runs.disk import private_folder, write_whole
from icl_core.runs.file import Damaged, pack, read

TIMES = (2, 5, 10)  # how many times as long the longer runs are
LARGEST = 2**28  # bytes of all final states; those of the oldest runs are deleted first
FIELD = "steps"  # the setting that is a run's length


class EndStates:
    """The final states of one job's trainings, and those of the shorter runs that it can continue
    from. `identity` is what a file must agree with (`phase_helper.identity_of`)."""

    def __init__(self, identity: dict[str, Any]) -> None:
        self._identity = identity

    def save(self, training: str, state: Callable[[], Tensors]) -> None:
        """Write the final state of a training. If that fails, a longer run starts anew."""
        if config := self._extendable_config():
            path = _path(_folder(self._identity["experiment"], config), training)
            write_end(path, pack(state(), self._identity))

    def load_earlier(self, training: str) -> Tensors:
        """Return the final state of that training in the longest shorter run; empty if there is
        none."""
        experiment_id = self._identity["experiment"]
        config = self._extendable_config()
        for shorter_config in shorter(experiment_id, config) if config else ():
            path = _path(_folder(experiment_id, shorter_config), training)
            expected = {**self._identity, "config": store.stored_settings(shorter_config)}
            with suppress(OSError, Damaged):  # most often there is no such file
                record, tensors = read(path)
                if {field: record.get(field) for field in expected} == expected:
                    return tensors
        return {}

    def _extendable_config(self) -> Any:
        """Return the job's settings, or None if its run cannot be a part of a longer one."""
        experiment = registry.experiment(self._identity["experiment"])
        config = from_stored(experiment.config, self._identity["config"])
        return config if experiment.goes_on(config) else None


def write_end(path: Path, content: bytes) -> None:
    """Write the file of a final state, and delete those of the oldest runs if there are too many
    bytes of them."""
    with suppress(OSError):  # a longer run starts anew
        if len(content) <= LARGEST:
            private_folder(path.parent)
            write_whole(path, content)
            _make_room(path.parent)


def shorter(experiment_id: str, config: Any) -> list[Any]:
    """Return the settings of the runs that this one is 2, 5 or 10 times as long as and can continue
    from, the longest first."""
    steps = getattr(config, FIELD)
    configs: list[Any] = []
    for times in TIMES:
        if steps % times == 0:
            with suppress(BadSetting):  # shorter than the range of the setting
                configs.append(replace(config, **{FIELD: steps // times}))
    goes_on = registry.experiment(experiment_id).goes_on
    return [shorter_config for shorter_config in configs if goes_on(shorter_config)]


def longer(experiment_id: str, config: Any) -> list[Any]:
    """Return the settings of the runs 2, 5 and 10 times as long, as far as the range allows."""
    configs: list[Any] = []
    if FIELD in knobs_of(type(config)):
        for times in TIMES:
            with suppress(BadSetting):  # longer than the range of the setting
                configs.append(replace(config, **{FIELD: times * getattr(config, FIELD)}))
    return configs


def has_end(experiment_id: str, config: Any) -> bool:
    """Return whether the run of `config` was trained here to its end and has left the states that a
    longer one continues from."""
    job = Job(store.key_of(experiment_id, config))
    goes_on = registry.experiment(experiment_id).goes_on(config)
    with suppress(OSError):  # the database cannot be read now
        is_done = job.state()["status"] == "done"
        return goes_on and is_done and any(job.ends.glob("*.safetensors"))
    return False


def _folder(experiment_id: str, config: Any) -> Path:
    return Job(store.key_of(experiment_id, config)).ends


def _path(folder: Path, training: str) -> Path:
    return folder / f"{hashlib.sha256(training.encode()).hexdigest()[:16]}.safetensors"


def _make_room(spared: Path) -> None:
    """Delete the final states of whole runs, the oldest first, but not those in `spared`."""
    sizes: dict[Path, int] = {}
    for folder in sorted(jobs_folder().glob("*/ends"), key=lambda path: path.stat().st_mtime):
        sizes[folder] = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    for folder in list(sizes):
        if folder != spared and sum(sizes.values()) > LARGEST:
            shutil.rmtree(folder, ignore_errors=True)
            del sizes[folder]
