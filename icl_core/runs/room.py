"""The room for runs and the room that a run takes, which are compared before it is trained."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from icl_core.contract.knobs import BadSetting
from icl_core.runs.header import Header


def size_limit(text: str, name: str = "ICL_CACHE_LIMIT") -> int:
    """Return the bytes that "2GiB", "500 MB" or "1000000" mean.

    Raises `BadSetting`, in which `name` is the setting, for any other text and for sizes that no
    disk holds.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kMGT])(i?))?B?\s*", text)
    if not match:
        raise BadSetting(f"{name} must be a size like 2GiB or a number of bytes, got {text!r:.40}")
    number, prefix, binary = match.groups()
    power = " kMGT".index(prefix) if prefix else 0
    size = float(number) * (1024 if binary else 1000) ** power
    if size >= 2**63:
        raise BadSetting(f"{name} must be less than 2^63 bytes, got {text!r:.40}")
    return int(size)


def too_large(size: int, limit: int) -> str:
    """Return why a run of at least `size` bytes can never be stored; empty if it can."""
    if size <= limit:
        return ""
    return f"a run must fit ICL_CACHE_LIMIT, {limit} bytes, got {size}; raise the limit"


def least_size(headers: Iterable[Header], config: Mapping[str, Any]) -> int:
    """Return the bytes that a run of `config` takes at least.

    This is the size of the largest run among `headers` of which no setting is greater, 0 if there
    is none.
    """
    smaller = (header for header in headers if _is_no_greater(header.config, config))
    return max(map(_file_size, smaller), default=0)


def _file_size(header: Header) -> int:
    with suppress(OSError):  # deleted meanwhile
        return header.path.stat().st_size
    return 0


def _is_no_greater(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether no number of `config` is greater than in `other` and all else is equal.

    The number of the first seed is not compared.
    """
    if config.keys() != other.keys():
        return False
    for name, value in config.items():
        if name == "seed":
            continue
        is_number = type(value) in (int, float)
        fits = value <= other[name] if is_number else value == other[name]
        if not fits:
            return False
    return True
