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
from tests.bench.timing import Row, said, seconds

EXPERIMENT, WAITING, VISITORS, LOOKS = "gdssm.layer", 1000, 30, 100


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ICL_CACHE_DIR=folder):
        store.default.cache_clear()
        config = registry.experiment(EXPERIMENT).config
        for each in range(WAITING):
            setting = config(seed=each % 100, N=5 + each // 100)
            queue.submit(Request(EXPERIMENT, setting), visitor=f"visitor{each % VISITORS}")
        waits = [seconds(queue.states) for _ in range(LOOKS + 1)][1:]  # the first reads them all
        assert len(queue.states()) == WAITING
        store.default().close()
        store.default.cache_clear()
    remark = (
        f"of {VISITORS} visitors; processor time, median of {LOOKS}, the slowest {said(max(waits))}"
    )
    yield f"a look at {WAITING:,} runs that wait", said(statistics.median(waits)), remark
