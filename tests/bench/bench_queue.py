"""What a look at a long queue takes: 1,000 requests of 30 visitors, in a cache of its own."""

import os
import statistics
import tempfile
from collections.abc import Iterator
from unittest.mock import patch

from icl_core import registry
from icl_core.jobs import queue
from icl_core.runs import store
from icl_core.runs.request import Request
from tests.bench.timing import Row, in_words, seconds

EXPERIMENT = "gdssm.layer"
WAITING = 1000
VISITORS = 30
LOOKS = 100


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ICL_CACHE_DIR=folder):
        store.default.cache_clear()
        config = registry.experiment(EXPERIMENT).config
        for index in range(WAITING):
            setting = config(seed=index % 100, N=5 + index // 100)
            queue.submit(Request(EXPERIMENT, setting), visitor=f"visitor{index % VISITORS}")
        waits = [seconds(queue.states) for _ in range(LOOKS + 1)][1:]  # the first reads them all
        assert len(queue.states()) == WAITING
        store.default().close()
        store.default.cache_clear()
    slowest = in_words(max(waits))
    remark = f"of {VISITORS} visitors; processor time, median of {LOOKS}, the slowest {slowest}"
    yield f"a look at {WAITING:,} runs that wait", in_words(statistics.median(waits)), remark
