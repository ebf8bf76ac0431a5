"""Runs in memory, kept for all visitors."""

from contextlib import suppress

from icl_core.contract.run import Run
from icl_core.runs import store
from icl_core.runs.header import Header
from pages.ui.look.sized_cache import keep_by_size

RUN_BYTES = 128 * 2**20  # of the tensors of the runs that are kept


def load(header: Header) -> Run | None:
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
