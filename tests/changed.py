"""`python -m pytest --changed`: the tests that a change in a paper can fail.

What has changed is what differs from a commit (`--changed=COMMIT`, else the last one). A test is
run if its module needs a module that has changed: it imports it, over any number of others, or
names the experiment or the paper of which it is a part; if its parameter is such an experiment or
paper; or if it reads every paper's files. Where something has changed of which this does not tell
who needs it (a page, a script of the browser, a shipped run, what all tests use), all tests run.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "icl_core" / "papers"
# Where imports and names tell who needs a file: in papers, and of tests those that pytest collects
# and what they import.
FOLLOWED = re.compile(
    r"icl_core/papers/.+\.py|icl_core/papers/.+/\w*(words|lesson)\.md|"
    r"tests/(papers/|browser/)?(?!conftest|shapes|changed)\w+\.py"
)
# They read every paper's files, or the registry.
OF_ALL_PAPERS = {"documents", "documents_true", "imports", "shape", "texts", "words"}
READS_REGISTRY = re.compile(r"experiment_ids|registry\.(papers|lessons)|claim_rows|store\.default")


def select(items: list[pytest.Item], commit: str) -> list[pytest.Item]:
    """Return those of `items` that what has changed since `commit` can fail."""
    files = changed_files(commit)
    can_fail = selector(files)
    return [item for item in items if can_fail(item.path, parameters(item))]


def changed_files(commit: str) -> list[str]:
    """Return the files that differ from a commit, those that are gone and those that git does not
    know yet among them."""
    differing = _git("diff", "--name-only", "--no-renames", commit, "--")
    return sorted({*differing, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*command: str) -> list[str]:
    return subprocess.run(
        ["git", *command], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def parameters(item: pytest.Item) -> list[str]:
    """Return the experiments ("gdssm.layer") and papers ("gdssm") that a test's parameters name."""
    callspec = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    subjects = [value if isinstance(value, str) else getattr(value, "name", "") for value in values]
    return [subject for subject in subjects if isinstance(subject, str) and _is_part(subject)]


def selector(files: Collection[str]) -> Callable[[Path, Sequence[str]], bool]:
    """Return a function of a test's file and of its parameters: whether a change of `files` can
    fail the test."""
    documents = {Path(file).name for file in files if _is_document(file)}
    if documents:
        documents.add("*.md")
    code = [file for file in files if not _is_document(file)]
    are_followed = all(FOLLOWED.fullmatch(file) and (ROOT / file).exists() for file in code)
    modules = {_name((ROOT / file).with_suffix(".py")) for file in code}

    def can_fail(test: Path, subjects: Sequence[str]) -> bool:
        if not are_followed or any(name in test.read_text() for name in documents):
            return True
        if subjects:
            own = {name for name in _needs(_name(test)) if name.startswith("tests.")}
            return not modules.isdisjoint(own.union(*map(_needs_of_part, subjects)))
        return not modules.isdisjoint(_needs_of_test(_name(test), _papers_read_by(test)))

    return can_fail


def _is_document(file: str) -> bool:
    """Return whether a file is Markdown for people, which no module reads as it is imported."""
    return file.endswith(".md") and not file.endswith(("words.md", "lesson.md"))


def _papers_read_by(test: Path) -> tuple[str, ...]:
    """Return the papers of which a test reads all files: none, or all."""
    name = test.stem.removeprefix("test_")
    is_top = test.parent in (ROOT / "tests", ROOT / "tests" / "browser")
    if name in OF_ALL_PAPERS or (is_top and READS_REGISTRY.search(test.read_text())):
        return _papers()
    return ()


@cache
def _papers() -> tuple[str, ...]:
    return tuple(path.parent.name for path in PAPERS.glob("*/__init__.py"))


def _is_part(subject: str) -> bool:
    """Return whether a text names a paper or an experiment."""
    return subject in _parts()


@cache
def _parts() -> set[str]:
    """Return the papers and their folders, experiments among them: "gdssm", "gdssm.layer"."""
    packages = [*PAPERS.glob("*/__init__.py"), *PAPERS.glob("*/*/__init__.py")]
    return {".".join(path.parent.relative_to(PAPERS).parts) for path in packages}


@cache
def _needs_of_part(subject: str) -> frozenset[str]:
    """Return the modules of a paper or an experiment and all that they import, and the file of the
    paper, which has the versions."""
    package = f"icl_core.papers.{subject}"
    inside = [name for name in _modules() if f"{name}.".startswith(f"{package}.")]
    paper = f"icl_core.papers.{subject.partition('.')[0]}"
    return frozenset({paper}.union(*map(_needs, inside)))


@cache
def _needs_of_test(test: str, papers: tuple[str, ...]) -> frozenset[str]:
    """Return the modules that a test imports, over any number of others, and all of the papers and
    experiments that it or a test that it imports names, and of `papers`."""
    needs = set(_needs(test))
    subjects = set(papers)
    for name in needs:
        file = str(_modules()[name].relative_to(ROOT))
        if file.startswith("tests/") and FOLLOWED.fullmatch(file):
            subjects |= _named_in(name)
    return frozenset(needs.union(*map(_needs_of_part, subjects)))


@cache
def _named_in(test: str) -> set[str]:
    """Return the papers and experiments that the texts of a test module name: "birth.steps", the
    beginning "birth." of a name, an address "/birth?…"."""
    papers = "|".join(_papers())
    subjects: set[str] = set()
    for node in ast.walk(_tree(test)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _is_part(node.value) and "." in node.value:
                subjects.add(node.value)
            subjects |= set(re.findall(rf"(?:^|/)({papers})(?=\.$|[?/]|$)", node.value))
    return subjects


@cache
def _needs(module: str) -> frozenset[str]:
    """Return a module and all those that it imports, over any number of others."""
    reached = {module}
    ahead = [module]
    while ahead:
        new = _imports(ahead.pop()) - reached
        reached |= new
        ahead += new
    return frozenset(reached)


@cache
def _imports(module: str) -> set[str]:
    """Return the project's modules that a module imports, those inside functions too."""
    names = set()
    for node in ast.walk(_tree(module)) if module in _modules() else ():
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    # tests import each other with and without their folder
    of_tests = {f"tests.{folder}{name}" for name in names for folder in ("", "browser.", "papers.")}
    return (names | of_tests) & _modules().keys()


@cache
def _tree(module: str) -> ast.AST:
    return ast.parse(_modules()[module].read_text())


@cache
def _modules() -> dict[str, Path]:
    """Return the project's files by the modules that they are."""
    files = [path for top in ("icl_core", "pages", "tests") for path in (ROOT / top).rglob("*.py")]
    return {_name(path): path for path in files}


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
