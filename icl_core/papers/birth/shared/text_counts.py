"""The characters of a text: how often each occurs and how often each follows each. No torch.

A visitor's text is counted at once. Only the counts are kept, by their digest, as
<cache>/texts/<digest>.json; the text itself is not.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from icl_core.contract.document import DocumentKind, digest_of
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.figures.character_labels import visible_characters
from icl_core.machine.folders import cache_folder, read_regular_file
from icl_core.papers.birth.shared import text_file
from icl_core.papers.birth.shared.text_characters import characters_of
from icl_core.papers.birth.shared.unicode_tables import CODE_POINTS

LARGEST = 5 * 2**20  # bytes of a text
# different characters
MOST = 256
LEAST = 4
_FREQUENT = 8  # characters that are named


@dataclass(frozen=True, eq=False)
class TextCounts:
    """The counts of a text's characters.

    characters  N of them, in the order of Unicode
    unigram     [N], how often each occurs
    bigram      [N, N], at [i, j] how often character j directly follows character i

    Of a text just read also what was left out:

    invisible   how often each invisible character occurs, by its name
    rare        how often each character beyond the MOST frequent occurs
    blanks      how often each other blank occurs that counts as a space, by its name
    line_ends   how often each other line end occurs that counts as a newline, by its name
    """

    characters: tuple[str, ...]
    unigram: np.ndarray
    bigram: np.ndarray
    invisible: Mapping[str, int] = field(default_factory=dict)
    rare: Mapping[str, int] = field(default_factory=dict)
    blanks: Mapping[str, int] = field(default_factory=dict)
    line_ends: Mapping[str, int] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """How many characters were counted."""
        return int(self.unigram.sum())

    def frequent(self, most: int) -> list[tuple[str, int]]:
        """Return the `most` most frequent characters, each with its count."""
        order = np.argsort(-self.unigram, kind="stable")[:most]
        return [(self.characters[i], int(self.unigram[i])) for i in order]

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file that is kept; equal counts have equal bytes."""
        counts = {"unigram_counts": self.unigram.tolist(), "bigram_counts": self.bigram.tolist()}
        return json.dumps({"characters": self.characters, **counts}, separators=(",", ":")).encode()

    @cached_property
    def digest(self) -> str:
        """The digest by which the counts are kept."""
        return digest_of(self.content)


def read(content: bytes) -> TextCounts:
    """Return the counts of a file's bytes, or of those of a pasted text.

    `BadSetting` says what was expected and what came.
    """
    KIND.check_size(len(content))
    return count(text_file.decode(content))


def count(text: str) -> TextCounts:
    """Return the counts of a text's characters, as `characters_of` gives them.

    `BadSetting` says so if it has fewer than LEAST different characters.
    """
    parsed = characters_of(text)
    occurrences = np.bincount(parsed.codes)
    visible = {chr(code): int(occurrences[code]) for code in np.flatnonzero(occurrences)}
    _check_variety(visible, is_empty=not text)
    by_frequency = sorted(visible, key=lambda character: (-visible[character], character))
    characters = tuple(sorted(by_frequency[:MOST]))
    return TextCounts(
        characters,
        np.array([visible[character] for character in characters]),
        _count_pairs(parsed.codes, characters),
        parsed.left_out,
        {character: visible[character] for character in by_frequency[MOST:]},
        parsed.blanks,
        parsed.line_ends,
    )


def _check_variety(visible: Mapping[str, int], is_empty: bool) -> None:
    if len(visible) >= LEAST:
        return
    if visible:
        labels = visible_characters(sorted(visible))
        content = f"{len(visible)}: " + " ".join(f"'{label}'" for label in labels)
    else:
        content = "an empty one" if is_empty else "none that can be seen"
    raise BadSetting(f"a text must have at least {LEAST} different characters, got {content}")


def _count_pairs(codes: np.ndarray, characters: Sequence[str]) -> np.ndarray:
    """Return how often each of N `characters` directly follows each in a text, [N, N]."""
    N = len(characters)
    index = np.full(CODE_POINTS, N)  # by code; N: none of them
    index[[ord(character) for character in characters]] = np.arange(N)
    indices = index[codes]
    pairs = indices[:-1] * (N + 1) + indices[1:]
    counts = np.bincount(pairs, minlength=(N + 1) ** 2).reshape(N + 1, N + 1)
    return counts[:-1, :-1].copy()  # (N, N), without the others


def describe(counts: TextCounts) -> list[str]:
    """Return what a text has and what was left out of it, in sentences for whoever gave it."""
    shares = [
        f"{shown_characters([character])} {percent(occurrences / counts.length)}"
        for character, occurrences in counts.frequent(_FREQUENT)
    ]
    sentences = [
        f"{counts.length:,} characters, {len(counts.characters)} different. Most frequent: "
        f"{', '.join(shares)}."
    ]
    if counts.rare:
        left_out = sum(counts.rare.values())
        share = left_out / (counts.length + left_out)
        sentences.append(
            f"A vocabulary has at most {MOST} different characters, this text has "
            f"{MOST + len(counts.rare):,}. Left out: the {len(counts.rare):,} rarest, "
            f"{percent(share)} of the text: {shown_characters(list(counts.rare), _FREQUENT)}."
        )
    for treatment, numbers in (
        ("Counted as not there, as they cannot be seen", counts.invisible),
        ("Counted as a space", counts.blanks),
        ("Counted as a newline", counts.line_ends),
    ):
        if numbers:
            items = [f"{name} × {occurrences:,}" for name, occurrences in numbers.items()]
            sentences.append(f"{treatment}: {_first_few(items, ', ')}.")
    return sentences


def shown_characters(characters: Sequence[str], most: int = MOST) -> str:
    """Return the labels of the first `most` characters for a sentence."""
    return _first_few(visible_characters(characters), " ", most)


def percent(share: float) -> str:
    """Return a share of a text in percent, with one significant digit below 10: 12%, 0.4%."""
    digits = max(0, math.ceil(-math.log10(100 * share))) if share else 0
    return f"{100 * share:.{digits}f}%"


def _first_few(words: Sequence[str], between: str, most: int = 12) -> str:
    beginning = between.join(words[:most])
    return f"{beginning}{between}…" if len(words) > most else beginning


def path_of(digest: str) -> Path:
    """Return the file of the counts with this digest, whether it is there or not."""
    return cache_folder() / "texts" / f"{digest}.json"


def load(digest: str) -> TextCounts:
    """Return the counts with this digest; `NotHere` if they are not kept on this computer."""
    try:
        status = path_of(digest).stat()
        return _load(path_of(digest), (status.st_mtime_ns, status.st_size))
    except OSError as problem:
        raise NotHere(
            f"the text {digest} must be one that was given on this computer, got one whose counts "
            "are not here"
        ) from problem
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as problem:
        raise NotHere(
            f"the counts of the text {digest} must be as they were kept, got others: give the text "
            "again"
        ) from problem


@lru_cache(maxsize=16)
def _load(path: Path, stamp: tuple[int, int]) -> TextCounts:
    """Return the counts of a file; `stamp`, its time and size, tells it from a later one."""
    content = read_regular_file(path, LARGEST)
    if digest_of(content) != path.stem:
        raise ValueError(f"the digest must be {path.stem}, got {digest_of(content)}")
    stored: dict[str, Any] = json.loads(content)
    counts = TextCounts(
        tuple(stored["characters"]),
        np.array(stored["unigram_counts"]),
        np.array(stored["bigram_counts"]),
    )
    if not _are_of_a_text(counts) or counts.content != content:
        raise ValueError("the counts must be those of a text")
    counts.unigram.flags.writeable = False
    counts.bigram.flags.writeable = False
    return counts


def _are_of_a_text(counts: TextCounts) -> bool:
    """Return whether a text can have such counts: anybody can write a file of the right name."""
    characters = counts.characters
    size = len(characters)
    if not LEAST <= size <= MOST:
        return False
    if not all(isinstance(character, str) and len(character) == 1 for character in characters):
        return False
    if list(characters) != sorted(set(characters)):
        return False
    if counts.unigram.shape != (size,) or counts.bigram.shape != (size, size):
        return False
    if counts.unigram.dtype != np.int64 or counts.bigram.dtype != np.int64:
        return False
    if (counts.unigram <= 0).any() or (counts.bigram < 0).any():
        return False
    # no character is followed, or follows, more often than it occurs
    followed = (counts.bigram.sum(1) <= counts.unigram).all()
    follows = (counts.bigram.sum(0) <= counts.unigram).all()
    return bool(followed and follows)


KIND = DocumentKind(
    title="Text, its counts",
    subject="a text",
    largest=LARGEST,
    read=read,
    describe=describe,
    path_of=path_of,
    load=load,
    plural="texts",
    are="the counts of a text are",
    this="this text",
    in_use="This text is in use.",
    away="The counts of {} are not on this computer.",
    command="count a text of yours and keep the counts; its digest is a setting",
    file=f"in UTF-8, at most {LARGEST // 2**20} MB",
    upload=f"or choose a file, UTF-8, up to {LARGEST // 2**20} MB",
    paste="Paste a text",
    instructions="How often its characters occur, and how often each follows each, becomes the "
    "task. Only these counts are kept, on this computer; the text is not.",
)
