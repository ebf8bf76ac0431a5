"""One language model in memory at a time, shared by everyone who types a text, and freed after ten
idle minutes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from icl_core.contract.knobs import BadSetting
from icl_core.machine import malloc
from icl_core.papers.birth.pretrained.readers.model import Reader
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.pretrained.sources import open_model

IDLE = 600.0  # seconds without a text, after which the model is freed
PATIENCE = 10.0  # seconds for which a visitor waits for another: to open a model takes most of them


class Busy(BadSetting):
    """The model reads another text."""


class Resident:
    """The model of this process, one at a time.

    open_model  takes a config's key and returns the model with its tokens
    idle        seconds after which an unused model is freed
    patience    seconds for which `borrow` waits for another visitor
    """

    def __init__(
        self,
        open_model: Callable[[str], tuple[Reader, Tokens]],
        idle: float = IDLE,
        patience: float = PATIENCE,
    ) -> None:
        self._open = open_model
        self._idle = idle
        self._patience = patience
        self._lock = threading.Lock()
        self._key = ""
        self._held: tuple[Reader, Tokens] | None = None
        self._timer: threading.Timer | None = None
        self._last_used = 0.0

    @contextmanager
    def borrow(self, key: str) -> Iterator[tuple[Reader, Tokens]]:
        """Give the model of a config's key, for one visitor at a time; another model is freed
        first. Raises `Busy` while another visitor has it, and `BadModel` if it cannot be opened."""
        if not self._lock.acquire(timeout=self._patience):
            raise Busy("another visitor opens the model or has a text read: try again in a moment")
        try:
            if self._timer is not None:
                self._timer.cancel()
            if self._held is None or self._key != key:
                self._drop()  # before the other one is read: both would need the memory of two
                self._held = self._open(key)
                self._key = key
            yield self._held
        finally:
            self._last_used = time.monotonic()
            self._timer = threading.Timer(self._idle, self.free_if_idle)
            self._timer.daemon = True
            self._timer.start()
            self._lock.release()

    def free_if_idle(self) -> None:
        """Free the model if nobody has used it for the idle time."""
        with self._lock:
            if time.monotonic() - self._last_used >= self._idle:
                self._drop()

    @property
    def key(self) -> str:
        """The key of the model in memory; empty if there is none."""
        return self._key

    def _drop(self) -> None:
        if self._held is not None:
            self._held = None
            self._key = ""
            malloc.trim()


RESIDENT = Resident(open_model)
