"""The beginning of a GGUF file: its metadata by name and its list of tensors. No number of a tensor
is read. The package `gguf` would make an object of every item of every list: for 49,000 tokens that
takes seconds, and a file of 200 MB could list a hundred million.

    "GGUF", version (4 bytes), number of tensors (8), number of entries (8)
    an entry:  name, type (4), value; a list: 9, type (4), number of items (8), the items
    a tensor:  name, number of dimensions (4), each from the last (8), type (4), offset (8)
    a text:    its length (8), UTF-8
    then, from the next multiple of `general.alignment` on, the tensors' numbers
"""

import mmap
import struct
from pathlib import Path
from typing import Any, NamedTuple

from icl_core.papers.birth.pretrained.readers.checks import BadModel

BEGINNING = 24  # bytes before the first entry
VERSIONS = (2, 3)
COUNT = 10_000  # tensors, and entries
TEXTS = 32 * 2**20  # bytes of all texts together
ITEMS = 1_000_000  # of all lists together: tokens, their kinds and scores, and the pairs to merge
DIMENSIONS = 4
ALIGNMENT = 32
# numbers and switches by the format's number for their type
NUMBERS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
TEXT = 8
LIST = 9


class Stored(NamedTuple):
    """A tensor in the file: its name, its shape, the format's number for how its numbers are
    stored, and the byte from which on they are."""

    name: str
    shape: tuple[int, ...]
    kind: int
    at: int


class Header(NamedTuple):
    """The metadata by name, a number, text or list each, and the tensors in their order."""

    entries: dict[str, Any]
    tensors: list[Stored]


def read(path: Path) -> Header:
    """Return the header of a file. Raises `BadModel` unless it begins as GGUF of version 2 or 3
    does, with lists within bounds that do not leave the file."""
    if path.stat().st_size < BEGINNING:
        raise BadModel(f"{path.name} must begin with GGUF, got {path.stat().st_size} bytes")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        beginning, version, tensors, entries = struct.unpack_from("<4sIQQ", content)
        if beginning != b"GGUF":
            raise BadModel(f"{path.name} must begin with GGUF, got {beginning!r}")
        if version not in VERSIONS or max(tensors, entries) > COUNT:
            raise BadModel(
                f"{path.name} must be GGUF of version 2 or 3 with at most {COUNT} tensors, got "
                f"version {version}, or it is damaged"
            )
        try:
            return _Cursor(content).header(entries, tensors)
        except (struct.error, OverflowError, UnicodeDecodeError) as problem:
            raise BadModel(f"{path.name} is cut off or damaged: its lists leave it") from problem
        except BadModel as problem:
            raise BadModel(f"{path.name} is damaged: {problem}") from problem


class _Cursor:
    """A place in the file, which moves on with all that is read. Its methods raise `struct.error`
    or `OverflowError` beyond the end, and `BadModel` for what is unknown or too much."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = BEGINNING
        self._items = 0
        self._bytes = 0

    def header(self, entries: int, tensors: int) -> Header:
        """Return the header from here on."""
        by_name: dict[str, Any] = {}
        for _ in range(entries):
            name = self._text().decode()
            if name in by_name:
                raise BadModel(f"the entry {name[:80]} stands twice")
            by_name[name] = self._entry()
        listed = [self._tensor() for _ in range(tensors)]
        alignment = by_name.get("general.alignment", ALIGNMENT)
        if type(alignment) is not int or alignment not in [2**power for power in range(16)]:
            raise BadModel(f"general.alignment must be a power of two, got {alignment!r:.20}")
        first = -(-self._at // alignment) * alignment
        return Header(by_name, [each._replace(at=first + each.at) for each in listed])

    def _entry(self) -> Any:
        """Return the value of an entry. A text that is no UTF-8 is None, as in lists."""
        (kind,) = self._numbers("I")
        if kind == TEXT:
            return _decoded(self._text())
        if kind in NUMBERS:
            return self._numbers(NUMBERS[kind])[0]
        if kind != LIST:
            raise BadModel(f"there is no type {kind} of entries")
        kind, count = self._numbers("IQ")
        self._items += count
        if self._items > ITEMS:
            raise BadModel(f"its lists may have {ITEMS:,} items together, got {self._items:,}")
        if kind == TEXT:
            return [_decoded(self._text()) for _ in range(count)]
        if kind in NUMBERS:
            return list(self._numbers(f"{count}{NUMBERS[kind]}"))
        raise BadModel(f"there are no lists of type {kind}")

    def _tensor(self) -> Stored:
        """Return a tensor, with its place after the list's end."""
        name = self._text().decode()
        (count,) = self._numbers("I")
        if not 1 <= count <= DIMENSIONS:
            raise BadModel(f"{name[:80]} may have 1 to {DIMENSIONS} dimensions, got {count}")
        dimensions = self._numbers(f"{count}Q")
        kind, offset = self._numbers("IQ")
        return Stored(name, dimensions[::-1], kind, offset)

    def _text(self) -> bytes:
        (length,) = self._numbers("Q")
        self._bytes += length
        if self._bytes > TEXTS:
            raise BadModel(
                f"its texts may have {TEXTS:,} bytes together, got {self._bytes:,} or more"
            )
        return self._numbers(f"{length}s")[0]

    def _numbers(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._content, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values


def _decoded(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None
