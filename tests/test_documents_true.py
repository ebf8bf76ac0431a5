"""The documents are true: links and paths lead to files, commands are known, README is short."""

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from house import ROOT

from icl_core.command.cli import main
from icl_core.evidence import measurements
from icl_core.runs import store

FOLDERS = (".github", "icl_core", "pages", "tests")
DOCUMENTS = [
    ROOT / "README.md",
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.md"))),
]
LARGEST = 10_000  # bytes of README.md
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.]+(/[\w.]+)*(/|\.(py|md|js|css|json|txt|toml))")
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
ABSENT = {  # examples, files of an experiment, what is made by who installs or runs the dashboard
    "some/folder", "artifacts/cache", ".venv/bin/", "draw/", "runs/", "shared/",
    "settings.py", "claims.py", "train.py", "run.py", "draw.py", "words.md", "words.py",
    "lesson.md", "lesson.py",
    "draw/explanations.py", "__init__.py", "config.json", "tokenizer.json", "organism.json",
}  # fmt: skip


def relative_name(document: Path) -> str:
    return str(document.relative_to(ROOT))


def spans(document: Path) -> list[str]:
    """Return what stands between backticks outside blocks of code."""
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    return SPAN.findall(text)


def places(document: Path) -> list[Path]:
    """Return the folders to which a path in the document may be relative."""
    folders = ("icl_core", "icl_core/papers", "pages/ui", "tests")
    return [ROOT, document.parent, *(ROOT / folder for folder in folders)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative_name)
def test_every_relative_link_leads_to_a_file(document):
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    assert not [link for link in links if not (document.parent / link).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative_name)
def test_every_path_is_there(document):
    paths = [span for span in spans(document) if PATH.fullmatch(span) and span not in ABSENT]
    missing = [
        path for path in paths if not any(is_there(place / path) for place in places(document))
    ]
    assert not missing


def is_there(path: Path) -> bool:
    """Return whether a path is a file, or a folder that holds more than the bytecode of files that
    are gone."""
    inside = (file for file in path.rglob("*") if "__pycache__" not in file.parts)
    return path.is_file() or any(map(Path.is_file, inside))


def commands() -> list[list[str]]:
    """Return the words of every `python -m icl_core …` in the documents, once each."""
    arguments = set()
    for document in DOCUMENTS:
        text = document.read_text()
        lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
        for line in [*lines, *spans(document)]:
            _, command, rest = line.partition("python -m icl_core ")
            if command:
                arguments.add(tuple(shlex.split(rest, comments=True)))
    return [list(words) for words in sorted(arguments)]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_is_known_with_its_options(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([words[0], "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert not [word for word in words if word.startswith("--") and word not in text]


def test_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= LARGEST


def test_the_readme_says_what_came_out():
    """Its three numbers, of the papers' claims at their own settings."""
    verdicts = Counter()
    for by_kind in measurements.counts(store.default()).values():
        verdicts.update(by_kind["paper"])
    sentence = (
        f"{verdicts['reproduced']} are reproduced, {verdicts['not reproduced']} are not, and "
        f"{verdicts['not decided']} are not decided yet."
    )
    assert sentence in " ".join((ROOT / "README.md").read_text().split())
