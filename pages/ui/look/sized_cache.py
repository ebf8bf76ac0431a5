"""What is computed once for all visitors, and kept as far as memory allows: the least used goes
first.

Streamlit's caches count entries; runs and films differ a thousandfold in size, and a class looks at
many at once.
"""

from collections.abc import Callable
from threading import Condition
from typing import Any, TypeVar

from cachetools import LRUCache, cached

T = TypeVar("T")


def keep_by_size(limit: int, size: Callable[[Any], int]) -> Callable[[Callable[..., T]], Any]:
    """Keep what a function gives by its first argument, which names all that it depends on, up to
    `limit` bytes as `size` counts them. Who asks for what is being made waits for it; what raises
    is not kept."""

    def decorate(function: Callable[..., T]) -> Any:
        cache = LRUCache(limit, getsizeof=size)
        return cached(cache, key=lambda name, *_: name, condition=Condition())(function)

    return decorate
