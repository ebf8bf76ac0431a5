"""What is stored stays true: baselines of another day, snapshots."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run, names
from icl_core.papers.memformers.convergence.settings import Config as Convergence
from icl_core.papers.memformers.methods.draw import depth
from icl_core.papers.memformers.methods.settings import Config
from icl_core.papers.memformers.mixture.draw import mixed_prompts
from icl_core.papers.memformers.mixture.settings import Config as Mixture
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.load_run import covariance_of
from icl_core.papers.memformers.variances import draw as variances_draw
from icl_core.papers.memformers.variances.settings import Config as Variances
from icl_core.runs import store
from tests.recorder import Recorder

SMALL = {
    "methods": Config(steps=20, layers=2, batch=50, variant="shared", beside="all"),
    "convergence": Convergence(steps=20, batch=50),
    "variances": Variances(
        layers=2, steps=20, gate_steps=10, gate_prompts=20, unseen="0.5", variances="1, 2"
    ),
    "mixture": Mixture(layers=2, steps=20, gate_steps=10, gate_prompts=20, batch=20, n=6),
}
# the tables from which labels and styles come: what another day's code has more, or less, of
TABLES = {
    "methods": ((depth, "METHODS", "pcg"), (losses, "LABELS", "cgd")),
    "variances": ((variances_draw, "METHODS", "scalar"), (variances_draw, "SHORT", "ones")),
    "mixture": (
        (mixed_prompts, "METHODS", "linear/scalar"),
        (mixed_prompts, "KINDS", "lfom"),
        (mixed_prompts, "CATEGORIES", "even"),
        (mixed_prompts, "SHORT", "lfom/gated"),
    ),
}


@pytest.fixture(scope="module", params=list(SMALL))
def made(request):
    """An experiment's name, the experiment, and a small run of it."""
    with pytest.MonkeyPatch.context() as few:
        for name in ("PROMPTS", "WATCHED"):
            few.setattr(test_set, name, test_set.BLOCK)
        experiment, config = (
            registry.experiment(f"memformers.{request.param}"),
            SMALL[request.param],
        )
        return request.param, experiment, Run(config, experiment.run(config, Recorder()))


def shown(experiment, run):
    for drawing in experiment.drawings:
        if drawing.applies(run.config):
            panel = drawing.draw(run, experiment.view())
            assert panel.title and panel.figure is not None
            yield drawing.name, [trace.name for trace in panel.figure.plotly().data]


def values(experiment, run):
    return {metric.claim.id: metric.value for metric in experiment.metrics(run)}


@pytest.mark.parametrize("more", [True, False], ids=["one more", "one fewer"])
def test_another_days_tables_leave_a_run_drawable_and_its_metrics_as_they_were(
    made, more, monkeypatch
):
    name, experiment, run = made
    before, drawn = values(experiment, run), dict(shown(experiment, run))
    for module, table, entry in TABLES.get(name, ()):
        had = getattr(module, table)
        now = (
            {**had, "tomorrow": had[entry]}
            if more
            else {key: had[key] for key in had if key != entry}
        )
        monkeypatch.setattr(module, table, now)
    after = dict(shown(experiment, run))
    assert values(experiment, run) == before
    assert after.keys() == drawn.keys() and all(
        len(after[key]) >= len(drawn[key]) for key in drawn
    )  # nothing is lost
    if more:
        assert (
            after == drawn
        )  # the run knows what it measured: nothing of another day is looked for in it


def test_what_no_table_knows_is_drawn_under_its_id(made):
    """A run of tomorrow, read by today's code."""
    name, experiment, run = made
    added = {
        "methods": ("baselines", "baseline/cg", "baseline/tomorrow"),
        "variances": ("methods", "evaluated/even", "evaluated/tomorrow"),
        "mixture": ("methods", "evaluated/linear/even", "evaluated/linear/tomorrow"),
    }
    if name not in added:
        pytest.skip("it compares nothing")
    what, like, tensor = added[name]
    known = [*run.names(what), tensor.partition("/")[2]]
    more = Run(run.config, {**run.tensors, tensor: run[like], f"names/{what}": names(known)})
    assert values(experiment, more) == values(experiment, run)
    assert any(tensor.partition("/")[2] in drawn for _, drawn in shown(experiment, more))


@pytest.mark.parametrize("name", [*SMALL, "learned"])
def test_a_run_that_has_nothing_yet_is_drawn(name):
    experiment = registry.experiment(f"memformers.{name}")
    run = Run(experiment.presets[0].config, {}, finished=False)
    for drawing in experiment.drawings:
        if drawing.live:
            assert drawing.draw(run, experiment.view()).figure is not None


@pytest.mark.parametrize("preset", ["lfom", "all", "shared", "figure 1"])
def test_a_snapshot_read_back_achieves_what_the_curve_says(preset):
    every = store.default().headers("memformers.methods")
    header = next(each for each in every if preset in each.info.get("presets", ()))
    run = store.default().load(header)
    assert run is not None
    root = torch.stack(
        [covariance_of(run, seed + 1).root.float() for seed in range(run.config.seeds)]
    )
    learned = [
        name[9:] for name in run.tensors if name.startswith("snapshot/") and name != "snapshot/step"
    ]
    steps = run["curve/step"].tolist()
    for index, step in enumerate(run.snapshot_steps):
        if step in steps:
            parameters = {name: torch.tensor(run.snapshot(name, index)) for name in learned}
            if step == run.snapshot_steps[-1]:  # the page reads the finished model, unrounded
                final = f"final/{run.config.layers}/"
                parameters = {name: torch.tensor(run[final + name]) for name in learned}
            held = test_set.held(run.config, test_set.WATCHED)
            _, controlled = test_set.controlled_losses(parameters, run.config, root, held)
            found = controlled.double().mean(-1)
            np.testing.assert_allclose(found, run["curve/loss"][:, steps.index(step)], rtol=0.005)
