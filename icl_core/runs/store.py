"""Where runs live: shipped ones in artifacts/, read-only; those made here in a diskcache under artifacts/cache.

A file that is damaged or not ours is set aside with a message, and its run counts as absent. Imports no torch.
"""

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from icl_core import identity, knobs, registry
from icl_core.experiment import Run
from icl_core.identity import key_of, plain, run_key
from icl_core.knobs import BadSetting
from icl_core.runs.cache import RunCache
from icl_core.runs.file import Damaged, pack, read, read_record, write_whole
from icl_core.runs.header import Header, header_of, info_of, new_record, typed_config

ARTIFACTS = Path(__file__).resolve().parents[2] / "artifacts"


class Store:
    """Finds, loads and keeps runs. Nothing it finds on disk makes it raise: see `messages`."""

    def __init__(self, shipped: Path, local: Path, limit: int = 2 * 2**30) -> None:
        self.shipped, self.local = shipped, local
        self._cache = RunCache(local / "runs", limit, self._tell)
        self._seen: dict[Path, tuple[tuple[int, int], Header | None]] = {}
        self._messages: list[str] = []

    def messages(self) -> list[str]:
        """What was set aside by this process, and why: sentences for the visitor."""
        return list(self._messages)

    def find(self, experiment_id: str, config: Any) -> Header | None:
        """The run of `config`; if there is none, the smallest that holds its seeds among more of them."""
        values = plain(config)
        found = self.exact(experiment_id, key_of(experiment_id, values))
        if found or "seeds" not in values:
            return found
        wider = [header for header in self.headers(experiment_id) if _holds(header.config, values)]
        return min(wider, key=lambda header: header.config["seeds"], default=None)

    def exact(self, experiment_id: str, key: str) -> Header | None:
        """The run with this key, the shipped one first."""
        shipped = self._header(self._shipped_path(experiment_id, key), key, "shipped")
        if shipped is None:
            path = self._local_paths().get(key)
            shipped = self._header(path, key, "local") if path else None
        return shipped if shipped and shipped.experiment == experiment_id else None

    def preset(self, experiment_id: str, name: str) -> Header | None:
        """The shipped run of a preset, by name: for the front page, which cannot make a config without torch."""
        shipped = (header for header in self.headers(experiment_id) if header.origin == "shipped")
        return next((header for header in shipped if name in header.info.get("presets", ())), None)

    def nearest(self, experiment_id: str, config: Any) -> Header | None:
        """The known run whose settings differ least from `config`; None if the experiment has no run at all."""
        fields = knobs.knobs(registry.experiment(experiment_id).config)
        known = {knob.was or name: knob for name, knob in fields.items()}
        values = plain(config)
        return min(
            self.headers(experiment_id),
            key=lambda header: (identity.distance(known, values, header.config), header.origin == "local", header.key),
            default=None,
        )

    def headers(self, experiment_id: str | None = None) -> list[Header]:
        """The runs of one experiment, or all, of its present version. Reads headers only, each once."""
        ids = [experiment_id] if experiment_id else registry.experiment_ids()
        found = [header for header in self._all_headers(ids) if header.experiment in ids]
        return [header for header in found if header.info["version"] == identity.current_version(header.experiment)]

    def load(self, header: Header, *, typed: bool = True) -> Run | None:
        """The run, its tensors read-only and checked against their digest; None if the file is damaged or gone.

        `typed=False` leaves the config a plain namespace, so that neither the experiment nor torch is imported.
        """
        try:
            record, tensors = read(header.path)
            settings = typed_config(header) if typed else SimpleNamespace(**header.config)
            if header.origin == "local":
                self._cache.use(header.key)
        except Damaged as problem:
            self._set_aside(header.path, header.key, header.origin, problem)
            return None
        except OSError:  # gone meanwhile: evicted or deleted by another process
            return None
        return Run(settings, tensors, info_of(record), record["digest"])

    def save(
        self, experiment_id: str, config: Any, tensors: Mapping[str, np.ndarray], info: Mapping[str, Any]
    ) -> Header:
        """Keep a run made here. Raises `OSError` if it does not fit the cache, `TypeError` for an odd dtype."""
        record = new_record(experiment_id, config, info)
        key = run_key(experiment_id, record["version"], record["config"])
        self.local.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._cache.put(key, pack(tensors, record))
        return header_of(read_record(path), key, "local", path)

    def ship(
        self, experiment_id: str, config: Any, tensors: Mapping[str, np.ndarray], info: Mapping[str, Any]
    ) -> Header:
        """Write a run into artifacts/. For the build alone."""
        record = new_record(experiment_id, config, info)
        key = run_key(experiment_id, record["version"], record["config"])
        path = self._shipped_path(experiment_id, key)
        write_whole(path, pack(tensors, record))
        self._seen.pop(path, None)
        return header_of(read_record(path), key, "shipped", path)

    def delete(self, header: Header) -> None:
        """Delete a run made here. Raises `ValueError` for a shipped one."""
        if header.origin != "local":
            raise ValueError(f"the run to delete must be local, got the {header.origin} run {header.key}")
        self._cache.remove(header.key)

    def export(self, header: Header) -> bytes:
        """The run's safetensors file. Raises `OSError` if it is gone."""
        return header.path.read_bytes()

    def close(self) -> None:
        """Close the database."""
        self._cache.close()

    def _shipped_path(self, experiment_id: str, key: str) -> Path:
        return self.shipped / experiment_id.replace(".", "/", 1) / f"{key}.safetensors"

    def _local_paths(self) -> dict[str, Path]:
        try:
            return self._cache.paths()
        except sqlite3.DatabaseError as problem:
            if getattr(problem, "sqlite_errorname", "") in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
                self._cache.close()
                self._move_aside(self._cache.folder, f"expected a cache of runs, got a database with {problem}")
            return {}

    def _all_headers(self, ids: list[str]) -> Iterator[Header]:
        files = [(path, path.stem, "shipped") for name in ids for path in self.shipped_files(name)]
        files += [(path, key, "local") for key, path in self._local_paths().items()]
        for path, key, origin in files:
            header = self._header(path, key, origin)
            if header:
                yield header

    def shipped_files(self, experiment_id: str) -> list[Path]:
        """The experiment's files in artifacts/, of whatever version and state."""
        return sorted(self._shipped_path(experiment_id, "").parent.glob("*.safetensors"))

    def _header(self, path: Path, key: str, origin: str) -> Header | None:
        """The checked header of a file, remembered as long as the file does not change."""
        try:
            stamp = _stamp(path)
            seen = self._seen.get(path)  # one look: other sessions write there too
            if seen is None or seen[0] != stamp:
                seen = self._seen[path] = (stamp, self._read(path, key, origin))
        except OSError:
            return None
        except Damaged as problem:
            self._set_aside(path, key, origin, problem)
            return None
        return self._valid(seen[1]) if seen[1] else None

    def _read(self, path: Path, key: str, origin: str) -> Header:
        header = header_of(read_record(path), key, origin, path)
        if origin == "shipped" and path != self._shipped_path(header.experiment, key):
            raise Damaged(f"expected a run of another experiment, got one of {header.experiment}")
        return header

    def _valid(self, header: Header) -> Header | None:
        """The header, unless its settings are out of range today. Known only once the experiment is imported."""
        if not identity.imported(header.experiment) or header.info["version"] != identity.current_version(
            header.experiment
        ):
            return header
        try:
            typed_config(header)
        except Damaged as problem:
            self._set_aside(header.path, header.key, header.origin, problem)
            return None
        return header

    def _set_aside(self, path: Path, key: str, origin: str, problem: Damaged) -> None:
        """Shipped files are not touched, only remembered as useless; those made here are moved away."""
        if origin == "local":
            self._move_aside(path, str(problem))
            self._cache.remove(key)
            self._seen.pop(path, None)
            return
        with suppress(OSError):
            self._seen[path] = (_stamp(path), None)
        self._tell(f"{path} is ignored: {problem}.")

    def _move_aside(self, path: Path, reason: str) -> None:
        aside = self.local / "aside"
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = aside / f"{path.stem}-{time.time_ns()}{path.suffix}"
        try:
            path.rename(target)
        except FileNotFoundError:
            return  # another process was quicker
        self._tell(f"{path} was set aside as {target}: {reason}. The run is offered anew.")

    def _tell(self, message: str) -> None:
        if message not in self._messages:
            self._messages.append(message)


@cache
def default() -> Store:
    """The store of this installation. `ICL_ARTIFACTS`, `ICL_CACHE_DIR` and `ICL_CACHE_LIMIT` move and size it."""
    shipped = Path(os.environ.get("ICL_ARTIFACTS") or ARTIFACTS)
    local = Path(os.environ.get("ICL_CACHE_DIR") or ARTIFACTS / "cache")
    return Store(shipped, local, size_limit(os.environ.get("ICL_CACHE_LIMIT") or "2GiB"))


def size_limit(text: str) -> int:
    """Bytes from "2GiB", "500 MB" or "1000000"; `BadSetting` for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kMGT])(i?))?B?\s*", text)
    if not match:
        raise BadSetting(f"ICL_CACHE_LIMIT must be a size like 2GiB or a number of bytes, got {text!r}")
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** (" kMGT".index(prefix) if prefix else 0))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _holds(config: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return config.get("seeds", 0) >= wanted["seeds"] and {**config, "seeds": wanted["seeds"]} == dict(wanted)
