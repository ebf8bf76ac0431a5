"""How much room there is for runs, and how much one takes: asked before it is trained, so that none
is lost."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from icl_core.contract.knobs import BadSetting
from icl_core.runs.header import Header


def size_limit(text: str, name: str = "ICL_CACHE_LIMIT") -> int:
    """Bytes from "2GiB", "500 MB" or "1000000"; `BadSetting` for anything else, and for what no
    disk holds."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kMGT])(i?))?B?\s*", text)
    if not match:
        raise BadSetting(f"{name} must be a size like 2GiB or a number of bytes, got {text!r:.40}")
    number, prefix, binary = match.groups()
    size = float(number) * (1024 if binary else 1000) ** (" kMGT".index(prefix) if prefix else 0)
    if size >= 2**63:
        raise BadSetting(f"{name} must be less than 2^63 bytes, got {text!r:.40}")
    return int(size)


def too_large(size: int, limit: int) -> str:
    """Why a run of `size` bytes or more can never be kept; empty if it can."""
    return (
        f"a run must fit ICL_CACHE_LIMIT, {limit} bytes, got {size}; raise the limit"
        if size > limit
        else ""
    )


def least_size(headers: Iterable[Header], config: Mapping[str, Any]) -> int:
    """Bytes that a run of `config` takes at least: those of the largest run among `headers` that is
    greater in nothing.

    0 if there is none.
    """
    return max(
        (_size(header) for header in headers if _no_greater(header.config, config)), default=0
    )


def _size(header: Header) -> int:
    with suppress(OSError):
        return header.path.stat().st_size
    return 0


def _no_greater(config: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    """Whether no number of `config` is greater and nothing else differs. The first seed's number
    decides nothing."""
    return config.keys() == than.keys() and all(
        value <= than[name] if type(value) in (int, float) else value == than[name]
        for name, value in config.items()
        if name != "seed"
    )
