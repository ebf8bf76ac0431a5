"""The directions of import: app.py, pages/*.py → pages/ui → the spine ← papers."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
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


def test_the_contract_and_the_front_page_need_no_torch() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "icl_core" / "contract").glob("[!_]*.py"))
    ]
    modules += ["icl_core.runs.store", "icl_core.figures", "icl_core.findings.findings"]
    code = f"import sys, {', '.join(modules)}\nfrom icl_core import registry\nregistry.papers()\n"
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_statistics_import_nothing_of_the_project() -> None:
    for path in (ROOT / "icl_core" / "statistics").glob("*.py"):
        names = within(imported(path), "icl_core")
        assert names == within(set(names), "icl_core.statistics"), path


def test_nothing_on_disk_is_unpickled() -> None:
    for path in [*CORE, ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]:
        assert not within(
            imported(path), "pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"
        ), path
