"""Faults injected once: two kinds, and in a long test every kind. Fifty of each, by a chance of its
own each time, are `pytest -m by_hand`, or `python -m tests.faults`."""

import subprocess
import sys

import pytest
from house import ROOT

NAMES = sorted(
    path.stem.removeprefix("fault_") for path in (ROOT / "tests" / "faults").glob("fault_*.py")
)


def inject(*more: str) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.faults", *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr


def test_nothing_is_lost_where_workers_are_killed_and_files_damaged():
    inject("--times", "1", "killed", "files")


@pytest.mark.long
def test_nothing_is_lost_whatever_happens():
    """One process for all, of its own: it forks, and imports once."""
    inject("--times", "1", "--seed", "3711464")  # which once found a worker that hangs


@pytest.mark.by_hand
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_lost_in_fifty_cases(name):
    inject("--times", "50", name)
