"""Keeping what visitors' own texts tell: counts alone, on this computer, for their owner alone."""

from icl_core.runs.disk import unwritable, write_whole
from icl_core.text_counts import TextCounts, kept_at


def keep(counts: TextCounts) -> str:
    """Keep the counts; their digest. Raises `OSError` with a sentence if they cannot be written."""
    path = kept_at(counts.digest)
    if (place := unwritable(path.parent)) is not None:
        raise OSError(
            f"the counts of a text are kept on this computer: {place} must be a folder that can be written to"
        )
    write_whole(path, counts.content)
    return counts.digest
