"""`python -m pytest --changed`: the tests that a change in a paper can fail.

What has changed is what differs from a commit (`--changed=COMMIT`, else the last one). A test is
run if its module imports, over any number of others, a module that has changed, or names an
experiment that does; if its parameter is such an experiment or paper; or if it reads every paper's
files. Where something has changed of which imports do not tell who needs it (a page, a script of
the browser, a shipped run), all tests run.
"""

import ast
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "icl_core" / "papers"
FOLLOWED = ("icl_core/papers/", "tests/")  # only here imports tell who needs a file
# They read every paper's files, or what is shipped of every experiment. Those of their tests that
# are of one experiment run if it has changed.
OF_ALL_PAPERS = {
    "contract",
    "documents",
    "documents_true",
    "gallery",
    "golden",
    "imports",
    "paper_words",
    "shape",
    "texts",
    "words",
}


def select(items: list[pytest.Item], commit: str) -> list[pytest.Item]:
    """Return those of `items` that what has changed since `commit` can fail."""
    files = changed_files(commit)
    if not all(file.endswith(".md") or _is_followed(file) for file in files):
        return items
    modules = {name for name, path in _modules().items() if _has_changed(path, files)}
    return [item for item in items if _is_concerned(item, modules)]


def changed_files(commit: str) -> list[str]:
    """Return the files that differ from a commit, and those that git does not know yet."""
    differing = _git("diff", "--name-only", commit, "--")
    return sorted({*differing, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*command: str) -> list[str]:
    return subprocess.run(
        ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def _is_followed(file: str) -> bool:
    return file.startswith(FOLLOWED) and file.endswith(".py") and not file.endswith("conftest.py")


def _has_changed(module: Path, files: Iterable[str]) -> bool:
    """Return whether a module, or the Markdown of its name beside it, is among `files`."""
    beside = module.with_suffix(".md")
    return not {str(path.relative_to(ROOT)) for path in (module, beside)}.isdisjoint(files)


def _is_concerned(item: pytest.Item, modules: set[str]) -> bool:
    if _needs(_name(item.path)) & modules:
        return True
    if subjects := list(_subjects(item)):
        return any(_needs_of(subject) & modules for subject in subjects)
    name = item.path.stem.removeprefix("test_")
    if item.path.parent.name == "browser":  # the tests of a paper's page are called as the paper
        return _is_package(name) and bool(_needs_of(name) & modules)
    return name in OF_ALL_PAPERS


def _subjects(item: pytest.Item) -> Iterator[str]:
    """Yield the experiments ("gdssm.layer") and papers ("gdssm") that a test's parameters name."""
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        subject = value if isinstance(value, str) else getattr(value, "name", None)
        if isinstance(subject, str) and _is_package(subject):
            yield subject


@cache
def _is_package(subject: str) -> bool:
    folder = PAPERS / subject.replace(".", "/")
    return subject.replace(".", "").isidentifier() and (folder / "__init__.py").exists()


@cache
def _needs_of(subject: str) -> frozenset[str]:
    """Return the modules of a paper or an experiment, and all that they import."""
    package = f"icl_core.papers.{subject}"
    inside = [name for name in _modules() if f"{name}.".startswith(f"{package}.")]
    return frozenset().union(*map(_needs, inside))


@cache
def _needs(module: str) -> frozenset[str]:
    """Return a module and all those that it imports, over any number of others."""
    reached, ahead = {module}, [module]
    while ahead:
        new = _imports(ahead.pop()) - reached
        reached |= new
        ahead += new
    return frozenset(reached)


@cache
def _imports(module: str) -> set[str]:
    """Return the project's modules that a module imports, those inside functions too; of a test
    also the experiments that it names, as it gets them from the registry."""
    modules = _modules()
    path = modules.get(module)
    if path is None:
        return set()
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif module.startswith("tests.") and isinstance(node, ast.Constant):
            names.add(f"icl_core.papers.{node.value}")
    # tests import each other with and without their folder
    of_tests = {f"tests.{folder}{name}" for name in names for folder in ("", "browser.", "bench.")}
    return (names | of_tests) & modules.keys()


@cache
def _modules() -> dict[str, Path]:
    """Return the project's files by the modules that they are."""
    files = [path for top in ("icl_core", "pages", "tests") for path in (ROOT / top).rglob("*.py")]
    return {_name(path): path for path in files}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
