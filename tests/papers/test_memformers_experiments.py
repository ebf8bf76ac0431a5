"""The experiments on methods, on convergence to Σ⁻¹ and on learning from few prompts: small runs
and their panels."""

import json

import numpy as np
import pytest

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.memformers.convergence import settings as convergence_settings
from icl_core.papers.memformers.learned import settings as learned_settings
from icl_core.papers.memformers.methods import settings
from tests.recorder import Recorder

SMALL = {
    "memformers.convergence": convergence_settings.Config(steps=20, batch=50, seeds=2),
    "memformers.learned": learned_settings.Config(steps=20, layers=2, sizes="3, 10", seeds=2),
    "memformers.methods": settings.Config(
        steps=20, layers=2, batch=50, variant="shared", beside="all"
    ),
}


class Showing(Recorder):
    """Shows at every report."""

    def report(self, done, total, loss, live, state, preview=dict):
        live()


def run_of(experiment, config) -> Run:
    return Run(config, experiment.run(config, Showing()))


@pytest.fixture(scope="module", params=list(SMALL))
def experiment_and_run(request):
    experiment = registry.experiment(request.param)
    return experiment, run_of(experiment, SMALL[request.param])


def test_small_runs_have_metrics_a_headline_and_panels(experiment_and_run):
    experiment, run = experiment_and_run
    assert all(np.isfinite(metric.value) for metric in experiment.metrics(run))
    assert experiment.headline(run, experiment.view()).endswith(".")
    for drawing in experiment.drawings:
        if drawing.applies(run.config):
            panel = drawing.draw(run, experiment.view())
            assert panel.title and len(panel.caption) > 40


def test_live_drawings_draw_what_there_is_so_far(experiment_and_run):
    experiment, run = experiment_and_run
    tensors = {}
    for name, array in run.tensors.items():
        if name.startswith("names/") or name == "curve/step":
            tensors[name] = array
        elif name.startswith("curve/"):
            tensors[name] = np.where(np.arange(array.shape[1]) < 3, array, np.nan)
    begun = Run(run.config, tensors, finished=False)
    for drawing in experiment.drawings:
        if drawing.live and drawing.applies(run.config):
            assert drawing.draw(begun, experiment.view()).figure is not None


def test_the_headline_calls_an_underdetermined_prompt_so():
    experiment = registry.experiment("memformers.methods")
    config = settings.Config(steps=10, layers=1, batch=20, n=3, beside="none")
    run = run_of(experiment, config)
    assert "underdetermined" in experiment.headline(run, experiment.view())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0, 10", "from 1 to 20000"),
        ("ten", "must be whole numbers"),
        ("", "1 to 7 whole numbers"),
        ("10.5", "got '10.5'"),
        ("1e9", "from 1 to 20000"),
    ],
)
def test_numbers_of_prompts_are_checked(text, message):
    with pytest.raises(ValueError, match=message):
        learned_settings.Config(sizes=text)


@pytest.mark.long
def test_one_prompt_learned_by_heart_gives_no_infinite_number():
    experiment = registry.experiment("memformers.learned")
    config = learned_settings.Config(steps=300, layers=2, sizes="1", memory="learned")
    run = run_of(experiment, config)
    values = [metric.value for metric in experiment.metrics(run) if metric.value is not None]
    assert not np.isinf(values).any()
    for drawing in experiment.drawings:
        figure = drawing.draw(run, experiment.view()).figure
        assert figure is None or "Infinity" not in json.dumps(figure.to_dict())
