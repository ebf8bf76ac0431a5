"""What is kept in memory for all visitors: caches whose limit is a size in bytes, of which the
least recently used entries are dropped first; and loaded runs.

Streamlit's caches count entries, but runs and films differ a thousandfold in size, and the visitors
of a class look at many at once.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Condition
from typing import Any, TypeVar

from cachetools import LRUCache, cached

from icl_core.contract.run import Run
from icl_core.runs import store
from icl_core.runs.header import Header

RUN_BYTES = 128 * 2**20  # of the tensors of the runs that are kept
T = TypeVar("T")


def keep_by_size(limit: int, size: Callable[[Any], int]) -> Callable[[Callable[..., T]], Any]:
    """Return a decorator that caches a function's results by its first argument, for all visitors,
    up to `limit` bytes as `size` counts them.

    The first argument must name all that the result depends on. Concurrent callers share one
    computation; exceptions are not cached.
    """

    def decorate(function: Callable[..., T]) -> Any:
        cache = LRUCache(limit, getsizeof=size)
        return cached(cache, key=lambda name, *_: name, condition=Condition())(function)

    return decorate


def load_run(header: Header) -> Run | None:
    """Return a run; None if its file is damaged or gone.

    A failure is not cached: trained again, the run has the same digest.
    """
    with suppress(LookupError):
        return _cached_run(header.digest, header)
    return None


@keep_by_size(RUN_BYTES, lambda run: sum(array.nbytes for array in run.tensors.values()))
def _cached_run(digest: str, header: Header) -> Run:
    run = store.default().load(header)
    if run is None:
        raise LookupError(f"the run {header.key} is damaged or gone")
    return run
