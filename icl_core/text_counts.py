"""What a text tells: its characters, how often each occurs and how often each follows each. No
torch.

A visitor's text becomes its counts at once; these are kept by their digest, and the text itself is
not.

<cache>/texts/<digest>.json
"""

import hashlib
import json
import math
import unicodedata
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.machine.folders import cache_folder, read_regular_file

LARGEST = 5 * 2**20  # bytes of a text
MOST, LEAST = 256, 4  # different characters
_FREQUENT = 8  # characters that are named
_CODES = 0x110000  # of Unicode
_INVISIBLE = {
    "Cc",
    "Cf",
    "Cs",
    "Co",
    "Cn",
    "Zl",
    "Zp",
}  # controls, format characters, what stands for nothing
_NAMES = {"\t": "tab", "\r": "carriage return", "\0": "null character", "\ufeff": "byte order mark"}


@dataclass(frozen=True, eq=False)
class TextCounts:
    """The counts of a text. `unigram` [N] and `bigram` [N, N] count `characters`, [i, j] how often
    j directly follows i. Of a text just read also what was left out: `invisible` characters by
    name, those beyond the most frequent, `rare`, by themselves, and how many blanks of other kinds
    count as a space."""

    characters: tuple[str, ...]
    unigram: np.ndarray
    bigram: np.ndarray
    invisible: Mapping[str, int] = field(default_factory=dict)
    rare: Mapping[str, int] = field(default_factory=dict)
    blanks: int = 0

    @property
    def length(self) -> int:
        """How many characters were counted."""
        return int(self.unigram.sum())

    def frequent(self, most: int) -> list[tuple[str, int]]:
        """The most frequent characters, each with its count."""
        order = np.argsort(-self.unigram, kind="stable")[:most]
        return [(self.characters[i], int(self.unigram[i])) for i in order]

    @cached_property
    def content(self) -> bytes:
        """The file's bytes, of which there are none others for equal counts."""
        counts = {"unigram_counts": self.unigram.tolist(), "bigram_counts": self.bigram.tolist()}
        return json.dumps({"characters": self.characters, **counts}, separators=(",", ":")).encode()

    @cached_property
    def digest(self) -> str:
        """The name by which these counts are kept."""
        return _digest(self.content)


def check_size(size: int) -> None:
    """Refuse a text of so many bytes if they are too many."""
    if size > LARGEST:
        raise BadSetting(
            f"a text must be at most {LARGEST:,} bytes ({LARGEST // 2**20} MB), got {size:,} bytes"
        )


def read(content: bytes) -> TextCounts:
    """The counts of a file, or of what was pasted. `BadSetting` says what was expected and what
    came."""
    check_size(len(content))
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise BadSetting("a text must be in UTF-8, got UTF-16: save it as UTF-8")
    try:
        return count(content.decode())
    except UnicodeDecodeError as problem:
        byte, line = content[problem.start], content.count(b"\n", 0, problem.start) + 1
        got = f"the byte 0x{byte:02X} in line {line}, which cannot stand there"
        raise BadSetting(f"a text must be in UTF-8, got {got}: save it as UTF-8") from problem


def count(text: str) -> TextCounts:
    """The counts of a text, its accents put together with their letters. `BadSetting` as `read`."""
    codes = np.frombuffer(unicodedata.normalize("NFC", text).encode("utf-32-le"), np.uint32)
    often = np.bincount(codes, minlength=_CODES)
    kinds = {chr(code): int(often[code]) for code in often.nonzero()[0]}
    unseen = {
        each: n
        for each, n in kinds.items()
        if each != "\n" and unicodedata.category(each) in _INVISIBLE
    }
    blanks = {
        each: n for each, n in kinds.items() if each != " " and unicodedata.category(each) == "Zs"
    }
    seen = {each: n for each, n in kinds.items() if each not in unseen and each not in blanks}
    if blanks:
        seen[" "] = seen.get(" ", 0) + sum(blanks.values())
    _check(seen, unseen)
    order = sorted(seen, key=lambda each: (-seen[each], each))
    kept = tuple(sorted(order[:MOST]))
    rare = {each: seen[each] for each in order[MOST:]}
    unigram, bigram = np.array([seen[each] for each in kept]), _pairs(codes, kept, rare, blanks)
    return TextCounts(kept, unigram, bigram, _named(unseen), rare, sum(blanks.values()))


def _check(seen: Mapping[str, int], unseen: Mapping[str, int]) -> None:
    if len(seen) >= LEAST:
        return
    found = f"{len(seen)}: " + " ".join(map(repr, sorted(seen)))
    got = found if seen else "none that can be seen" if unseen else "an empty one"
    raise BadSetting(f"a text must have at least {LEAST} different characters, got {got}")


def _pairs(
    codes: np.ndarray, kept: tuple[str, ...], rare: Mapping[str, int], blanks: Mapping[str, int]
) -> np.ndarray:
    """How often each follows each [N, N]. What cannot be seen is as if it were not there; a rare
    character parts."""
    index = np.full(_CODES, -1, np.int32)  # not seen
    index[[ord(each) for each in kept]] = np.arange(len(kept))
    index[[ord(each) for each in rare]] = len(kept)
    index[[ord(each) for each in blanks]] = index[ord(" ")]
    at, wide = index[codes], len(kept) + 1
    at = at[at >= 0]
    pairs = np.bincount(at[:-1].astype(np.int64) * wide + at[1:], minlength=wide**2).reshape(
        wide, wide
    )
    return pairs[:-1, :-1].copy()


def _named(unseen: Mapping[str, int]) -> dict[str, int]:
    named = {
        _NAMES.get(each, unicodedata.name(each, f"U+{ord(each):04X}").lower()): n
        for each, n in unseen.items()
    }
    return dict(sorted(named.items(), key=lambda item: -item[1]))


def describe(counts: TextCounts) -> list[str]:
    """What was found in a text, and what was left out of it: sentences for whoever gave it."""
    shares = (
        f"{shown_characters([each])} {percent(often / counts.length)}"
        for each, often in counts.frequent(_FREQUENT)
    )
    said = [
        f"{counts.length:,} characters, {len(counts.characters)} different. Most frequent: "
        f"{', '.join(shares)}."
    ]
    if counts.rare:
        share = sum(counts.rare.values()) / (counts.length + sum(counts.rare.values()))
        said.append(
            f"A vocabulary has at most {MOST} different characters, this text has "
            f"{MOST + len(counts.rare):,}. "
            f"Left out: the {len(counts.rare):,} rarest, {percent(share)} of the text: "
            f"{shown_characters(list(counts.rare), _FREQUENT)}."
        )
    if counts.invisible:
        named = [f"{name} × {often:,}" for name, often in counts.invisible.items()]
        said.append(f"Left out, as they cannot be seen: {_few(named, ', ')}.")
    if counts.blanks:
        said.append(f"Counted as a space: other blanks × {counts.blanks:,}.")
    return said


def shown_characters(characters: Sequence[str], most: int = MOST) -> str:
    """Characters in a sentence, space and newline as ␣ and ↵; the first `most` of them."""
    return _few([{" ": "␣", "\n": "↵"}.get(each, each) for each in characters], " ", most)


def percent(share: float) -> str:
    """A share of a text, with a digit that counts: 12%, 0.4%, 0.003%."""
    digits = max(0, math.ceil(-math.log10(100 * share))) if share else 0
    return f"{100 * share:.{digits}f}%"


def _few(words: Sequence[str], between: str, most: int = 12) -> str:
    return between.join(words[:most]) + (between + "…") * (len(words) > most)


def path_of(digest: str) -> Path:
    """Where the counts called `digest` lie, if they do."""
    return cache_folder() / "texts" / f"{digest}.json"


def load(digest: str) -> TextCounts:
    """The counts that are kept here; `NotHere` if they are not."""
    try:
        status = path_of(digest).stat()
        return _load(path_of(digest), (status.st_mtime_ns, status.st_size))
    except OSError as problem:
        raise NotHere(
            f"the text {digest} must be one that was given on this computer, got one whose "
            "counts are not here"
        ) from problem
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as problem:
        raise NotHere(
            f"the counts of the text {digest} must be as they were kept, got others: give the "
            "text again"
        ) from problem


@lru_cache(maxsize=16)
def _load(path: Path, stamp: tuple[int, int]) -> TextCounts:
    content = read_regular_file(path, LARGEST)
    if _digest(content) != path.stem:
        raise ValueError(f"the digest must be {path.stem}, got {_digest(content)}")
    found: dict[str, Any] = json.loads(content)
    unigram, bigram = np.array(found["unigram_counts"]), np.array(found["bigram_counts"])
    made = TextCounts(tuple(found["characters"]), unigram, bigram)
    if not _is_of_a_text(made) or made.content != content:
        raise ValueError("the counts must be those of a text")
    made.unigram.flags.writeable = made.bigram.flags.writeable = False
    return made


def _is_of_a_text(made: TextCounts) -> bool:
    """Whether a text can have such counts: what has the right name may have been written by
    anybody."""
    size = len(made.characters)
    single = all(isinstance(each, str) and len(each) == 1 for each in made.characters)
    shapes = made.unigram.shape == (size,) and made.bigram.shape == (size, size)
    if not (
        LEAST <= size <= MOST
        and single
        and list(made.characters) == sorted(set(made.characters))
        and shapes
    ):
        return False
    whole = made.unigram.dtype == made.bigram.dtype == np.int64
    return bool(whole and (made.unigram > 0).all() and (made.bigram >= 0).all() and _follows(made))


def _follows(made: TextCounts) -> bool:
    """Whether no character is followed, or follows, more often than it occurs."""
    return bool(
        (made.bigram.sum(1) <= made.unigram).all() and (made.bigram.sum(0) <= made.unigram).all()
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
