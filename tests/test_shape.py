"""The house: every experiment is a folder of the same files, nothing is long, no import runs in a
circle or upwards."""

import ast
import itertools
import re
from functools import cache
from pathlib import Path

import pytest
from house import EXTRA, ROOT

APP = [
    ROOT / "app.py",
    *sorted((ROOT / "pages").rglob("*.py")),
    *sorted((ROOT / "icl_core").rglob("*.py")),
]
PAPERS = ROOT / "icl_core" / "papers"
SHARED = "shared"
EXPERIMENTS = sorted(
    folder
    for papers in (PAPERS, EXTRA)
    for folder in papers.glob("*/*")
    if (folder / "__init__.py").exists() and folder.name != SHARED
)
EVERY = {"__init__", "settings", "claims", "draw"}


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module(path): path for path in APP}


@cache
def imports(path: Path) -> set[str]:
    """The project's modules that a file imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            # a module of a package is imported, or what stands in the package's own file
            names |= {name if name in MODULES else node.module for name in full}
    return (names & MODULES.keys()) - {module(path)}


def functions() -> list[int]:
    """The lines of every function of the app, its signature and docstring among them."""
    nodes = (node for path in APP for node in ast.walk(ast.parse(path.read_text())))
    return [
        node.end_lineno - node.lineno + 1 for node in nodes if isinstance(node, ast.FunctionDef)
    ]


every_experiment = pytest.mark.parametrize(
    "folder", EXPERIMENTS, ids=lambda folder: f"{folder.parent.name}.{folder.name}"
)


@every_experiment
def test_every_experiment_has_the_same_files(folder: Path):
    names = {
        path.stem
        for path in folder.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert names >= EVERY
    assert names & {"train", "run"}


@every_experiment
def test_no_experiment_imports_another(folder: Path):
    others = tuple(f"{module(other)}." for other in EXPERIMENTS if other != folder)
    for path in folder.rglob("*.py"):
        assert not [name for name in imports(path) if f"{name}.".startswith(others)]


@pytest.mark.parametrize(
    "folder", sorted(PAPERS.glob(f"*/{SHARED}")), ids=lambda folder: folder.parent.name
)
def test_what_is_shared_imports_no_experiment(folder: Path):
    paper = module(folder.parent / "__init__.py")
    for path in folder.rglob("*.py"):
        own = [name for name in imports(path) if name.startswith(f"{paper}.")]
        assert all(SHARED in name.split(".") for name in own), own


def test_no_import_runs_in_a_circle():
    """Late imports neither: files that need each other belong together."""
    arrows = {name: imports(path) for name, path in MODULES.items()}
    # a package's own __init__ names what is in it: only arrows between files of different names
    # count
    left = dict(arrows)
    while left:
        free = [name for name, to in left.items() if not (to - {name}) & left.keys()]
        assert free, f"a circle among {sorted(left)[:20]}"
        for name in free:
            del left[name]


# The spine from its foundations up; papers stand on what is below `runs`, pages on all of it.
LAYERS = (
    ("contract", "machine"),
    ("registry", "figures", "in_context_regression", "training"),
    ("papers",),
    ("runs",),
    ("classroom", "comparison", "evidence", "share"),
    ("jobs",),
    ("cluster", "sweeps", "verification"),
    ("build", "library", "site"),
    ("command",),
    ("__main__",),
)


def test_no_arrow_points_upwards():
    """Imports inside functions too: they are late, not absent."""
    height = {name: index for index, names in enumerate(LAYERS) for name in names}
    inside = [(name, path) for name, path in MODULES.items() if name.startswith("icl_core.")]
    assert {name.split(".")[1] for name, _ in inside} == height.keys()
    for name, path in inside:
        for other in imports(path):
            # the registry looks into the folder icl_core.papers
            if other.startswith("icl_core.") and other != "icl_core.papers":
                assert height[other.split(".")[1]] <= height[name.split(".")[1]], (
                    f"{name} imports {other}"
                )


DRAWS = {
    f"torch.{name}"
    for name in (
        "rand",
        "randn",
        "randint",
        "randperm",
        "rand_like",
        "randn_like",
        "normal",
        "multinomial",
        "bernoulli",
    )
}


def test_nothing_is_drawn_without_a_generator():
    """Else a test would see other numbers in another order of the tests."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "bench" not in path.parts]
    for path in (*APP, *tests):
        text = path.read_text()
        nodes = ast.walk(ast.parse(text)) if any(name in text for name in DRAWS) else ()
        for node in nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func) in DRAWS:
                names = {keyword.arg for keyword in node.keywords}  # None: among others
                assert names & {"generator", None}, f"{path}:{node.lineno}"


def test_nothing_is_long():
    """A file may have 400 lines and a function 60, if it is one thing."""
    long = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in APP}
    assert not {name: lines for name, lines in long.items() if lines > 400}
    assert max(functions()) <= 60


# The rooms of pages/ui from the lowest up: an import goes to the same room or to a lower layer.
PAGE_LAYERS = (
    ("link", "launch", "web_server"),
    ("look",),
    ("classroom",),
    ("story",),
    ("controls",),
    ("claims",),
    ("stage",),
    ("front", "runs", "compare", "paper_page"),
)


def test_no_page_imports_upwards():
    height = {room: index for index, rooms in enumerate(PAGE_LAYERS) for room in rooms}
    rooms = {name: name.split(".")[2] for name in MODULES if name.startswith("pages.ui.")}
    assert set(rooms.values()) == height.keys()
    for name, room in rooms.items():
        for other in imports(MODULES[name]):
            if other in rooms and rooms[other] != room:
                assert height[rooms[other]] < height[room], f"{name} imports {other}"


def test_pages_and_exports_draw_the_seed_that_the_view_shows():
    """`Drawing.draw` takes a run of one seed: who has a view of several asks `Drawing.panel`. A
    card of the gallery shows the first seed."""
    core = [(ROOT / "icl_core" / name).rglob("*.py") for name in ("comparison", "share")]
    for path in itertools.chain((ROOT / "pages").rglob("*.py"), *core):
        if path.name != "gallery.py":
            assert "drawing.draw(" not in path.read_text(encoding="utf-8"), path


def test_no_style_rule_looks_for_a_descendant_of_a_descendant():
    """After `:has(` a blank between two selectors makes the browser restyle the page at every
    change within it: all experiments took three times as long to draw."""
    folders = (
        ROOT / "pages/ui/browser",
        ROOT / "icl_core/figures/browser",
        ROOT / "icl_core/site/browser",
    )
    for path in (path for folder in folders for path in folder.glob("*.css")):
        for argument in re.findall(r":has\(((?:[^()]|\([^()]*\))*)\)", path.read_text()):
            for selector in argument.split(","):
                compound = re.sub(r"\s*[>+~]\s*", ">", selector.strip())
                assert " " not in compound, (path.name, selector)
