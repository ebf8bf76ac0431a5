"""The directions of import: app.py, pages/*.py → pages/ui → the spine ← papers."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

from house import ROOT

CORE = sorted((ROOT / "icl_core").rglob("*.py"))
PAPERS = sorted(
    path.name
    for path in (ROOT / "icl_core" / "papers").iterdir()
    if (path / "__init__.py").exists()
)


@cache
def imported(path: Path) -> set[str]:
    """Return every module name that the file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def within(names: set[str], *packages: str) -> list[str]:
    return sorted(
        name for name in names if any(name == p or name.startswith(p + ".") for p in packages)
    )


def test_the_core_imports_neither_streamlit_nor_the_pages() -> None:
    for path in CORE:
        assert not within(imported(path), "streamlit", "pages", "app"), path


def test_a_paper_imports_no_other_paper() -> None:
    for paper in PAPERS:
        others = [f"icl_core.papers.{other}" for other in PAPERS if other != paper]
        for path in (ROOT / "icl_core" / "papers" / paper).rglob("*.py"):
            assert not within(imported(path), *others), path


def test_the_spine_names_no_paper() -> None:
    for path in CORE:
        if "papers" not in path.relative_to(ROOT / "icl_core").parts:
            assert not within(imported(path), *(f"icl_core.papers.{paper}" for paper in PAPERS)), (
                path
            )
            assert not any(f'"{paper}"' in path.read_text() for paper in PAPERS), path


def test_pages_do_no_tensor_arithmetic_and_build_no_figure() -> None:
    for path in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]:
        assert not within(imported(path), "torch", "numpy", "plotly", "safetensors", "diskcache"), (
            path
        )


def test_pages_are_short_and_define_no_class() -> None:
    for path in (ROOT / "pages").glob("*.py"):
        tree = ast.parse(path.read_text())
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)], path
        assert path.read_text().count("\n") < 60, path


# Who may import torch, and in a paper which files may not.
WITH_TORCH = {"in_context_regression", "machine", "papers", "training"}
WITHOUT_TORCH = {
    *("atlas", "claims", "diagram", "lesson", "picture", "pretrained_lesson", "settings", "words")
}


def test_torch_is_imported_by_what_computes() -> None:
    for path in CORE:
        if within(imported(path), "torch"):
            assert path.relative_to(ROOT / "icl_core").parts[0] in WITH_TORCH, path
            assert path.stem not in WITHOUT_TORCH, path


def alone(code: str) -> None:
    """Run code in a process of its own, which has nothing imported."""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# Their cost counts the parameters of models, which torch draws.
COUNTED = ("gdssm.comparison", "gdssm.learns", "gdssm.plateau")
LOOK = """
from icl_core.machine import late_imports
def look(what, *libraries):
    for library in libraries:
        assert not late_imports.is_imported(library), f"{what} imports {library}"
"""


def test_no_file_needs_torch_or_pandas_to_be_imported() -> None:
    """A file of a paper may import them at its top, but not use them there: its experiment would
    take two seconds longer to be listed, and every page 200 MiB. If a default, a constant or a
    decorator needs torch, make it in a function."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in CORE
    ]
    code = f"{LOOK}import importlib\nfor name in {names}:\n    importlib.import_module(name)\n"
    code += "    look(name, 'torch', 'pandas')\n"
    code += "from icl_core import registry\nfor name in registry.experiment_ids():\n"
    alone(code + "    registry.experiment(name)\n    look(name, 'torch', 'pandas')")


def test_settings_headers_claims_and_commands_need_no_torch() -> None:
    alone(
        f"{LOOK}COUNTED = {COUNTED}"
        + """
import contextlib, io
from icl_core import registry
from icl_core.command import cli
from icl_core.evidence import measurements
from icl_core.jobs import queue
from icl_core.runs import store
from icl_core.runs.request import Request
for name in registry.experiment_ids():
    experiment = registry.experiment(name)
    for preset in experiment.presets:
        store.default().find(Request(name, preset.config))
        experiment.goes_on(preset.config)
        if experiment.diagram:
            experiment.diagram(preset.config)
        if name not in COUNTED:
            experiment.cost(preset.config)
        look(f"the preset {preset.name} of {name}", "torch", "pandas")
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["show", name])
    look(f"show {name}", "torch", "pandas")
with contextlib.redirect_stdout(io.StringIO()):
    cli.main(["list"])
    cli.main(["claims"])
look("claims", "torch", "pandas")
queue.submit(Request(name, registry.experiment(name).config()))
queue.states()
look("the queue", "torch", "pandas")
"""
    )


def test_pages_without_a_drawing_of_a_run_need_no_torch() -> None:
    alone(
        LOOK
        + """
import os
from streamlit.testing.v1 import AppTest
page = AppTest.from_file(f"{os.getcwd()}/app.py", default_timeout=60).run()
look("the front page", "torch")
for name in ("claims", "gallery", "lessons", "runs"):
    page = page.switch_page(f"pages/{name}.py").run()
    assert not page.exception, name
    look(name, "torch")
"""
    )


def test_statistics_import_nothing_of_the_project() -> None:
    assert not within(imported(ROOT / "icl_core" / "contract" / "statistics.py"), "icl_core")


def test_nothing_on_disk_is_unpickled() -> None:
    for path in [*CORE, ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]:
        assert not within(
            imported(path), "pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"
        ), path
