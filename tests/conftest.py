"""For every test: torch has one thread, and no local run is touched. Where long tests or a change
are tested, shapes in signatures are checked as they run."""

import dataclasses
import os
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# Before anything imports the store, which remembers where its cache is. Each process of a test run
# has its own.
OWN = tempfile.TemporaryDirectory(prefix="icl-cache-", ignore_cleanup_errors=True)
os.environ["ICL_CACHE_DIR"] = OWN.name
# before the registry looks for papers
os.environ.setdefault("ICL_PAPERS", str(ROOT / "tests" / "papers_extra"))
# Processes find the bytecode of those before them, whatever the environment says: compiling the
# project takes as long as the rest of its import.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# of what the tests start too: threads that share a core wait for each other
os.environ["OMP_NUM_THREADS"] = "1"

# what is computed is torch's; a test of compiled segments asks for them
os.environ["ICL_FAST"] = "0"

import pytest  # noqa: E402
import torch  # noqa: E402
from streamlit.components.v2 import manifest_scanner  # noqa: E402
from xdist.scheduler import LoadScopeScheduling  # noqa: E402

from icl_core.training import batched  # noqa: E402
from tests import changed, recorder, shapes  # noqa: E402

BROWSER = "tests/browser/"
# As long together as the other files there.
SECOND_BROWSER = {
    "test_every_experiment.py",
    "test_memformers.py",
    "test_gdssm.py",
    "test_learners.py",
    "test_pages.py",
    "test_stage_page.py",
    "test_sweep_seen.py",
    "test_lessons.py",
    "test_own_text_seen.py",
    "test_settings.py",
}
NO_SERVER = {"test_tab_training.py"}  # files whose pages need no server: any process has them
torch.set_num_threads(1)
batched.REPORT_INTERVAL = -1.0  # reports come at every step, whatever the clock says
# Each page that is opened without a browser reads what every installed package says of itself: once
# will do.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def _exact_products():
    """Begin every test with exact products, whatever a training in the same process has set: where
    a processor has bfloat16 tiles, a worker's "medium" is less exact than what tests ask of
    float32."""
    torch.set_float32_matmul_precision("highest")


@pytest.fixture(autouse=True, scope="module")
def _runs_of_one_file():
    yield
    recorder.short_run.cache_clear()


def pytest_configure(config):
    """Check shapes, but in the short run: it has no time for it."""
    if config.getoption("changed") or "not long" not in config.getoption("markexpr"):
        shapes.check_new_ones()


class TwoBrowsers(LoadScopeScheduling):
    """With `-n 3` two processes have a browser and its server each, first, and the third has the
    rest, file by file: pages wait most of the time."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        if not file.startswith(BROWSER) or file.removeprefix(BROWSER) in NO_SERVER:
            return file
        return f"{BROWSER}{file.removeprefix(BROWSER) in SECOND_BROWSER}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """The order of the files is kept: the browsers' come first."""
    config.option.loadscopereorder = False
    return TwoBrowsers(config, log)


@pytest.fixture
def give_up():
    """Takes an entry out of a table; after the test the table is as it was, in its order: runs are
    named by it."""
    with ExitStack() as stack:

        def take(table: dict, key: str) -> None:
            stack.enter_context(patch.dict(table))
            del table[key]

        yield take


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """The default store, empty, in a folder of its own."""
    from house import house

    with house(tmp_path, monkeypatch) as own_store:
        yield own_store


@pytest.fixture
def change_toy():
    """Takes parts that the throw-away experiment shall have; after the test it is as it was."""
    from icl_core import registry

    with pytest.MonkeyPatch.context() as patch:

        def change(**parts) -> None:
            changed = dataclasses.replace(registry.experiment("toy.walk"), **parts)
            patch.setattr(sys.modules["icl_core.papers.toy.walk"], "EXPERIMENT", changed)
            registry.experiment.cache_clear()

        yield change
    registry.experiment.cache_clear()


def pytest_collection_finish():
    """What has been imported stays: a worker that looks for garbage after each run need not look at
    it."""
    from icl_core.machine import device

    device.keep_imports()


def pytest_runtest_setup():
    """Every test checks the shapes that it would check alone."""
    shapes.forget()


def pytest_addoption(parser):
    parser.addoption(
        "--changed",
        metavar="COMMIT",
        nargs="?",
        const="HEAD",
        help="run what a change in a paper since COMMIT, or since the last one, can fail",
    )


def pytest_collection_modifyitems(config, items):
    """Leave out what a change cannot fail, if asked to; skip what needs a GPU where there is none;
    let what takes many minutes take them."""
    if commit := config.getoption("changed"):
        selected = changed.select(items, commit)
        config.hook.pytest_deselected(items=[item for item in items if item not in selected])
        items[:] = selected
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))
        if item.get_closest_marker("by_hand"):
            item.add_marker(pytest.mark.timeout(0))
