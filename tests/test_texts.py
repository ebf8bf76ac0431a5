"""Every sentence that the app can say, held to one notation and to the words that the project has
settled on."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "icl_core").rglob("*.py")), *sorted((ROOT / "pages").rglob("*.py"))]

GIVEN_UP = {
    r"^(?!name must|only W_O2 learns).*\bW_[A-Z]+\d\b": "W_K¹, W_K², W_O²: the layer stands above",
    r"[\d}] %(?!{)": "99%, without a space",
    r"\b[AaΛ]_l\b|\bA_1\b": "Aₗ",
    r"Σ\^1/2|Σ\^0\.5|Σ\^\(": "Σ^½",
    r"[^!]!(\s|$)": "no exclamation marks",
    r"\bjudged?\b|\bjudging\b": "evaluated",
    r"\brivals?\b": "models, baselines",
    r"\blooks right\b|\bperfect induction head\b": "said in another way",
    r"\b(simply|obviously|basically|of course|note that|please)\b": "left out",
    r"\b(color|behavior|normalize|optimize|gray)\w*\b": "British spelling",
    r"\b(don't|can't|won't|isn't|doesn't|it's)\b": "written out",
    r" ,| ;|\.\.\.|,,| {2,}\S": "spacing; … is one character",
    r"\b(\w+) \1\b(?<!0 0)": "a word twice",
}
PASSED = re.compile(
    r"^\s*[{\[(<.#*]|://|var\(|px|viewBox|SELECT|PRAGMA|--|```|\$\$"
)  # code, CSS, formulas


@cache
def sentences(path: Path) -> list[tuple[int, str]]:
    """The texts of a file of three words or more, no docstrings; {} stands for what an f-string
    puts in."""
    return list(_found(path))


def _found(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text())
    docstrings = {id(first) for first in map(_docstring, ast.walk(tree)) if first is not None}
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    shapes = {
        id(part) for node in ast.walk(tree) for hint in _hints(node) for part in ast.walk(hint)
    }
    for node in ast.walk(tree):
        text = _text(node) if id(node) not in docstrings | inside | shapes else ""
        if len(text.split()) >= 3 and not PASSED.search(text):
            yield getattr(node, "lineno", 0), text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            each.value if isinstance(each, ast.Constant) else "{}" for each in node.values
        )
    return ""


def _hints(node: ast.AST) -> list[ast.AST]:
    """The types that a node declares or puts together, in which a string is a shape."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    return [
        hint
        for name in ("annotation", "returns")
        if (hint := getattr(node, name, None)) is not None
    ]


def _docstring(node: ast.AST) -> ast.AST | None:
    """The docstring of a function or class; an experiment's module shows its own to the visitor."""
    if (
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module))
        and node.body
    ):
        first = node.body[0]
        return first.value if isinstance(first, ast.Expr) else None
    return None


def _wrong(path: Path, pattern: str) -> list[str]:
    found = re.compile(pattern, re.IGNORECASE if pattern.islower() else 0)
    return [
        f"{path.relative_to(ROOT)}:{line}: {text:.120}"
        for line, text in sentences(path)
        if found.search(text)
    ]


@pytest.mark.parametrize("pattern", GIVEN_UP, ids=lambda pattern: GIVEN_UP[pattern][:40])
def test_no_sentence_says_it_in_a_way_that_was_given_up(pattern: str) -> None:
    assert not [each for path in FILES for each in _wrong(path, pattern)]


def test_sentences_are_found() -> None:
    """The scan reads what the visitor reads: captions, claims, questions."""
    every = [text for path in FILES for _, text in sentences(path)]
    assert len(every) > 1500
    assert any(text.startswith("You have seen") for text in every)
