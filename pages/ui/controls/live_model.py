"""The model of a run that is still training, as the last preview of its worker shows it: read once
for all who look at it."""

import time

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.jobs import job_progress

OLD = 3.0  # seconds; an older preview says its age
_LAST = "last preview"


@st.cache_resource(max_entries=8, show_spinner=False)
def _read(key: str, stamp: int) -> Run | None:
    return job_progress.read_preview(key)


def latest(key: str) -> Run | None:
    """Return the model of the run of that key as it was last seen in training; None if it was not.

    The last one stays for this visitor until the page shows the finished run, whose worker has
    deleted it.
    """
    stamp = job_progress.preview_stamp(key)
    run = _read(key, stamp) if stamp else None
    if run is not None:
        st.session_state[_LAST] = key, run
        return run
    last_key, last_run = st.session_state.get(_LAST, ("", None))
    return last_run if last_key == key else None


def where(key: str, now: float | None = None) -> str:
    """Return in words at which step the model on the stage is; empty if there is none yet.

    `now` is the time in seconds since 1970; left out, it is the present.
    """
    run = latest(key)
    if run is None:
        return ""
    step = run.snapshot_steps[-1]
    total = getattr(run.config, "steps", run.info["total"])
    stamp = job_progress.preview_stamp(key)
    age = (time.time() if now is None else now) - stamp / 1e9
    seen = f", seen {age:.0f} s ago" if stamp and age > OLD else ""
    return f"step {step:,} of {total:,}{seen}"
