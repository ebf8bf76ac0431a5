"""The headers of all files, each read and checked once, and again when the file changes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from icl_core import registry
from icl_core.contract.knobs import NotHere, TooLarge
from icl_core.runs.file import Damaged, read_record
from icl_core.runs.header import Header, header_of, typed_config
from icl_core.runs.local import LocalRuns


class Headers:
    """The headers of the runs in `shipped` and of those `made` here; `tell` gets sentences for the
    visitor."""

    def __init__(self, shipped: Path, made: LocalRuns, tell: Callable[[str], None]) -> None:
        self.shipped, self.made, self._tell = shipped, made, tell
        self._seen: dict[Path, tuple[tuple[int, int], Header | None]] = {}

    def headers(self, ids: list[str]) -> Iterator[Header]:
        """Those of the shipped runs of the experiments `ids`, and of all that were made here."""
        files = [(path, path.stem, "shipped") for name in ids for path in self.files(name)]
        files += [(path, key, "local") for key, path in self.made.paths().items()]
        for path, key, origin in files:
            header = self.header(path, key, origin)
            if header:
                yield header

    def shipped_path(self, experiment_id: str, key: str) -> Path:
        """Where a run lies in artifacts/."""
        return self.shipped / experiment_id.replace(".", "/", 1) / f"{key}.safetensors"

    def files(self, experiment_id: str) -> list[Path]:
        """The experiment's files in artifacts/, of whatever version and state."""
        with suppress(OSError):  # ICL_ARTIFACTS may name what cannot be a folder
            return sorted(self.shipped_path(experiment_id, "").parent.glob("*.safetensors"))
        return []

    def header(self, path: Path, key: str, origin: str) -> Header | None:
        """The checked header of a file, remembered as long as the file does not change."""
        try:
            changed = stamp(path)
            seen = self._seen.get(path)  # one look: other sessions write there too
            if seen is None or seen[0] != changed:
                seen = self._seen[path] = (changed, self._read(path, key, origin))
        except OSError:
            return None
        except Damaged as problem:
            self.set_aside(path, key, origin, problem)
            return None
        return self._valid(seen[1]) if seen[1] else None

    def set_aside(self, path: Path, key: str, origin: str, problem: Damaged) -> None:
        """Shipped files are not touched, only remembered as useless; those made here are moved
        away."""
        if origin == "local":
            self.made.set_aside(path, key, problem)
            self._seen.pop(path, None)
            return
        with suppress(OSError):
            self._seen[path] = (stamp(path), None)
        self._tell(f"{path} is ignored: {problem}.")

    def _read(self, path: Path, key: str, origin: str) -> Header:
        header = header_of(read_record(path), key, origin, path)
        if origin == "shipped" and path != self.shipped_path(header.experiment, key):
            raise Damaged(f"expected a run of another experiment, got one of {header.experiment}")
        return header

    def _valid(self, header: Header) -> Header | None:
        """The header, unless its settings cannot be had today. Known only once the experiment is
        imported."""
        if not registry.imported(header.experiment) or header.info["version"] != registry.version(
            header.experiment
        ):
            return header
        try:
            typed_config(header)
        except TooLarge as problem:  # not damaged: it is there for the computer that made it
            self._tell(f"The run {header.path.name} is not shown: {problem}.")
            return None
        except NotHere:  # with its text the run is there again
            return None
        except Damaged as problem:
            self.set_aside(header.path, header.key, header.origin, problem)
            return None
        return header


def stamp(path: Path) -> tuple[int, int]:
    """What differs when a file has changed. Raises `OSError`."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size
