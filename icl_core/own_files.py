"""What is brought to the command line, checked and kept."""

from pathlib import Path

from icl_core.knobs import BadSetting
from icl_core.runs import documents


def keep(of: str, path: Path) -> list[str]:
    """Keep what is in a file, a "text" or "matrices": what it holds, and the setting that names it, in sentences.

    Raises `BadSetting` for a file that cannot be read or is none of its kind, and where it may not be kept.
    """
    kind = documents.KINDS[of]
    if "\0" in str(path):  # of which Python says no more than that it is a bad value
        raise BadSetting(f"FILE must be the name of a file, got {str(path)!r:.200}")
    try:
        kind.check_size(path.stat().st_size)
        with path.open("rb") as file:
            found = kind.read(file.read(kind.LARGEST + 1))
        digest = documents.keep(of, found)
    except OSError as problem:
        raise BadSetting(
            f"FILE must be a file that can be read, and what is in it kept, got {problem!s:.200}"
        ) from problem
    return [*kind.told(found), f"--set {of}={digest}"]
