"""What a kind of document is: something that a visitor gives as a setting, such as a text.

A paper names its kinds in `Paper.documents`, each with the module that ends in
`KIND = DocumentKind(...)`. The document itself stays on this computer; a setting holds its digest.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class DocumentKind:
    """How documents of one kind are read and kept, and what they are called.

    A document that was read has two attributes: `content`, the bytes that are kept, equal for equal
    documents; and `digest`, the 16 hexadecimal digits that name these bytes.

    largest      bytes of a file at most
    check_size   refuses a file of so many bytes with `BadSetting`, before it is read
    read         the bytes of a file to a document; `BadSetting` says what was wrong with them
    describe     a document in sentences, for whoever gave it
    path_of      the file of the document with a digest, in the kind's own folder within
                 `cache_folder()`; with "*" for the digest, the pattern of all
    load         the document with a digest; `NotHere` if it is not on this computer, or not whole

    The words, each as it stands in its sentence:

    title        in a list: "Matrices"
    plural       "texts", which may take so much of the disk
    are          "matrices are" kept on this computer
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
    check_size: Callable[[int], None]
    read: Callable[[bytes], Any]
    describe: Callable[[Any], list[str]]
    path_of: Callable[[str], Path]
    load: Callable[[str], Any]
    title: str
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


def digest_of(content: bytes) -> str:
    """Return the digest that names a document's content: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]
