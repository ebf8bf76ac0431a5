"""Keeps what somebody brings from a file: the counts of a text, matrices of a model."""

from pathlib import Path

from icl_core import own_matrices, text_counts
from icl_core.knobs import BadSetting
from icl_core.runs import matrices, texts


def keep_text(path: Path) -> list[str]:
    """Count the text of a file and keep the counts: what is said of it, and the setting that asks for it. Raises
    `BadSetting` for a file that is none."""
    try:
        text_counts.check_size(path.stat().st_size)
        with path.open("rb") as file:
            counts = text_counts.read(file.read(text_counts.LARGEST + 1))
        digest = texts.keep(counts)
    except OSError as problem:
        raise BadSetting(f"FILE must be a text that can be read, and its counts kept, got {problem}") from problem
    return [*text_counts.told(counts), f"--set text={digest} N={len(counts.characters)}"]


def keep_matrices(path: Path) -> list[str]:
    """Check the matrices of a file and keep them: what is said of them, and the setting that asks for them. Raises
    `BadSetting` for a file that is none."""
    try:
        own_matrices.check_size(path.stat().st_size)
        with path.open("rb") as file:
            found = own_matrices.read(file.read(own_matrices.LARGEST + 1))
        digest = matrices.keep(found)
    except OSError as problem:
        raise BadSetting(f"FILE must be a file that can be read, and its matrices kept, got {problem}") from problem
    fields = " ".join(f"{name}={value}" for name, value in found.fields.items())
    return [*own_matrices.told(found), f"--set matrices={digest} {fields}"]
