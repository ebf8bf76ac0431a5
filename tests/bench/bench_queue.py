"""What a look at a long queue takes: 1,000 requests of 30 visitors, in a cache of its own."""

import os
import statistics
import tempfile
from collections.abc import Iterator

from icl_core import registry
from icl_core.jobs import queue
from icl_core.runs import store
from tests.bench.timing import Row, said, seconds

EXPERIMENT, WAITING, VISITORS, LOOKS = "gdssm.layer", 1000, 30, 100


def rows() -> Iterator[Row]:
    """See the head of this file."""
    before = os.environ.get("ICL_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ICL_CACHE_DIR"] = folder
        store.default.cache_clear()
        try:
            config = registry.experiment(EXPERIMENT).config
            for each in range(WAITING):
                queue.submit(
                    EXPERIMENT, config(seed=each % 100, N=5 + each // 100), visitor=f"visitor{each % VISITORS}"
                )
            waits = [seconds(queue.states) for _ in range(LOOKS + 1)][1:]  # the first reads them all
            assert len(queue.states()) == WAITING
        finally:
            os.environ.pop("ICL_CACHE_DIR") if before is None else os.environ.update(ICL_CACHE_DIR=before)
            store.default.cache_clear()
    remark = f"of {VISITORS} visitors; processor time, median of {LOOKS}, the slowest {said(max(waits))}"
    yield f"a look at {WAITING:,} runs that wait", said(statistics.median(waits)), remark
