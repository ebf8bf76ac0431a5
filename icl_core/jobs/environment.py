"""The environment variables that decide what a training makes of its settings, or whether its run
can be kept.

A request carries those of whoever made it, and only a worker with the same ones trains it: its run
must not depend on whose worker happens to be there. Called by the queue, by workers and by
`remote_worker`.
"""

import os
from collections.abc import Mapping
from typing import Any

NAMES = ("ICL_CACHE_LIMIT", "ICL_COMPILE", "ICL_DEVICE", "ICL_PRECISION")

Environment = dict[str, str]  # those of NAMES that are set, and not to nothing


def current() -> Environment:
    """Return the variables of this process."""
    return {name: os.environ[name] for name in NAMES if os.environ.get(name)}


def check() -> None:
    """Raise `BadSetting` if this process names a device or a precision that there is not: the
    requester is told, and not their worker."""
    from icl_core.machine import device  # imports torch

    device.current_device()
    device.precision()


def of_request(value: Any) -> Environment:
    """Return the variables that a stored request carries; what is none of them is left out, as
    processes are started with these."""
    if not isinstance(value, Mapping):
        return {}
    return {name: value[name] for name in NAMES if isinstance(value.get(name), str)}
