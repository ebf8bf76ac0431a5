"""Nothing from outside is run, no name leads out of the store, and what is kept here is its owner's
alone.

What is told elsewhere is not told again: rows of the cache (test_store), parcels (test_cluster),
owners (test_class).
"""

import ast
import os
import pickle
import shutil
import sqlite3
import stat
import sys
import tomllib
from contextlib import suppress

import numpy as np
import psutil
import pytest
from fuzz import EVIL, is_ours
from house import ROOT, TOY, change, house
from test_imports import CORE
from test_links import open_page

from icl_core import registry
from icl_core.cluster import transfer
from icl_core.contract import knobs
from icl_core.contract.knobs import BadSetting
from icl_core.evidence import measurements
from icl_core.jobs import queue, spawn, table, worker
from icl_core.jobs.folder import Job
from icl_core.jobs.phase_helper import SharedTrainings
from icl_core.papers.birth.shared.text_counts import count
from icl_core.runs import database, documents, owners, store
from icl_core.runs.file import Damaged
from icl_core.runs.request import Request

SOURCES = [*CORE, ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
RUNS_CODE = {"eval", "exec", "compile", "__import__", "execfile", "input"}
LOADS = {
    ("torch", "load"),
    ("np", "load"),
    ("numpy", "load"),
    ("yaml", "load"),
    ("os", "system"),
    ("os", "popen"),
}
OUTSIDE = ("..", "../x", "../../x", "/etc", "a/b", "a/../../x", "", ".", "a\0b", "x" * 5000)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(spawn, "ensure_workers", lambda count=None: 0)
    monkeypatch.setattr("pages.ui.controls.training.ensure_workers", lambda: None)
    with house(tmp_path, monkeypatch) as own_store:
        yield own_store


def test_the_server_answers_this_machine_alone():
    with (ROOT / ".streamlit" / "config.toml").open("rb") as file:
        options = tomllib.load(file)
    server = options["server"]
    assert server["address"] == "localhost"
    assert set(server["allowedHosts"]) == {"localhost", "127.0.0.1", "::1"}
    for name in ("enableCORS", "enableXsrfProtection", "enableStaticServing", "corsAllowedOrigins"):
        assert name not in server
    assert options["browser"]["gatherUsageStats"] is False
    assert options["client"]["showErrorDetails"] == "none"


def calls(path) -> list[tuple[str, str]]:
    """What the file calls: ("", name) or (object, method)."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                names.append(("", function.id))
            elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                names.append((function.value.id, function.attr))
            assert not {"shell", "allow_pickle"} & {word.arg for word in node.keywords}, path
    return names


def test_no_text_is_run_and_no_object_is_read():
    """Dask alone sends functions, its own workers' and ours (`cluster/pool.py`), to those whom the
    user names."""
    for path in SOURCES:
        named = calls(path)
        assert not [name for of, name in named if not of and name in RUNS_CODE], path
        assert not LOADS & set(named), path
        modules = {name for of, name in named if of == "importlib" and name == "import_module"}
        assert not modules or path.name in ("late_imports.py", "registry.py"), path


@pytest.mark.parametrize(
    "name", ["os.path", "os.system", "..x", "birth.induction.run", "birth", "", "\0", "shared.x"]
)
def test_a_name_imports_nothing_but_experiments(name):
    registry.experiment_ids()
    before = set(sys.modules)
    with pytest.raises(BadSetting, match="there is no experiment"):
        registry.experiment(name)
    assert set(sys.modules) == before


class Bomb:
    """Unpickling it leaves a trace."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def use_everything() -> None:
    """What pages, workers and command lines do with what is kept."""
    here = store.default()
    measurements.collect(here)
    for header in here.headers():
        here.load(header)
    for job in queue.states():
        queue.partial_curves(job.key)
    for document in documents.all_documents():
        with suppress(BadSetting):
            registry.document_kinds()[document.of].load(document.digest)
    with suppress(OSError):
        worker.work(once=True, slots=1)
    for job in queue.states():
        with suppress(OSError):  # through a link nothing is cancelled
            queue.cancel(job.key)


def run_and_queue() -> str:
    """A run that has been trained, a text and a job that waits: its key."""
    config = registry.experiment(TOY).config
    queue.submit(Request(TOY, config(steps=20)), visitor="a")
    worker.work(once=True, slots=1)
    documents.keep("text", count("abcd"), "a")
    key = queue.submit(Request(TOY, config(steps=40)), visitor="a")
    queue.watch(key, "page")
    return key


def fill(runs) -> str:
    """A cache with a file of every kind; the key of a job that waits with all that a training
    leaves."""
    key = run_and_queue()
    runs.ship(TOY, registry.experiment(TOY).config(steps=30), {"x": np.zeros(2)}, {"seconds": 1.0})
    whole = next((runs.local / "runs").glob("*.safetensors"))
    for name in ("checkpoint", "live", "phases/a", "ends/a"):
        file = Job(key).folder / f"{name}.safetensors"
        file.parent.mkdir(exist_ok=True)
        shutil.copy(whole, file)
    return key


def test_a_pickle_in_the_place_of_any_file_is_never_loaded(runs, tmp_path):
    marker = tmp_path / "exploded"
    payload = pickle.dumps(Bomb(marker))
    with pytest.raises(FileNotFoundError):  # it would explode
        pickle.loads(pickle.dumps(Bomb(tmp_path / "none" / "x")))
    fill(runs)
    paths = [*sorted(runs.local.rglob("*")), *sorted(runs.shipped.rglob("*"))]
    files = [path for path in paths if path.is_file()]
    assert len(files) >= 10 and {path.suffix for path in files} >= {".json", ".safetensors", ".db"}
    for path in files:
        before = path.read_bytes() if path.exists() else b""
        runs.close()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(payload)
        use_everything()
        assert not marker.exists(), path
        runs.close()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(before)
    code = b"import os; os.mkdir('exploded')"
    folders = (runs.local, runs.local / "runs", runs.local / "jobs")
    for name in ("sitecustomize.py", "torch.py", "x.pkl", "x.pt", "conftest.py", "__init__.py"):
        for folder in (*folders, runs.shipped, runs.shipped / "toy"):
            (folder / name).write_bytes(payload if name.endswith(("pkl", "pt")) else code)
    use_everything()
    assert not marker.exists()


def test_a_link_out_of_the_cache_is_neither_written_through_nor_deleted_behind(runs, tmp_path):
    """Everything of a job is a link to a file or folder that is somebody's."""
    key = fill(runs)
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("checkpoint.safetensors", "live.safetensors", "lock"):
        (outside / name).write_text("mine")
        (Job(key).folder / name).unlink(missing_ok=True)
        (Job(key).folder / name).symlink_to(outside / name)
    for name in ("phases", "ends"):
        (outside / name).mkdir()
        (outside / name / "file").write_text("mine")
        shutil.rmtree(Job(key).folder / name, ignore_errors=True)
        (Job(key).folder / name).symlink_to(outside / name)
    with suppress(OSError):
        queue.cancel(key)
    use_everything()
    shutil.rmtree(Job(key).folder, ignore_errors=True)
    assert {path.read_text() for path in outside.rglob("*") if path.is_file()} == {"mine"}
    assert len(list(outside.rglob("*"))) == 3 + 2 * 2


@pytest.mark.parametrize("name", OUTSIDE, ids=lambda name: repr(name)[:12])
def test_no_name_leads_out_of_the_store(runs, tmp_path, name):
    def outside():
        paths = sorted(tmp_path.rglob("*"))
        return [path for path in paths if runs.local not in (path, *path.parents)]

    (tmp_path / "x").mkdir()
    before = outside()
    uses = (
        queue.state,
        queue.cancel,
        queue.interrupt,
        queue.partial_curves,
        Job,
        lambda name: owners.add(name, "a"),
        lambda name: owners.add("a", name or "/"),
        lambda name: transfer.lay_out({f"../{name}": b""}),
    )
    for use in uses:
        with suppress(ValueError, OSError, Damaged):
            use(name)
    for id in registry.experiment_ids():
        for field, knob in knobs.knobs_of(registry.experiment(id).config).items():
            if knob.kind == "document" and name:
                with pytest.raises(BadSetting, match="must be a digest"):
                    knob.check(field, name)
    assert outside() == before


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_all_that_is_written_is_for_its_owner_alone(runs, umask):
    before = os.umask(umask)
    try:
        fill_by_use()
        paths = [runs.local, *runs.local.rglob("*")]
        assert len(paths) > 15 and database.path() in paths
        for path in paths:
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    finally:
        os.umask(before)


def fill_by_use() -> None:
    """As `fill`, by what the project does alone; a job that has been cancelled as it ran."""
    key = run_and_queue()
    shared = SharedTrainings(Job(key), Job(key).request())
    shared.begin("a")
    shared.save_checkpoint("a", {"x": np.zeros(1)})
    table.write_cancel(key, "cancelled")


def test_the_log_of_workers_is_for_its_owner_alone(runs, monkeypatch):
    monkeypatch.setattr(spawn.subprocess, "Popen", lambda *_, **__: psutil.Process())
    queue.submit(Request(TOY, registry.experiment(TOY).config(steps=20)))
    before = os.umask(0)
    try:
        spawn._start_worker(1, {})
        assert stat.S_IMODE((runs.local / "jobs" / "workers.log").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_what_a_run_and_a_job_say_is_drawn_as_text(runs):
    """Titles, messages and machines with markup, in files that are whole otherwise."""
    config = registry.experiment("gdssm.corrections").config
    info = dict.fromkeys(("message", "device", "date"), EVIL)
    info |= {"presets": [EVIL], "seconds": 1.0, "metrics": []}
    runs.save("gdssm.corrections", config(seed=7), {"x": np.zeros(2)}, info)
    key = queue.submit(Request("gdssm.corrections", config(seed=8)))
    Job(key).write_state(status="failed", message=EVIL, phase=EVIL)
    change("UPDATE jobs SET visitor = ?", EVIL)
    corrections = "experiment=corrections&seed=8&at_once=false"
    for page, link in (("runs", ""), ("gdssm", corrections), ("claims", "")):
        app = open_page(page, link)
        assert not app.exception
        for kind in ("markdown", "caption", "warning", "error", "info"):
            for text in app.get(kind):
                assert "onerror" not in text.value or is_ours(text.value), (page, text.value)
        for html in app.get("html"):
            assert "<img src=x" not in html.proto.body
    assert "onerror" in " ".join(open_page("runs", "").dataframe[0].value["Device"])


def test_a_database_of_another_kind_is_no_way_in(runs, tmp_path):
    """SQL in names, triggers and views do nothing but fail."""
    fill(runs)
    runs.close()
    with sqlite3.connect(runs.local / "runs" / "cache.db") as database:
        database.execute("UPDATE Cache SET key = ?", ("'; DROP TABLE Cache; --",))
        database.execute("ALTER TABLE Cache RENAME TO Other")
        database.execute(
            f"CREATE VIEW Cache AS SELECT * FROM Other WHERE load_extension('{tmp_path}/x') IS NULL"
        )
    database.close()
    use_everything()
    assert [header.key for header in runs.headers(TOY)]
