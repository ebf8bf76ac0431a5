"""Where runs live: shipped ones in artifacts/, read-only; those made here (`icl_core.runs.local`)
in artifacts/cache.

A file that is damaged or not ours counts as absent, with a message. Imports no torch.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import Run, Tensors
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.machine import limits
from icl_core.machine.folders import ARTIFACTS, cache_folder
from icl_core.runs import owners, room
from icl_core.runs.atlas import ORIGIN, Atlases
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged, pack, read, read_record
from icl_core.runs.header import (
    FORM,
    Header,
    header_of,
    info_of,
    key_of,
    key_of_record,
    new_record,
    stored_settings,
    typed_config,
)
from icl_core.runs.headers import Headers
from icl_core.runs.local import LocalRuns

_ORIGINS = ("shipped", "local", ORIGIN)


class Store:
    """Finds, loads and keeps runs. Nothing it finds on disk makes it raise: see `messages`."""

    def __init__(self, shipped: Path, local: Path, limit: int = 2 * 2**30) -> None:
        self.shipped, self.local, self.limit = shipped, local, limit
        self._made = LocalRuns(local, limit, self.tell)
        self._headers = Headers(shipped, self._made, self.tell)
        self.atlases = Atlases(shipped / ORIGIN, self.tell)
        self._messages: list[str] = []

    def messages(self) -> list[str]:
        """What cannot be written, unless nothing shall be, and what was set aside by this process
        and why: sentences for the visitor."""
        unwritable = "" if limits.read_only() else self._made.unwritable()
        return [*filter(None, [unwritable]), *self._messages]

    def check_room(self, size: int) -> None:
        """Raise `BadSetting` if a run of `size` bytes can never be kept, since it is above
        `ICL_CACHE_LIMIT`."""
        if refused := room.too_large(size, self.limit):
            raise BadSetting(refused)

    def least_size(self, experiment_id: str, config: Any) -> int:
        """Bytes that a run of `config` takes at least, by the runs that are known; 0 if
        none tells."""
        return room.least_size(self.headers(experiment_id), stored_settings(config))

    def find(self, experiment_id: str, config: Any) -> Header | None:
        """The run of `config`; if there is none, the smallest that holds its seeds among more of
        them; else that of the atlas, which is thinned."""
        values = stored_settings(config)
        key = key_of(experiment_id, values)
        if found := self.exact(experiment_id, key):
            return found
        wider = [
            each
            for each in self.headers(experiment_id)
            if "seeds" in values and _holds(each.config, values)
        ]
        fewest = min(wider, key=lambda header: header.config["seeds"], default=None)
        return fewest or self.atlases.headers(experiment_id).get(key)

    def exact(self, experiment_id: str, key: str) -> Header | None:
        """The whole run with this key, the shipped one first."""
        shipped = self._headers.header(
            self._headers.shipped_path(experiment_id, key), key, "shipped"
        )
        if shipped is None:
            path = self._made.paths().get(key)
            shipped = self._headers.header(path, key, "local") if path else None
        return shipped if shipped and shipped.experiment == experiment_id else None

    def preset(self, experiment_id: str, name: str) -> Header | None:
        """The shipped run of a preset, by name: for the front page, which cannot make a config
        without torch."""
        shipped = (header for header in self.headers(experiment_id) if header.origin == "shipped")
        return next((header for header in shipped if name in header.info.get("presets", ())), None)

    def nearest(self, experiment_id: str, config: Any) -> Header | None:
        """The known run whose settings differ least from `config`; None if the experiment has no
        run at all."""
        settings, values = registry.experiment(experiment_id).config, stored_settings(config)

        def apart(header: Header) -> tuple[float, int, str]:
            return (
                settings_io.distance(settings, values, header.config),
                _ORIGINS.index(header.origin),
                header.key,
            )

        return min(self.every(experiment_id), key=apart, default=None)

    def every(self, experiment_id: str) -> list[Header]:
        """The runs of one experiment, those of its atlas last."""
        return [*self.headers(experiment_id), *self.atlases.headers(experiment_id).values()]

    def headers(self, experiment_id: str | None = None) -> list[Header]:
        """The whole runs of one experiment, or all, of its present version. Reads headers only,
        each once."""
        ids = [experiment_id] if experiment_id else registry.experiment_ids()
        found = [header for header in self._headers.headers(ids) if header.experiment in ids]
        return [
            header
            for header in found
            if header.info["version"] == registry.version(header.experiment)
        ]

    def load(self, header: Header, *, typed: bool = True) -> Run | None:
        """The run, its tensors read-only and checked against their digest; None if the file is
        damaged or gone.

        One kept in an older form is brought up to date. `typed=False` leaves it as it is, and the
        config a plain namespace, so that neither the experiment nor torch is imported.
        """
        if header.origin == ORIGIN:
            with suppress(NotHere):
                return self._load_mapped(header)
            return None
        try:
            record, tensors = read(header.path)
            settings = typed_config(header) if typed else SimpleNamespace(**header.config)
            if typed and record.get("form", 1) < FORM:
                tensors = registry.experiment(header.experiment).upgrade(tensors)
            if header.origin == "local":
                self._made.use(header.key)
        except Damaged as problem:
            self._headers.set_aside(header.path, header.key, header.origin, problem)
            return None
        except (OSError, NotHere):  # gone meanwhile: evicted or deleted by another process
            return None
        return Run(settings, tensors, info_of(record), record["digest"])

    def _load_mapped(self, header: Header) -> Run | None:
        """A run of an atlas."""
        found = self.atlases.tensors(header)
        if found is None:
            return None
        form, tensors = found
        tensors = (
            registry.experiment(header.experiment).upgrade(tensors) if form < FORM else tensors
        )
        return Run(typed_config(header), tensors, header.info, header.digest)

    def content(self, header: Header) -> bytes:
        """A file of that run alone. Raises `OSError` if it is gone."""
        if header.origin != ORIGIN:
            return header.path.read_bytes()
        run = self.load(header)
        if run is None:
            raise FileNotFoundError(f"the run {header.key} is no longer in {header.path}")
        return pack(run.tensors, new_record(header.experiment, header.config, header.info))

    def save(
        self, experiment_id: str, config: Any, tensors: Tensors, info: Mapping[str, Any]
    ) -> Header:
        """Keep a run made here. Raises `BadSetting` if it can never fit, `OSError` if it cannot be
        written, `TypeError` for a dtype."""
        return self._made.save(new_record(experiment_id, config, info), tensors)

    def ship(
        self, experiment_id: str, config: Any, tensors: Tensors, info: Mapping[str, Any]
    ) -> Header:
        """Write a run into artifacts/. For the build alone."""
        record = new_record(experiment_id, config, info)
        key = key_of_record(record)
        path = self._headers.shipped_path(experiment_id, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, pack(tensors, record))
        path.chmod(0o644)  # everybody may read what comes with the project
        return header_of(read_record(path), key, "shipped", path)

    def delete(self, header: Header, visitor: str | None = None) -> None:
        """Delete a run made here, unless others asked for it than `visitor`; None is whoever is at
        the machine. Raises `ValueError` for a shipped one, `BadSetting` where the visitor may not,
        `OSError` where it cannot be deleted."""
        if header.origin != "local":
            raise ValueError(
                f"the run to delete must be local, got the {header.origin} run {header.key}"
            )
        limits.check_writable()
        if owners.other_owners(header.key, visitor):
            return owners.remove(header.key, visitor)
        asked = owners.owners_of(header.key)
        owners.remove_all(header.key)  # first: whoever asks for it once it is gone is its owner
        try:
            self._made.delete(header.key)
        except OSError:
            for each in asked:
                owners.add(header.key, each)
            raise

    def discard(self, header: Header) -> None:
        """Drop a run made here that nobody waits for, if it can be. Whose it is stays noted: it may
        have been asked for again."""
        with suppress(OSError):
            self._made.delete(header.key)

    def shipped_files(self, experiment_id: str) -> list[Path]:
        """The experiment's files in artifacts/, of whatever version and state."""
        return self._headers.files(experiment_id)

    def close(self) -> None:
        """Close the database."""
        self._made.close()

    def tell(self, message: str) -> None:
        """Keep a sentence for the visitor, once."""
        if message not in self._messages:
            self._messages.append(message)


@cache
def default() -> Store:
    """The store of this installation. `ICL_ARTIFACTS`, `ICL_CACHE_DIR` and `ICL_CACHE_LIMIT` move
    and size it."""
    shipped = Path(os.environ.get("ICL_ARTIFACTS") or ARTIFACTS)
    return Store(
        shipped, cache_folder(), room.size_limit(os.environ.get("ICL_CACHE_LIMIT") or "2GiB")
    )


def _holds(config: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return config.get("seeds", 0) >= wanted["seeds"] and {
        **config,
        "seeds": wanted["seeds"],
    } == dict(wanted)
