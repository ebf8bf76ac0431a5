"""What visitors gave, counts of texts and matrices: kept on this computer, for their owner alone; listed, deleted."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from icl_core import own_matrices, text_counts
from icl_core.knobs import DIGEST
from icl_core.runs.disk import unwritable, write_whole

KINDS: Mapping[str, ModuleType] = {"text": text_counts, "matrices": own_matrices}  # by what a knob is `of`
_KEPT = {"text": "the counts of a text are", "matrices": "matrices are"}


@dataclass(frozen=True)
class Document:
    """One that is kept: its kind, its digest, its file, when it was given, in seconds since 1970, and its bytes."""

    of: str
    digest: str
    path: Path
    given: float
    size: int


def keep(of: str, found: Any) -> str:
    """Keep what was read of a document; its digest. Raises `OSError` with a sentence if it cannot be written."""
    path = KINDS[of].kept_at(found.digest)
    if (place := unwritable(path.parent)) is not None:
        raise OSError(f"{_KEPT[of]} kept on this computer: {place} must be a folder that can be written to")
    write_whole(path, found.content)
    return found.digest


def every() -> list[Document]:
    """All that are kept, damaged ones too, the newest first."""
    return sorted(_every(), key=lambda each: -each.given)


def _every() -> Iterator[Document]:
    for of, kind in KINDS.items():
        pattern = kind.kept_at("*")
        for path in pattern.parent.glob(pattern.name):
            with suppress(OSError):  # deleted meanwhile
                if DIGEST.fullmatch(path.stem):
                    status = path.stat()
                    yield Document(of, path.stem, path, status.st_mtime, status.st_size)


def delete(document: Document) -> None:
    """Delete it. Runs that use it are away until it is given again. Raises `OSError` if it cannot be deleted."""
    document.path.unlink(missing_ok=True)


def uses(config: Mapping[str, Any], document: Document) -> bool:
    """Whether settings, by field, ask for it."""
    return document.digest in config.values()
