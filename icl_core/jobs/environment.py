"""The environment variables that decide what a training makes of its settings, or whether its run
can be made and kept.

A request carries those of whoever made it, and only a worker with the same ones trains it: its run
must not depend on whose worker happens to be there. Called by the queue, by workers and by
`remote_worker`.
"""

import os
from collections.abc import Mapping
from typing import Any

from icl_core.machine import device

PLACES = ("ICL_ARTIFACTS", "ICL_PAPERS")  # folders of shipped runs, and of more papers
COMPUTING = ("ICL_COMPILE", "ICL_PRECISION")  # of a request, also where another machine trains it
NAMES = ("ICL_CACHE_LIMIT", "ICL_DEVICE", *COMPUTING, *PLACES)

Environment = dict[str, str]  # those of NAMES that are set, and not to nothing


def current() -> Environment:
    """Return the variables of this process."""
    return {name: os.environ[name] for name in NAMES if os.environ.get(name)}


def check() -> None:
    """Raise `BadSetting` if this process names a device or a precision that there is not: the
    requester is told, and not their worker."""
    device.is_gpu()
    device.wanted_precision()


def of_request(value: Any) -> Environment:
    """Return the variables that a stored request carries; what is none of them is left out, as
    processes are started with these."""
    if not isinstance(value, Mapping):
        return {}
    return {name: value[name] for name in NAMES if isinstance(value.get(name), str)}


def can_start(variables: Environment) -> bool:
    """Return whether this process may start a worker with these variables: only if it has the same
    PLACES, as papers are code, and none is run because a file names it."""
    return all(variables.get(name) == current().get(name) for name in PLACES)
