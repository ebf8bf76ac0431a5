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
from tests.cells import shipped
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
def small(request):
    """An experiment's name, the experiment, and a small run of it."""
    with pytest.MonkeyPatch.context() as few:
        for name in ("PROMPTS", "WATCHED"):
            few.setattr(test_set, name, test_set.BLOCK)
        experiment = registry.experiment(f"memformers.{request.param}")
        config = SMALL[request.param]
        return request.param, experiment, Run(config, experiment.run(config, Recorder()))


def traces(experiment, run) -> dict[str, list[str]]:
    """The names of the traces of every drawing."""
    labels = {}
    for drawing in experiment.drawings:
        if drawing.applies(run.config):
            panel = drawing.draw(run, experiment.view())
            assert panel.title and panel.figure is not None
            labels[drawing.name] = [trace.name for trace in panel.figure.plotly().data]
    return labels


def values(experiment, run):
    return {metric.claim.id: metric.value for metric in experiment.metrics(run)}


@pytest.mark.long
@pytest.mark.parametrize("more", [True, False], ids=["one more", "one fewer"])
def test_another_days_tables_leave_a_run_drawable_and_its_metrics_as_they_were(
    small, more, monkeypatch
):
    name, experiment, run = small
    metrics = values(experiment, run)
    before = traces(experiment, run)
    for module, table, id in TABLES.get(name, ()):
        changed = dict(getattr(module, table))
        if more:
            changed["tomorrow"] = changed[id]
        else:
            del changed[id]
        monkeypatch.setattr(module, table, changed)
    after = traces(experiment, run)
    assert values(experiment, run) == metrics
    assert after.keys() == before.keys()
    assert all(len(after[key]) >= len(before[key]) for key in before)  # nothing is lost
    if more:  # the run knows what it measured: nothing of another day is looked for in it
        assert after == before


def test_what_no_table_knows_is_drawn_under_its_id(small):
    """A run of tomorrow, read by today's code."""
    name, experiment, run = small
    added = {
        "methods": ("baselines", "baseline/cg", "baseline/tomorrow"),
        "variances": ("methods", "evaluated/even", "evaluated/tomorrow"),
        "mixture": ("methods", "evaluated/linear/even", "evaluated/linear/tomorrow"),
    }
    if name not in added:
        pytest.skip("it compares nothing")
    what, like, tensor = added[name]
    id = tensor.partition("/")[2]
    ids = names([*run.names(what), id])
    more = Run(run.config, {**run.tensors, tensor: run[like], f"names/{what}": ids})
    assert values(experiment, more) == values(experiment, run)
    assert any(id in labels for labels in traces(experiment, more).values())


@pytest.mark.parametrize("name", [*SMALL, "learned"])
def test_a_run_that_has_nothing_yet_is_drawn(name):
    experiment = registry.experiment(f"memformers.{name}")
    run = Run(experiment.presets[0].config, {}, finished=False)
    for drawing in experiment.drawings:
        if drawing.live:
            assert drawing.draw(run, experiment.view()).figure is not None


@pytest.mark.parametrize("preset", ["lfom", "all", "shared", "figure 1"])
def test_a_snapshot_read_back_achieves_what_the_curve_says(preset):
    run = shipped("memformers.methods", preset)
    root = torch.stack([covariance_of(run, 1 + s).root.float() for s in range(run.config.seeds)])
    snapshots = {name.partition("/")[2] for name in run.tensors if name.startswith("snapshot/")}
    learned = snapshots - {"step"}
    steps = run["curve/step"].tolist()
    for index, step in enumerate(run.snapshot_steps):
        if step in steps:
            parameters = {name: torch.tensor(run.snapshot(name, index)) for name in learned}
            if step == run.snapshot_steps[-1]:  # the page reads the finished model, unrounded
                final = f"final/{run.config.layers}/"
                parameters = {name: torch.tensor(run[final + name]) for name in learned}
            prompts = test_set.held(run.config, test_set.WATCHED)
            _, controlled = test_set.controlled_losses(parameters, run.config, root, prompts)
            loss = controlled.double().mean(-1)
            np.testing.assert_allclose(loss, run["curve/loss"][:, steps.index(step)], rtol=0.005)
