"""Headers: what is known of a stored run without reading its tensors, and the key of a run."""

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

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
from icl_core.runs.least_size import Parts, parts_of, shape_of
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
    def names_documents(self) -> bool:
        """Whether the settings name a visitor's document, which may be deleted any time."""
        knobs = knobs_of(registry.experiment(self.experiment).config)
        return any(
            knob.kind == "document" and self.config.get(knob.was or name)
            for name, knob in knobs.items()
        )

    @cached_property
    def all_but_seeds(self) -> str:
        """`all_but_seeds` of the settings."""
        return all_but_seeds(self.config)

    @cached_property
    def shape(self) -> str:
        """`least_size.shape_of` the settings."""
        return shape_of(self.config)


def all_but_seeds(settings: Mapping[str, Any]) -> str:
    """Return what is the same text for settings that differ in nothing but the number of seeds."""
    return canonical({**settings, "seeds": 0} if "seeds" in settings else settings)


def typed_config(header: Header) -> Any:
    """Return the settings as an instance of the experiment's settings class.

    Raises `Damaged` if they are out of range today, and `NotHere` if they need what is not on this
    computer.
    """
    try:
        if not header.names_documents:
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


Stamp = tuple[int, int, int, int]
AGAIN = 1.0  # seconds after which shipped files are looked at again
MANY = 200  # files: where so many had to be read, their headers are kept for the next process


class LocalFiles(Protocol):
    """What `Headers` needs of the runs that were computed here (`icl_core.runs.local`)."""

    def paths(self) -> Mapping[str, Path]:
        """Return the file of every run by its key; the same mapping while no file comes or goes."""
        ...

    def set_aside(self, path: Path, key: str, problem: Damaged) -> None:
        """Move a damaged file away."""
        ...

    def kept_headers(self) -> Mapping[Path, tuple[Stamp, "Header | None"]]:
        """Return the headers that an earlier process has kept, with the stamps of their files."""
        ...

    def keep_headers(self, seen: Mapping[Path, tuple[Stamp, "Header | None"]]) -> None:
        """Keep headers, with the stamps of their files, for the next process."""
        ...


class _MadeHere(NamedTuple):
    """The headers of the runs that were computed here.

    paths          the files whose headers these are
    by_experiment  those of each experiment, of any version
    valid          by experiment and version, those whose settings are possible today; and those
                   that need a document or a model, which are possible while it is there
    """

    paths: Mapping[str, Path]
    by_experiment: Mapping[str, list[Header]]
    valid: dict[tuple[str, int], tuple[list[Header], list[Header]]]


class _Shipped(NamedTuple):
    """The headers of an experiment's shipped runs: the stamp of their folder and the time, in
    seconds, when they were looked at."""

    folder: Stamp
    looked: float
    headers: list[Header]


class Headers:
    """The headers of all files. Each is read and checked once, and again when files come or go and
    its own has changed; a single one whenever it is asked for.

    `shipped` is the folder of shipped runs; `report` takes sentences for the visitor.
    """

    def __init__(self, shipped: Path, local: LocalFiles, report: Callable[[str], None]) -> None:
        self.shipped = shipped
        self.local = local
        self._report = report
        # by file: its stamp when it was read, and its header, None if the file is of no use
        self._seen: dict[Path, tuple[Stamp, Header | None]] = {}
        self._made_here = _MadeHere({}, {}, {})
        self._shipped_here: dict[str, _Shipped] = {}

    def headers(self, experiment_id: str) -> list[Header]:
        """Return those of the experiment's runs at its present version, the shipped ones first."""
        shipped = list(filter(self._valid, self._shipped_headers(experiment_id)))
        current = [header for header in shipped if _is_current(header)]
        return current + self._local_headers(experiment_id)

    def _shipped_headers(self, experiment_id: str) -> list[Header]:
        """Return those of an experiment's shipped files. They are looked at again once the folder
        has changed, and every second."""
        folder = self.shipped_path(experiment_id, "").parent
        with suppress(OSError):
            current = stamp(folder)
            known = self._shipped_here.get(experiment_id)
            if known and known.folder == current and time.monotonic() - known.looked < AGAIN:
                return known.headers
            looked = time.monotonic()
            files = self.files(experiment_id)
            each = [self._checked(path, path.stem, "shipped") for path in files]
            headers = [header for header in each if header]
            self._shipped_here[experiment_id] = _Shipped(current, looked, headers)
            return headers
        return []

    def _local_headers(self, experiment_id: str) -> list[Header]:
        """Return those of an experiment's runs that were computed here. As long as no file comes or
        goes they are not looked at again, but for those that need a document."""
        paths = self.local.paths()
        known = self._made_here
        if known.paths is not paths:
            if not known.paths:
                self._seen.update(self.local.kept_headers())
            unread = 0
            by_experiment: dict[str, list[Header]] = defaultdict(list)
            for key, path in paths.items():
                seen_before = self._seen.get(path)
                header = self._checked(path, key, "local")
                unread += self._seen.get(path) is not seen_before
                if header:
                    by_experiment[header.experiment].append(header)
            if unread >= MANY:
                files = self._seen.keys() & set(paths.values())
                self.local.keep_headers({path: self._seen[path] for path in files})
            known = self._made_here = _MadeHere(paths, by_experiment, {})
        headers = known.by_experiment.get(experiment_id)
        if not headers:
            return []
        if not registry.imported(experiment_id):
            return list(filter(_is_current, headers))
        version = registry.version(experiment_id)
        if (experiment_id, version) not in known.valid:
            current = list(filter(_is_current, headers))
            lasting = [header for header in current if not header.names_documents]
            valid = list(filter(self._valid, lasting))
            # these, too, may be valid later: what they need may come
            here = {header.key for header in valid}
            others = [header for header in current if header.key not in here]
            known.valid[experiment_id, version] = (valid, others)
        lasting, others = known.valid[experiment_id, version]
        return [*lasting, *filter(self._valid, others)]

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
        header = self._checked(path, key, origin)
        return self._valid(header) if header else None

    def _checked(self, path: Path, key: str, origin: str) -> Header | None:
        """Return the header of a file, read anew if the file has changed; None if it is missing or
        damaged."""
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
        return seen[1]

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
        if not _is_current(header):
            return header
        try:
            typed_config(header)
        except NotHere:  # once the text is given again, the run is shown again
            return None
        except Damaged as problem:
            self.set_aside(header.path, header.key, header.origin, problem)
            return None
        return header


def _is_current(header: Header) -> bool:
    return header.info["version"] == registry.version(header.experiment)


@lru_cache(maxsize=4096)
def _read_parts(path: Path, file_stamp: Stamp, shared_folder: Path) -> Parts:
    """Return the parts of a run: of the tensors in its file and of those shared ones that it
    names. Raises `Damaged` and `OSError`."""
    shared = SharedTensors(shared_folder)
    record, sizes = read_record_and_sizes(path)
    for tensor, name in record.get("shared", {}).items():
        sizes[tensor] = shared.size(name)
    return parts_of(sizes, record["config"].get("seeds", 1))


def stamp(path: Path) -> Stamp:
    """Return inode, size, and the times of the last modification and the last change of any kind,
    one of which differs once a file has changed: the last of them cannot be set.

    Raises `OSError`.
    """
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
