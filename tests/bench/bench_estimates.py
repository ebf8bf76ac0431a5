"""What a visitor is told that a preset takes, beside the processor time that it takes here.

Presets of the classroom; with `--all` all of them. No run that was trained here is known: the
estimates are those of a fresh installation.
"""

import os
import tempfile
from collections.abc import Iterator
from unittest.mock import patch

from icl_core import registry
from icl_core.jobs import estimate
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.request import Request
from tests.bench import timing
from tests.bench.timing import Row, in_words
from tests.recorder import Recorder

CLOSE = 1.5  # a factor


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ICL_CACHE_DIR=folder):
        store.default.cache_clear()
        try:
            estimate.know_pace()
            yield from _presets()
        finally:
            store.default().close()
            store.default.cache_clear()


def _presets() -> Iterator[Row]:
    ratios: list[float] = []
    for experiment_id in registry.experiment_ids():
        experiment = registry.experiment(experiment_id)
        for preset in experiment.presets:
            if preset.group != "Classroom" and not timing.thorough:
                continue
            estimated = estimate.estimate_seconds(Request(experiment_id, preset.config))
            if estimated is None:
                yield f"{experiment_id}, {preset.title}", "unknown", "its seconds are not shipped"
                continue
            estimated -= estimate.FIGURES
            device.set_threads(1)
            start = device.clock()
            experiment.run(preset.config, Recorder())
            seconds = device.clock() - start
            ratios.append(estimated / seconds)
            what = f"{experiment_id}, {preset.title}"
            remark = f"estimated {in_words(estimated)}, took {in_words(seconds)}"
            yield what, f"{estimated / seconds:.2f} ×", remark
    if not ratios:
        return
    close = sum(1 / CLOSE <= ratio <= CLOSE for ratio in ratios)
    yield (
        f"estimates within a factor of {CLOSE}",
        f"{close} of {len(ratios)}",
        f"from {min(ratios):.2f} to {max(ratios):.2f} times the processor time",
    )
