"""Keeping visitors' own matrices: on this computer, for their owner alone."""

from icl_core.own_matrices import Matrices, kept_at
from icl_core.runs.disk import unwritable, write_whole


def keep(found: Matrices) -> str:
    """Keep the matrices; their digest. Raises `OSError` with a sentence if they cannot be written."""
    path = kept_at(found.digest)
    if (place := unwritable(path.parent)) is not None:
        raise OSError(f"matrices are kept on this computer: {place} must be a folder that can be written to")
    write_whole(path, found.content)
    return found.digest
