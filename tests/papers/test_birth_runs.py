"""What a run holds: its own names, and snapshots that can be looked at."""

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import knobs_of
from icl_core.contract.settings_io import parse
from icl_core.papers.birth.constructed import EXPERIMENT as CONSTRUCTED
from icl_core.papers.birth.constructed import run as construction
from icl_core.papers.birth.constructed import settings as constructed_settings
from icl_core.papers.birth.constructed.draw import sweep
from icl_core.papers.birth.induction import EXPERIMENT as INDUCTION
from icl_core.papers.birth.induction import train
from icl_core.papers.birth.induction.draw import curves
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import Config
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.train import WATCHED, held_out, task_of
from icl_core.runs import store


def shipped(experiment_id: str, preset: str) -> Run:
    header = store.default().preset(experiment_id, preset)
    assert header is not None
    run = store.default().load(header)
    assert run is not None
    return run


def drawn(experiment, run: Run) -> dict[str, str]:
    """The figures of a run that do not depend on a training of today's, as JSON."""
    names = ("accuracy", "memories", "recall", "gap", "errors")
    found = {
        drawing.name: drawing.draw(run, experiment.view())
        for drawing in experiment.drawings
        if drawing.name in names
    }
    return {name: panel.figure.plotly().to_json() + panel.title for name, panel in found.items()}


def measured(experiment, run: Run) -> dict[str, float]:
    return {metric.claim.id: metric.value for metric in experiment.metrics(run)}


def test_a_baseline_and_a_probe_of_tomorrow_change_no_run_of_today(monkeypatch):
    run = shipped("birth.induction", "fastest")
    figures, values = drawn(INDUCTION, run), measured(INDUCTION, run)
    monkeypatch.setattr(train, "BASELINES", (*train.BASELINES, "unigram"))
    monkeypatch.setitem(train.PROBES, 2, (*train.PROBES[2], "W_V2"))
    monkeypatch.setitem(curves.BASELINES, "unigram", "the most frequent character")
    monkeypatch.setitem(curves.PROBES, "W_V2", ("W_V²", "layer 4", None))
    assert drawn(INDUCTION, run) == figures and measured(INDUCTION, run) == values


def test_a_baseline_and_a_probe_given_up_leave_runs_drawable_by_their_ids(give_up):
    run = shipped("birth.induction", "fastest")
    values = measured(INDUCTION, run)
    give_up(curves.BASELINES, "one_layer")
    give_up(curves.PROBES, "W_K2")
    found = drawn(INDUCTION, run)
    assert "one_layer" in found["accuracy"] and '"W_K2"' in found["memories"]
    assert measured(INDUCTION, run) == values


def test_a_construction_of_tomorrow_or_given_up_leaves_runs_of_today_drawable(monkeypatch, give_up):
    run = shipped("birth.constructed", "by hand")
    figures, values = drawn(CONSTRUCTED, run), measured(CONSTRUCTED, run)
    monkeypatch.setattr(construction, "CROSS_TALK", (*construction.CROSS_TALK, "half"))
    monkeypatch.setattr(construction, "MEMORIES", (*construction.MEMORIES, "W_F"))
    monkeypatch.setitem(sweep.STYLE, "half", ("half of it", "layer 3", "dot"))
    assert drawn(CONSTRUCTED, run) == figures and measured(CONSTRUCTED, run) == values
    give_up(sweep.STYLE, "within")
    give_up(constructed_settings.TALK, "within")
    give_up(sweep.ERRORS, "output")
    found = drawn(CONSTRUCTED, run)
    assert '"within"' in found["accuracy"] and '"output"' in found["errors"]
    assert measured(CONSTRUCTED, run) == values


@pytest.mark.parametrize("preset", ["fastest", "both", "order, paper size"])
def test_a_snapshot_read_back_achieves_what_the_curve_shows(preset):
    run = shipped("birth.induction", preset)
    assert run["snapshot/W_O2"].dtype == np.int8 and run["final/W_O2"].dtype == np.float32
    batch = held_out(task_of(run.config), WATCHED, "cpu")
    compared = [step for step in run.snapshot_steps[:-1] if step in run["curve/step"]]
    assert len(compared) >= 4
    for step in compared:
        weights = weights_at(run, run.snapshot_steps.index(step))
        found = evaluate(weights, batch, positions="in_context")["accuracy"]
        expected = float(run["curve/accuracy"][0, list(run["curve/step"]).index(step)])
        assert found == pytest.approx(expected, abs=0.005), step


def test_the_last_snapshot_is_the_model_itself():
    run = shipped("birth.induction", "fastest")
    assert weights_at(run, len(run.snapshot_steps) - 1).W_K2.equal(torch.tensor(run["final/W_K2"]))


def test_links_with_former_names_still_open():
    assert parse(Config, {"rate": "0.5"}).learning_rate == 0.5
    assert "rate" not in knobs_of(Config)
