"""The words of the project: every sentence that the app can say, held to one notation, and every
name in the code, held to the field's terms."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from icl_core.contract.paper_words import LESSON_KINDS, PAPER_KINDS
from icl_core.contract.words import KINDS
from icl_core.contract.words_file import read_sections

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "icl_core").rglob("*.py")), *sorted((ROOT / "pages").rglob("*.py"))]
WORDS = sorted(
    path for name in ("words.md", "*lesson.md") for path in (ROOT / "icl_core").rglob(name)
)

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
    r"\b(\w+) \1\b(?<!0 0)(?!-)": "a word twice, but not “in in-context”",
}
# Private words, and English that must be decoded, in what a visitor reads: but for the claims, and
# for the reasons that stored runs hold.
STORED = ("claims.py", "training_end.py")
UNIT = r"(sequences?|tasks?|triggers?|prompts?|heads?|steps?|examples?|numbers?|registers?|pairs?)"
PRIVATE = {
    rf"\b{UNIT} an? (sequence|batch|layer|model|head|task|step|prompt|token)\b": "per",
    r"\bone back\b": "the previous character",
    r"\btold\b": "said, given, named",
    r"\blooked at\b": "attended to",
    r"([¹²³⁻ΣΓΛαγσβημη])'s\b": "of Σ⁻¹",
    r"\b(grey|zero|one step|another)'s\b": "of the grey line, of one step",
    r"\bleaves? the picture\b|\babove the picture\b": "beyond the axis",
    r"\b[Nn]obody told\b|\bwithhold nothing\b": "said plainly",
    r"^Train on$|^Train at once\b|^Comes with the project": "Continue training, Shipped",
    r"^Until it is done|^Goes on from step|\bis away until\b": "While it trains, Continues from",
    r"^You said: |^It is: ": "The answer: …, You chose: …",
    r", number$|\bthat come again\)$": "no., that repeat",
}
# code, CSS, formulas
PASSED = re.compile(r"^\s*[{\[(<.#*]|://|var\(|px|viewBox|SELECT|PRAGMA|--|```|\$\$")

# words that no name in the code holds as a part, with the term to use instead
GIVEN_UP_IN_NAMES = {
    "rival": "competitor, baseline, model",
    "rivals": "competitors, baselines, models",
    "judge": "evaluate, measure",
    "judged": "evaluated",
    "judges": "evaluates",
    "judging": "evaluating",
    "moment": "snapshot; moments are E tr Sᵏ",
    "luggage": "payload",
    "ticket": "job_id",
    "tickets": "job_ids",
    "crew": "pool",
    "parcel": "transfer, archive",
    "parcels": "transfers, archives",
    "trip": "remote_job",
    "trips": "remote_jobs",
    "far": "remote, distance, edge, outside",
}
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def sentences(path: Path) -> list[tuple[int, str]]:
    """Return the texts of a file of three words or more, each with its line, without docstrings."""
    return [(line, text) for line, text in texts_of(path) if len(text.split()) >= 3]


@cache
def texts_of(path: Path) -> list[tuple[int, str]]:
    """Return the texts of a file of two words or more, each with its line: labels, too. Docstrings
    are left out, but for that of an experiment, which is its page's introduction.

    {} stands for what an f-string puts in.
    """
    if path.suffix == ".md":
        return _texts_of_words(path)
    tree = ast.parse(path.read_text())
    left_out: set[int] = set()  # ids of nodes: docstrings, parts of f-strings, shapes in types
    for node in ast.walk(tree):
        if (docstring := _docstring(node)) is not None:
            left_out.add(id(docstring))
        if isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in node.values)
        for hint in _hints(node):
            left_out.update(id(part) for part in ast.walk(hint))
    texts: list[tuple[int, str]] = []
    if path.name == "__init__.py" and path.parents[1].parent.name == "papers":
        texts.append((1, ast.get_docstring(tree) or ""))
    for node in ast.walk(tree):
        text = _text(node) if id(node) not in left_out else ""
        if len(text.split()) >= 2 and not PASSED.search(text):
            texts.append((getattr(node, "lineno", 0), text))
    return texts


def _texts_of_words(path: Path) -> list[tuple[int, str]]:
    """Return the paragraphs, fields, entries and cells of a words.md or lesson.md, each with the
    line of its heading; {} stands for what is put in. Formulas are left out."""
    kinds = PAPER_KINDS if path.parents[1].name == "papers" else KINDS
    texts = []
    for section in read_sections(path, kinds if path.name == "words.md" else LESSON_KINDS):
        if section.kind == "mathematics":
            continue
        parts = [] if section.kind else [section.name]  # the title
        fields = [texts for name, texts in section.fields.items() if name != "set"]
        parts += [*section.paragraphs, *(text for texts in fields for text in texts)]
        parts += [line for lines in section.lists.values() for line in lines]
        parts += [cell for row in section.rows for cell in row]
        texts += [(section.line, re.sub(r"\{\w+(:[^?@#{}]\S*?)?\}", "{}", part)) for part in parts]
    return [(line, text) for line, text in texts if len(text.split()) >= 2]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    return ""


def _hints(node: ast.AST) -> list[ast.AST]:
    """Return the types that a node declares or puts together, in which a string is a shape."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    hints = [getattr(node, name, None) for name in ("annotation", "returns")]
    return [hint for hint in hints if hint is not None]


def _docstring(node: ast.AST) -> ast.AST | None:
    """Return the docstring of a function, class or module."""
    if (
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module))
        and node.body
    ):
        first = node.body[0]
        return first.value if isinstance(first, ast.Expr) else None
    return None


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every name that a file gives, with its line: its own, and those of functions, classes,
    arguments and variables."""
    yield 1, path.parent.name if path.stem == "__init__" else path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def parts(name: str) -> set[str]:
    """Return the words of a name in snake_case or CamelCase, in small letters."""
    return {part.lower() for part in PART.findall(name)}


@pytest.mark.parametrize("pattern", GIVEN_UP, ids=lambda pattern: GIVEN_UP[pattern][:40])
def test_no_sentence_says_it_in_a_way_that_was_given_up(pattern: str) -> None:
    given_up = re.compile(pattern, re.IGNORECASE if pattern.islower() else 0)
    assert not [
        f"{path.relative_to(ROOT)}:{line}: {text:.120}"
        for path in (*FILES, *WORDS)
        for line, text in sentences(path)
        if given_up.search(text)
    ]


@pytest.mark.parametrize("pattern", PRIVATE, ids=lambda pattern: PRIVATE[pattern][:40])
def test_no_text_for_a_visitor_has_a_private_word(pattern: str) -> None:
    private = re.compile(pattern)
    assert not [
        f"{path.relative_to(ROOT)}:{line}: {text:.120}"
        for path in (*FILES, *WORDS)
        if path.name not in STORED and path.parent.name != "claims"
        for line, text in texts_of(path)
        if private.search(text)
    ]


def test_no_name_holds_a_word_that_was_given_up() -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{line}: {name}; instead of {word}: {GIVEN_UP_IN_NAMES[word]}"
        for path in FILES
        for line, name in names(path)
        for word in sorted(parts(name) & GIVEN_UP_IN_NAMES.keys())
    ]


def test_sentences_are_found() -> None:
    """The scan reads what the visitor reads: captions, claims, questions."""
    texts = [text for path in (*FILES, *WORDS) for _, text in sentences(path)]
    assert len(texts) > 1500
    assert any(text.startswith("You have seen") for text in texts)
    for start in ("Some characters of each sequence", "Read the three steps off", "“Nothing, you"):
        assert any(text.startswith(start) for path in WORDS for _, text in texts_of(path)), start


def test_names_are_found() -> None:
    assert parts("_RemoteJob_is2far") == {"remote", "job", "is", "far"}
    assert (1, "test_texts") in names(Path(__file__))
    assert {"GIVEN_UP", "sentences", "path"} <= {name for _, name in names(Path(__file__))}
