"""A cache whose limit is a size in bytes; the least recently used entries are dropped first.

Streamlit's caches count entries, but runs and films differ a thousandfold in size, and the visitors
of a class look at many at once.
"""

from collections.abc import Callable
from threading import Condition
from typing import Any, TypeVar

from cachetools import LRUCache, cached

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
