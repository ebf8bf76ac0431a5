"""Headers: what is known of a stored run without reading its tensors, and the key of a run."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.knobs import BadSetting, NotHere, knobs_of
from icl_core.contract.settings_io import from_stored
from icl_core.machine import device
from icl_core.runs.file import (
    IDENTITY,
    Damaged,
    Record,
    canonical,
    read_record,
    read_record_and_sizes,
)
from icl_core.runs.least_size import Parts, parts_of
from icl_core.runs.shared_tensors import SharedTensors

# What a record holds beside the circumstances; `form` is a number in files that were written
# earlier.
_NOT_INFO = ("experiment", "config", "digest", "shared", "form")


def stored_settings(config: Any) -> dict[str, Any]:
    """Return settings as files hold them.

    `config` is an instance of a settings class, a mapping or a namespace.
    """
    if isinstance(config, Mapping):
        return dict(config)
    if isinstance(config, SimpleNamespace):
        return vars(config).copy()
    return settings_io.to_stored(config)


def key_of(experiment_id: str, config: Any) -> str:
    """Return the key of the run of `config` at the experiment's present version.

    Raises `BadSetting` for an unknown experiment.
    """
    return key_of_record(new_record(experiment_id, config, {}))


@dataclass(frozen=True)
class Header:
    """What is known of a stored run without reading its tensors.

    experiment  the experiment's id
    key         the run's key, see `key_of_record`
    config      the settings as files hold them, by field
    info        version, packages, device, precision, threads, seconds of processor time and those
                `waited`, date, metrics (a `message` if they failed), and for a shipped run the
                names of its `presets`
    digest      a hash of the content
    origin      "shipped", "local" or "atlas"
    path        the file
    """

    experiment: str
    key: str
    config: dict[str, Any] = field(hash=False)
    info: dict[str, Any] = field(hash=False)
    digest: str
    origin: str
    path: Path

    @property
    def waited(self) -> float | None:
        """The seconds that one waited for the training; where only its processor time is known,
        that."""
        return self.info.get("waited") or self.info.get("seconds")

    @cached_property
    def _typed(self) -> Any:
        return self._read_config()

    def _read_config(self) -> Any:
        experiment = registry.experiment(self.experiment)
        with device.no_memory_check():  # the run is there: nothing is trained
            return from_stored(experiment.config, self.config)

    @cached_property
    def _names_documents(self) -> bool:
        """Whether the settings name a visitor's document, which may be deleted any time."""
        knobs = knobs_of(type(self._typed))
        return any(
            knob.kind == "document" and getattr(self._typed, name) for name, knob in knobs.items()
        )


def typed_config(header: Header) -> Any:
    """Return the settings as an instance of the experiment's settings class.

    Raises `Damaged` if they are out of range today, and `NotHere` if they need what is not on this
    computer.
    """
    try:
        if not header._names_documents:
            return header._typed
        return header._read_config()
    except NotHere:
        raise
    except (TypeError, BadSetting) as problem:
        raise Damaged(
            f"expected settings of {header.experiment}, got others: {problem}"
        ) from problem


def new_record(experiment_id: str, config: Any, info: Mapping[str, Any]) -> Record:
    """Return what a run's file holds beside the tensors."""
    return {
        "version": registry.version(experiment_id),
        **info,
        "experiment": experiment_id,
        "config": stored_settings(config),
    }


def key_of_record(record: Mapping[str, Any]) -> str:
    """Return the key of the run that `record` describes.

    It is 20 hexadecimal digits of a hash of experiment, version and settings.
    """
    identity = canonical({name: record[name] for name in IDENTITY})
    return hashlib.sha256(identity.encode()).hexdigest()[:20]


def info_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the circumstances in a record: all but settings and what belongs to the file."""
    return {name: value for name, value in record.items() if name not in _NOT_INFO}


def header_of(record: Mapping[str, Any], key: str, origin: str, path: Path) -> Header:
    """Return the header in `record`; raises `Damaged` unless it is of the run called `key`."""
    record_key = key_of_record(record)
    if record_key != key:
        raise Damaged(
            f"expected the run {key}, got {record_key} ({record['experiment']} version "
            f"{record['version']})"
        )
    return Header(
        experiment=record["experiment"],
        key=key,
        config=record["config"],
        info=info_of(record),
        digest=record["digest"],
        origin=origin,
        path=path,
    )


class LocalFiles(Protocol):
    """What `Headers` needs of the runs that were computed here (`icl_core.runs.local`)."""

    def paths(self) -> Mapping[str, Path]:
        """Return the file of every run by its key."""
        ...

    def set_aside(self, path: Path, key: str, problem: Damaged) -> None:
        """Move a damaged file away."""
        ...


class Headers:
    """The headers of all files. Each is read and checked once, and again when its file changes.

    `shipped` is the folder of shipped runs; `report` takes sentences for the visitor.
    """

    def __init__(self, shipped: Path, local: LocalFiles, report: Callable[[str], None]) -> None:
        self.shipped = shipped
        self.local = local
        self._report = report
        # by file: its stamp when it was read, and its header, None if the file is of no use
        self._seen: dict[Path, tuple[tuple[int, int], Header | None]] = {}

    def headers(self, experiment_ids: list[str]) -> Iterator[Header]:
        """Yield those of the experiments' shipped runs, and of all runs that were computed here."""
        files = [
            (path, path.stem, "shipped")
            for experiment_id in experiment_ids
            for path in self.files(experiment_id)
        ]
        files += [(path, key, "local") for key, path in self.local.paths().items()]
        for path, key, origin in files:
            header = self.header(path, key, origin)
            if header:
                yield header

    def shipped_path(self, experiment_id: str, key: str) -> Path:
        """Return the file of a shipped run."""
        return self.shipped / experiment_id.replace(".", "/", 1) / f"{key}.safetensors"

    def shared_tensors(self, experiment_id: str) -> SharedTensors:
        """Return the tensors that shipped runs of the experiment's paper have in common."""
        return SharedTensors(self.shipped / experiment_id.partition(".")[0] / "shared")

    def files(self, experiment_id: str) -> list[Path]:
        """Return the experiment's shipped files, of any version and whether damaged or not."""
        with suppress(OSError):  # ICL_ARTIFACTS may name what cannot be a folder
            return sorted(self.shipped_path(experiment_id, "").parent.glob("*.safetensors"))
        return []

    def header(self, path: Path, key: str, origin: str) -> Header | None:
        """Return the checked header of a file; None if it is missing, damaged or of no use here."""
        try:
            current = stamp(path)
            seen = self._seen.get(path)  # looked up once, because other threads write there too
            if seen is None or seen[0] != current:
                seen = self._seen[path] = (current, self._read(path, key, origin))
        except OSError:
            return None
        except Damaged as problem:
            self.set_aside(path, key, origin, problem)
            return None
        return self._valid(seen[1]) if seen[1] else None

    def parts(self, header: Header) -> Parts:
        """Return the bytes of a whole run's tensors, shared ones among them, by what they depend
        on; none if one of its files is damaged or gone."""
        try:
            shared = self.shared_tensors(header.experiment).folder
            return _read_parts(header.path, stamp(header.path), shared)
        except (OSError, Damaged):
            return {}

    def set_aside(self, path: Path, key: str, origin: str, problem: Damaged) -> None:
        """Move a damaged local file away; leave a damaged shipped file, and remember it."""
        if origin == "local":
            self.local.set_aside(path, key, problem)
            self._seen.pop(path, None)
            return
        with suppress(OSError):
            self._seen[path] = (stamp(path), None)
        self._report(f"{path} is ignored: {problem}.")

    def _read(self, path: Path, key: str, origin: str) -> Header:
        record = read_record(path)
        header = header_of(record, key, origin, path)
        if origin == "shipped":
            if path != self.shipped_path(header.experiment, key):
                raise Damaged(
                    f"expected a run of another experiment, got one of {header.experiment}"
                )
            shared = record.get("shared", {})
            self.shared_tensors(header.experiment).check_present(shared.values())
        return header

    def _valid(self, header: Header) -> Header | None:
        """Return the header, or None if its settings are impossible today.

        Settings can be checked only once the experiment is imported; until then they count as
        valid.
        """
        if not registry.imported(header.experiment):
            return header
        if header.info["version"] != registry.version(header.experiment):
            return header
        try:
            typed_config(header)
        except NotHere:  # once the text is given again, the run is shown again
            return None
        except Damaged as problem:
            self.set_aside(header.path, header.key, header.origin, problem)
            return None
        return header


@lru_cache(maxsize=4096)
def _read_parts(path: Path, file_stamp: tuple[int, int], shared_folder: Path) -> Parts:
    """Return the parts of a run: of the tensors in its file and of those shared ones that it
    names. Raises `Damaged` and `OSError`."""
    shared = SharedTensors(shared_folder)
    record, sizes = read_record_and_sizes(path)
    for tensor, name in record.get("shared", {}).items():
        sizes[tensor] = shared.size(name)
    return parts_of(sizes, record["config"].get("seeds", 1))


def stamp(path: Path) -> tuple[int, int]:
    """Return modification time and size, one of which differs once a file has changed.

    Raises `OSError`.
    """
    status = path.stat()
    return status.st_mtime_ns, status.st_size
