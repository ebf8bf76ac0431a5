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
from tests.cells import shipped


def figures_of(experiment, run: Run) -> dict[str, str]:
    """The figures of a run that do not depend on a training of today's, as JSON."""
    figures = {}
    for drawing in experiment.drawings:
        if drawing.name in ("accuracy", "memories", "recall", "gap", "errors"):
            panel = drawing.draw(run, experiment.view())
            figures[drawing.name] = panel.figure.plotly().to_json() + panel.title
    return figures


def values_of(experiment, run: Run) -> dict[str, float]:
    return {metric.claim.id: metric.value for metric in experiment.metrics(run)}


def test_a_baseline_and_a_probe_of_tomorrow_change_no_run_of_today(monkeypatch):
    run = shipped("birth.induction", "fastest")
    figures = figures_of(INDUCTION, run)
    values = values_of(INDUCTION, run)
    monkeypatch.setattr(train, "BASELINES", (*train.BASELINES, "unigram"))
    monkeypatch.setitem(train.PROBES, 2, (*train.PROBES[2], "W_V2"))
    monkeypatch.setitem(curves.BASELINES, "unigram", "the most frequent character")
    monkeypatch.setitem(curves.PROBES, "W_V2", ("W_V²", "layer 4", None))
    assert figures_of(INDUCTION, run) == figures
    assert values_of(INDUCTION, run) == values


def test_a_baseline_and_a_probe_given_up_leave_runs_drawable_by_their_ids(give_up):
    run = shipped("birth.induction", "fastest")
    values = values_of(INDUCTION, run)
    give_up(curves.BASELINES, "one_layer")
    give_up(curves.PROBES, "W_K2")
    figures = figures_of(INDUCTION, run)
    assert "one_layer" in figures["accuracy"] and '"W_K2"' in figures["memories"]
    assert values_of(INDUCTION, run) == values


def test_a_construction_of_tomorrow_or_given_up_leaves_runs_of_today_drawable(monkeypatch, give_up):
    run = shipped("birth.constructed", "by hand")
    figures = figures_of(CONSTRUCTED, run)
    values = values_of(CONSTRUCTED, run)
    monkeypatch.setattr(construction, "CROSS_TALK", (*construction.CROSS_TALK, "half"))
    monkeypatch.setattr(construction, "MEMORIES", (*construction.MEMORIES, "W_F"))
    monkeypatch.setitem(sweep.STYLE, "half", ("half of it", "layer 3", "dot"))
    assert figures_of(CONSTRUCTED, run) == figures
    assert values_of(CONSTRUCTED, run) == values
    give_up(sweep.STYLE, "within")
    give_up(constructed_settings.TALK, "within")
    give_up(sweep.ERRORS, "output")
    figures = figures_of(CONSTRUCTED, run)
    assert '"within"' in figures["accuracy"] and '"output"' in figures["errors"]
    assert values_of(CONSTRUCTED, run) == values


@pytest.mark.long
@pytest.mark.parametrize("preset", ["fastest", "both", "order, paper size"])
def test_a_snapshot_read_back_achieves_what_the_curve_shows(preset):
    run = shipped("birth.induction", preset)
    assert run["snapshot/W_O2"].dtype == np.int8 and run["final/W_O2"].dtype == np.float32
    batch = held_out(task_of(run.config), WATCHED, "cpu")
    steps = [step for step in run.snapshot_steps[:-1] if step in run["curve/step"]]
    assert len(steps) >= 4
    for step in steps:
        weights = weights_at(run, run.snapshot_steps.index(step))
        accuracy = evaluate(weights, batch, positions="in_context")["accuracy"]
        expected = float(run["curve/accuracy"][0, list(run["curve/step"]).index(step)])
        assert accuracy == pytest.approx(expected, abs=0.005), step


def test_the_last_snapshot_is_the_model_itself():
    run = shipped("birth.induction", "fastest")
    assert weights_at(run, len(run.snapshot_steps) - 1).W_K2.equal(torch.tensor(run["final/W_K2"]))


def test_links_with_former_names_still_open():
    assert parse(Config, {"rate": "0.5"}).learning_rate == 0.5
    assert "rate" not in knobs_of(Config)
