"""What a page says of a job, from its request to its end."""

import math

import pytest

from icl_core.jobs import queue
from icl_core.jobs.queue import JobState
from pages.ui.controls.training import describe


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"status": "queued", "position": 1}, "Starting"),
        ({"status": "queued", "position": 3}, "Number 3 in the queue"),
        ({"status": "running"}, "Starting"),  # the worker has it and has not reported yet
        (
            {"status": "running", "step": 2, "total": 8, "loss": 0.5},
            "Training: step 2 of 8 · loss 0.5",
        ),
        ({"status": "running", "step": 2, "total": 8, "loss": math.nan}, "Training: step 2 of 8"),
        (
            {
                "status": "running",
                "step": 7,
                "total": 8,
                "phase": "seed 2 of 2",
                "phase_step": 3,
                "phase_steps": 4,
            },
            "Seed 2 of 2: step 3 of 4",
        ),
        ({"status": "running", "step": 8, "total": 8, "phase": "evaluating"}, "Evaluating"),
        ({"status": "cancelling", "step": 2, "total": 8}, "Cancelling"),
        (
            {"status": "interrupted", "step": 2},
            "Interrupted at step 2; it will go on from its last checkpoint in a moment",
        ),
    ],
)
def test_a_job_is_told_in_one_line(state: dict, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "states", list)  # nothing else is running
    assert describe(JobState("key", "toy.walk", {}, **state)) == line
