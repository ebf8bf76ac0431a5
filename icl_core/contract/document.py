"""What a kind of document is: something that a visitor gives as a setting, such as a text.

A paper names its kinds in `Paper.documents`, each with the module that ends in
`KIND = DocumentKind(...)`. The document itself stays on this computer; a setting holds its digest.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_core.contract.knobs import BadSetting


@dataclass(frozen=True)
class SizeLimit:
    """How large a file may be: `subject` "a text" must be at most `largest` bytes."""

    subject: str
    largest: int

    def check(self, size: int) -> None:
        """Raise `BadSetting` if a file of `size` bytes is too large, before it is read."""
        if size > self.largest:
            whole = f" ({self.largest // 2**20} MB)" if self.largest >= 2**20 else ""
            raise BadSetting(
                f"{self.subject} must be at most {self.largest:,} bytes{whole}, got {size:,} bytes"
            )


@dataclass(frozen=True, kw_only=True)
class DocumentKind:
    """How documents of one kind are read and kept, and what they are called.

    A document that was read has two attributes: `content`, the bytes that are kept, equal for equal
    documents; and `digest`, the 16 hexadecimal digits that name these bytes.

    largest      bytes of a file at most
    most         how many are kept at most: the oldest makes room for another; 0 for any number
    read         the bytes of a file to a document; `BadSetting` says what was wrong with them
    describe     a document in sentences, for whoever gave it
    path_of      the file of the document with a digest, in the kind's own folder within
                 `cache_folder()`; with "*" for the digest, the pattern of all
    load         the document with a digest; `NotHere` if it is not on this computer, or not whole

    The words, each as it stands in its sentence:

    title        in a list: "Matrices"
    subject      of a refusal: "a text" must be at most 5 MB
    plural       "texts", which may take so much of the disk
    are          "matrices are" not kept: the disk is full
    this         use "these matrices"
    in_use       "These matrices are in use."
    away         "The matrices {} are not on this computer.", with the digest for the braces
    command      what the command of the kind's name does
    file         what the command's FILE must be: "at most 64 MB"
    upload       the label of the upload
    paste        the label of a field to paste it into; empty if it cannot be pasted
    instructions under the upload: what it must be, and what becomes of it
    """

    largest: int
    read: Callable[[bytes], Any]
    describe: Callable[[Any], list[str]]
    path_of: Callable[[str], Path]
    load: Callable[[str], Any]
    title: str
    subject: str
    plural: str
    are: str
    this: str
    in_use: str
    away: str
    command: str
    file: str
    upload: str
    instructions: str
    paste: str = ""
    most: int = 0

    def check_size(self, size: int) -> None:
        """Raise `BadSetting` if a file of `size` bytes is too large, before it is read."""
        SizeLimit(self.subject, self.largest).check(size)


def digest_of(content: bytes) -> str:
    """Return the digest that names a document's content: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]
