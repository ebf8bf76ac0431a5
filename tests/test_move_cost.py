"""What a move of a knob costs: nothing where a run exists, else the estimate of the dearer move."""

import pytest
from house import TOY

from icl_core import registry
from icl_core.jobs import estimate
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import device
from icl_core.runs.request import Request

pytestmark = pytest.mark.usefixtures("runs")

CONFIG = registry.experiment(TOY).config


def keep(runs, **values):
    runs.save(TOY, CONFIG(**values), {}, {"seconds": 1.0, "device": device.describe()})


def test_the_values_of_one_knob_are_ready_where_all_others_agree(runs):
    keep(runs, d=4)
    keep(runs, d=16, seeds=3)
    keep(runs, d=32, rate=0.2)
    ready = estimate.ready_values(Request(TOY, CONFIG(d=8)))
    assert ready["d"] == [4] and ready["rate"] == [] and ready["seeds"] == []
    assert estimate.ready_values(Request(TOY, CONFIG(d=16)))["seeds"] == [1, 2, 3]


def test_a_move_costs_nothing_to_a_run_and_else_the_dearer_estimate(runs):
    keep(runs, d=4)
    base = CONFIG(d=8)
    seconds = estimate.seconds_of_moves(
        Request(TOY, base), {"d": [4, 16], "steps": [600], "rate": []}
    )
    assert seconds["rate"] == 0.0
    assert seconds["d"] == estimate_seconds(Request(TOY, CONFIG(d=16)))
    assert seconds["steps"] == estimate_seconds(Request(TOY, CONFIG(d=8, steps=600)))
    assert estimate.seconds_of_moves(Request(TOY, base), {"d": [4]}) == {"d": 0.0}
    assert estimate.seconds_of_moves(Request(TOY, base), {"d": [65]}) == {
        "d": 0.0
    }  # refused: no move


def test_an_unknown_time_stays_unknown():
    assert estimate.seconds_of_moves(Request(TOY, CONFIG()), {"d": [4, 16]}) == {"d": None}
