"""The store of runs: shipped runs in artifacts/, read-only, and those computed here.

Runs that were computed here are in artifacts/cache, see `icl_core.runs.local`. A file that is
damaged or foreign counts as absent, and a message says so. Imports no torch.
"""

import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract.experiment import Run, Tensors
from icl_core.contract.knobs import BadSetting, NotHere, knobs_of
from icl_core.machine import limits
from icl_core.machine.folders import ARTIFACTS, cache_folder
from icl_core.runs import database, owners
from icl_core.runs.atlas import ORIGIN, Atlases
from icl_core.runs.disk import write_shipped
from icl_core.runs.file import Damaged, pack, read, read_record
from icl_core.runs.header import (
    Header,
    Headers,
    header_of,
    info_of,
    key_of_record,
    new_record,
    typed_config,
)
from icl_core.runs.least_size import least_size
from icl_core.runs.local import LocalRuns, size_limit, too_large
from icl_core.runs.request import Request
from icl_core.runs.settings_index import SettingsIndex
from icl_core.runs.shared_tensors import names_in_common

_ORIGINS = ("shipped", "local", ORIGIN)  # the preferred first


class Store:
    """Finds, loads and stores runs. What is on disk never makes it raise: see `messages`."""

    def __init__(self, shipped: Path, local: Path, limit: int = 2 * 2**30) -> None:
        self.shipped = shipped
        self.local = local
        self.limit = limit  # bytes
        self._made = LocalRuns(local, limit, self.tell)
        self._headers = Headers(shipped, self._made, self.tell)
        self.atlases = Atlases(shipped / ORIGIN, self.tell)
        self._indices: dict[str, SettingsIndex] = {}  # by experiment
        self._messages: list[str] = []

    def messages(self) -> list[str]:
        """Return sentences for the visitor: why nothing can be stored, and what was set aside.

        A server that is told to store nothing does not say that it cannot.
        """
        unwritable = "" if limits.read_only() else self._made.unwritable()
        return [*filter(None, (unwritable, database.message())), *self._messages]

    def check_room(self, size: int) -> None:
        """Raise `BadSetting` if a run of at least `size` bytes can never fit `ICL_CACHE_LIMIT`."""
        if refusal := too_large(size, self.limit):
            raise BadSetting(refusal)

    def least_size(self, request: Request) -> int:
        """Return the bytes that a run takes at least, by the stored runs; 0 if none is comparable.
        Imports the experiment."""
        knobs = knobs_of(request.experiment.config)
        # an earlier run lacks what was added since; its default computes the same
        defaults = {knob.was or name: knob.default for name, knob in knobs.items()}
        known = [
            (header, (self.atlases if header.origin == ORIGIN else self._headers).parts(header))
            for header in self.index(request.id).one_of_each_shape
        ]
        return least_size(
            (({**defaults, **header.config}, parts) for header, parts in known),
            {**defaults, **request.settings},
        )

    def find(self, request: Request) -> Header | None:
        """Return the run that is asked for.

        If there is none, return the smallest run that holds its seeds among more of them, else
        the thinned one of the atlas, else None.
        """
        if header := self.exact(request.id, request.key):
            return header
        seeds = request.settings.get("seeds", math.inf)
        wider = [
            header
            for header in self.index(request.id).same_but_seeds(request.settings)
            if header.origin != ORIGIN and header.config.get("seeds", 0) >= seeds
        ]
        smallest = min(wider, key=lambda header: header.config["seeds"], default=None)
        return smallest or self.atlases.headers(request.id).get(request.key)

    def exact(self, experiment_id: str, key: str) -> Header | None:
        """Return the whole run with this key, preferably the shipped one."""
        shipped_path = self._headers.shipped_path(experiment_id, key)
        header = self._headers.header(shipped_path, key, "shipped")
        if header is None:
            local_path = self._made.paths().get(key)
            header = self._headers.header(local_path, key, "local") if local_path else None
        return header if header and header.experiment == experiment_id else None

    def preset(self, experiment_id: str, name: str) -> Header | None:
        """Return the shipped run of a preset, by the preset's name.

        It serves the front page, which cannot create settings without importing torch.
        """
        for header in self.headers(experiment_id):
            if header.origin == "shipped" and name in header.info.get("presets", ()):
                return header
        return None

    def shipped_runs(self, experiment_id: str) -> Callable[[str], Run | None]:
        """Return what takes the name of a preset of an experiment and loads its shipped run, None
        if there is none."""

        def load(preset: str) -> Run | None:
            header = self.preset(experiment_id, preset)
            return self.load(header) if header else None

        return load

    def nearest(self, request: Request) -> Header | None:
        """Return the run whose settings differ least from those that are asked for; None if there
        is no run."""
        index = self.index(request.id)
        distances = index.distances(request.experiment.config, request.settings)
        nearest = np.flatnonzero(distances == distances.min(initial=math.inf)).tolist()
        return min(
            (index.headers[number] for number in nearest),
            key=lambda header: (_ORIGINS.index(header.origin), header.key),
            default=None,
        )

    def index(self, experiment_id: str) -> SettingsIndex:
        """Return `every` run of one experiment by its settings; the same index while none comes or
        goes."""
        headers = self.every(experiment_id)
        index = self._indices.get(experiment_id)
        if index is None or not index.is_of(headers):
            index = self._indices[experiment_id] = SettingsIndex(headers)
        return index

    def every(self, experiment_id: str) -> list[Header]:
        """Return the runs of one experiment, those of its atlas last."""
        return [*self.headers(experiment_id), *self.atlases.headers(experiment_id).values()]

    def headers(self, experiment_id: str | None = None) -> list[Header]:
        """Return the whole runs of one experiment, or of all, at their present versions.

        Only headers are read, each once.
        """
        ids = [experiment_id] if experiment_id else registry.experiment_ids()
        return [header for id in ids for header in self._headers.headers(id)]

    def keys_made_here(self) -> set[str]:
        """Return the keys of all runs that were computed here, also those of other versions. No
        file is read."""
        return set(self._made.paths())

    def load(self, header: Header, *, typed: bool = True) -> Run | None:
        """Return the run, its tensors read-only and checked; None if the file is damaged or gone.

        `typed=False` leaves the settings of a whole run a plain namespace, so that neither the
        experiment nor torch is imported.
        """
        if header.origin == ORIGIN:
            with suppress(NotHere):
                return self._load_from_atlas(header)
            return None
        shared = None
        if header.origin == "shipped":
            shared = self._headers.shared_tensors(header.experiment).read
        try:
            record, tensors = read(header.path, shared)
            settings = typed_config(header) if typed else SimpleNamespace(**header.config)
            if header.origin == "local":
                self._made.use(header.key)
        except Damaged as problem:
            self._headers.set_aside(header.path, header.key, header.origin, problem)
            return None
        except (OSError, NotHere):  # gone meanwhile: evicted or deleted by another process
            return None
        shipped = self.shipped_runs(header.experiment)
        return Run(settings, tensors, info_of(record), record["digest"], shipped=shipped)

    def _load_from_atlas(self, header: Header) -> Run | None:
        tensors = self.atlases.tensors(header)
        if tensors is None:
            return None
        shipped = self.shipped_runs(header.experiment)
        return Run(typed_config(header), tensors, header.info, header.digest, shipped=shipped)

    def content(self, header: Header) -> bytes:
        """Return the bytes of a file that holds this run alone and all of its tensors.

        Raises `OSError` if the run is gone.
        """
        if header.origin == "local":
            return header.path.read_bytes()
        run = self.load(header, typed=False)
        if run is None:
            raise FileNotFoundError(f"the run {header.key} is no longer in {header.path}")
        return pack(run.tensors, new_record(header.experiment, header.config, header.info))

    def save(
        self, experiment_id: str, config: Any, tensors: Tensors, info: Mapping[str, Any]
    ) -> Header:
        """Store a run that was computed here.

        Raises `BadSetting` if it can never fit, `OSError` if it cannot be written, and `TypeError`
        for a dtype that files cannot hold.
        """
        return self._made.save(new_record(experiment_id, config, info), tensors)

    def ship(
        self,
        experiment_id: str,
        config: Any,
        tensors: Tensors,
        info: Mapping[str, Any],
        shared: Mapping[str, str] | None = None,
    ) -> Header:
        """Write a run into artifacts/, unless the same file is there. For the build alone.

        `shared` maps the tensors that are stored among the paper's shared ones to their names
        there.
        """
        record = new_record(experiment_id, config, info)
        if shared:
            record["shared"] = dict(shared)
        key = key_of_record(record)
        path = self._headers.shipped_path(experiment_id, key)
        content = pack(tensors, record)
        if not path.exists() or path.read_bytes() != content:
            write_shipped(path, content)
        return header_of(read_record(path), key, "shipped", path)

    def share_tensors(self, experiment_ids: list[str]) -> list[Path]:
        """Store each large tensor that several shipped runs of one paper have in common once.

        `experiment_ids` are all experiments of the paper. Files whose content does not change are
        not written. Shared tensors that no file needs any more are deleted and returned. For the
        build alone.
        """
        common = self._headers.shared_tensors(experiment_ids[0])
        headers = [
            header
            for experiment_id in experiment_ids
            for header in self.headers(experiment_id)
            if header.origin == "shipped"
        ]
        loaded = [(header, self.load(header, typed=False)) for header in headers]
        runs = [(header, run) for header, run in loaded if run is not None]
        names = names_in_common(run.tensors for _, run in runs)
        for (header, run), shared in zip(runs, names, strict=True):
            for tensor in shared:  # first: a run's file must not name what is not there
                common.write(run[tensor])
            self.ship(header.experiment, header.config, run.tensors, header.info, shared)
        return common.delete_all_but(self._shared_names(experiment_ids))

    def _shared_names(self, experiment_ids: list[str]) -> set[str]:
        """Return the shared tensors that shipped files name, files of earlier versions included."""
        names: set[str] = set()
        for experiment_id in experiment_ids:
            for path in self.shipped_files(experiment_id):
                with suppress(Damaged, OSError):
                    names.update(read_record(path).get("shared", {}).values())
        return names

    def delete(self, header: Header, visitor: str | None = None) -> None:
        """Delete a run that was computed here, unless others than `visitor` asked for it too.

        `visitor` None is whoever is at the machine and decides for all. Raises `ValueError` for a
        shipped run, `BadSetting` where the visitor is not allowed to, and `OSError` where the run
        cannot be deleted.
        """
        if header.origin != "local":
            raise ValueError(
                f"the run to delete must be local, got the {header.origin} run {header.key}"
            )
        limits.check_writable()
        if owners.other_owners(header.key, visitor):
            owners.remove(header.key, visitor)
            return
        visitors = owners.owners_of(header.key)
        owners.remove_all(header.key)  # first: whoever asks for it once it is gone is its owner
        try:
            self._made.delete(header.key)
        except OSError:
            for name in visitors:
                owners.add(header.key, name)
            raise

    def discard(self, header: Header) -> None:
        """Delete a run that was computed here and that nobody waits for, if that is possible.

        Its owners stay noted, because it may have been asked for again.
        """
        with suppress(OSError):
            self._made.delete(header.key)

    def shipped_files(self, experiment_id: str) -> list[Path]:
        """Return the experiment's shipped files, of any version and whether damaged or not."""
        return self._headers.files(experiment_id)

    def close(self) -> None:
        """Close the database."""
        self._made.close()

    def tell(self, message: str) -> None:
        """Add a sentence for the visitor to `messages`, once."""
        if message not in self._messages:
            self._messages.append(message)


@cache
def default() -> Store:
    """Return the store of this installation.

    `ICL_ARTIFACTS` and `ICL_CACHE_DIR` name its folders, `ICL_CACHE_LIMIT` its size.
    """
    shipped = Path(os.path.expanduser(os.environ.get("ICL_ARTIFACTS") or ARTIFACTS))
    limit = size_limit(os.environ.get("ICL_CACHE_LIMIT") or "2GiB")
    return Store(shipped, cache_folder(), limit)
