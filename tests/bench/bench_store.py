"""What own runs cost: the search for a run that is not there, a move of a knob whose run is not
there, and the page of runs."""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from unittest.mock import patch
from urllib.parse import parse_qsl

from streamlit.testing.v1 import AppTest

from icl_core import registry
from icl_core.evidence import run_table
from icl_core.jobs import spawn
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.file import pack
from icl_core.runs.header import key_of_record, new_record, typed_config
from icl_core.runs.request import Request
from icl_core.runs.store import Store
from tests.bench.dashboard import ROOT
from tests.bench.timing import Row, by_turns, in_words, seconds, short

EXPERIMENT = "gdssm.layer"  # whose runs are made
FEW, MANY = 2000, 20_000
SEARCHES = 20
MOVES = 15
# a page, its address and the moved knob
OWN = ("gdssm", "experiment=layer&at_once=false", "N")
OTHER = ("memformers", "experiment=convergence&at_once=false", "n")
VALUES = ("21", "23", "25", "27", "22")


def fill(folder: Path, count: int) -> None:
    """Make so many runs of different settings, as if they had been trained here."""
    runs = folder / "runs"
    runs.mkdir(parents=True, mode=0o700)
    shipped = store.default().headers(EXPERIMENT)
    smallest = min(shipped, key=lambda header: header.path.stat().st_size)
    run = store.default().load(smallest)
    assert run is not None
    info = {**smallest.info, "presets": [], "seconds": 1.0, "device": device.describe()}
    settings = product(range(100), range(31, 51), range(10))
    for seed, pairs, rate in islice(settings, count):
        config = replace(
            typed_config(smallest), seed=seed, N=pairs, learning_rate=0.011 + rate / 1000
        )
        record = new_record(EXPERIMENT, config, info)
        path = runs / f"{key_of_record(record)}-00000000.safetensors"
        path.write_bytes(pack(run.tensors, record))


@contextmanager
def within(folder: Path, runs: Store) -> Iterator[None]:
    """Have everything use the runs in a folder."""
    with patch.dict(os.environ, ICL_CACHE_DIR=str(folder)), patch.object(store, "default") as get:
        get.return_value = runs
        yield


def opened(page: str, address: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    app.switch_page(f"pages/{page}.py")
    for name, value in parse_qsl(address):
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def move_row(what: str, where: tuple[str, str, str], folders: dict[Path, Store]) -> Row:
    page, address, field = where
    ways: list[Callable[[str], None]] = []
    for folder, runs in folders.items():
        with within(folder, runs):
            app = opened(page, address)

        def move(value: str, folder: Path = folder, runs: Store = runs, app: AppTest = app) -> None:
            with within(folder, runs):
                app.query_params[field] = value
                app.run()

        ways.append(move)
    none, some = by_turns(ways, MOVES, lambda turn: (VALUES[turn % len(VALUES)],))
    return what, f"{short(some / none)} times none", f"{in_words(none)} and {in_words(some)}"


def search_row(folders: dict[Path, Store]) -> Row:
    config = registry.experiment(EXPERIMENT).config
    times = []
    for runs in folders.values():
        searches = [Request(EXPERIMENT, config(N=20, seed=seed)) for seed in range(SEARCHES)]
        runs.find(searches[0])
        times.append(statistics.median(seconds(runs.find, request) for request in searches))
    none, some = times
    what = f"the search for a run that is not there, {FEW:,} own runs"
    return what, f"{short(some / none)} times none", f"{in_words(none)} and {in_words(some)}"


def page_rows(folder: Path) -> Iterator[Row]:
    Store(ROOT / "artifacts", folder, 2**40).headers()  # an earlier process has looked at them
    run_table._row.cache_clear()
    with within(folder, Store(ROOT / "artifacts", folder, 2**40)):
        first = seconds(opened, "runs", "")
        again = seconds(opened, "runs", "")
    yield f"the page of runs, {MANY:,} own runs, a new process", in_words(first), "with imports"
    yield f"the page of runs, {MANY:,} own runs, again", in_words(again), "another window"


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with ExitStack() as stack:
        for name in ("ensure_workers", "warm"):
            stack.enter_context(patch.object(spawn, name))
        stack.enter_context(patch("pages.ui.controls.training.ensure_workers"))
        folders: dict[Path, Store] = {}
        for count in (0, FEW):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            fill(folder, count)
            folders[folder] = Store(ROOT / "artifacts", folder, 2**40)
        yield search_row(folders)
        yield move_row(f"a move in the experiment of {FEW:,} own runs", OWN, folders)
        yield move_row(f"a move in another experiment, {FEW:,} own runs", OTHER, folders)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        fill(folder, MANY)
        yield from page_rows(folder)
