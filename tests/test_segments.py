"""Trainings in compiled segments, beside torch's."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import build, registry
from icl_core.contract.experiment import Diverged
from icl_core.jobs import queue, spawn, worker
from icl_core.jobs.folder import Job
from icl_core.papers.gdssm.shared import train as gdssm
from icl_core.papers.memformers.shared import train as memformers
from icl_core.runs.request import Request
from icl_core.training import loop, segments
from tests.house import house_that_trains
from tests.recorder import Interrupted, Recorder

STEPS = 100
SAME = 1e-5  # the largest difference after STEPS, as a share of a parameter's largest number
CONVERGENCE = registry.experiment("memformers.convergence").presets[0].config
LAYER = registry.experiment("gdssm.layer").presets[0].config


def of_memformers(**settings):
    """Torch's problem and the same in segments, on prompts of one seed."""
    begun = [memformers.begin(replace(CONVERGENCE, **settings)) for _ in range(2)]
    return begun[0].problem, memformers.with_segments(begun[1])


def of_gdssm(**settings):
    config = replace(LAYER, **settings)
    torchs, compiled = (
        gdssm.problem(config, gdssm.initial(config), lambda model: {}) for _ in range(2)
    )
    return torchs, gdssm.with_segments(config, compiled)


def trained(problem, steps=STEPS, resumed=None, report=lambda state, save: None):
    at = loop.evaluations(steps, 10)
    return loop.train(replace(problem, evaluate=lambda step: {}), steps, at, resumed, report)


CASES = {
    "linear": (of_memformers, {}),
    "whitened, clipped": (of_memformers, {"coordinates": "whitened", "clip": 0.01}),
    "LFOM, three seeds": (of_memformers, {"variant": "lfom", "seeds": 3, "batch": 300}),
    "mean of the batch": (of_memformers, {"objective": "mean", "d": 3, "learning_rate": 0.02}),
    "one layer": (of_memformers, {"layers": 1, "d": 8, "coordinates": "authors"}),
    "a decay a row": (of_gdssm, {}),
    "one decay": (of_gdssm, {"recurrence": "scalar", "f": 3, "N": 5}),
    "skip, two seeds": (of_gdssm, {"skip": True, "seeds": 2, "r": 0.5, "batch": 400}),
    "one feature": (of_gdssm, {"f": 1}),
    "as the authors": (of_gdssm, {"optimiser": "authors", "batch": 64, "learning_rate": 2e-4}),
}


@pytest.mark.parametrize("case", CASES)
def test_both_forms_agree_on_equal_prompts(case):
    make, settings = CASES[case]
    torchs, compiled = make(**settings)
    before = {name: parameter.clone() for name, parameter in torchs.parameters.items()}
    losses = [np.array(trained(problem).batch["loss"]) for problem in (torchs, compiled)]
    assert losses[1].shape == losses[0].shape and np.allclose(losses[0], losses[1], rtol=1e-4)
    for name, parameter in torchs.parameters.items():
        away = (compiled.parameters[name] - parameter).abs().max() / parameter.abs().max()
        assert away < SAME, name
        assert not torch.equal(parameter, before[name])
    for one, other in zip(torchs.generators, compiled.generators, strict=True):
        assert torch.equal(one.get_state(), other.get_state())


@pytest.mark.parametrize("make", [of_memformers, of_gdssm])
def test_a_killed_training_goes_on_bit_for_bit(make):
    saved = {}

    def kill(state, save):
        if state.step >= STEPS // 2:
            saved.update({name: np.array(array) for name, array in save().items()})
            raise Interrupted

    _, whole = make()
    trained(whole)
    _, first = make()
    with pytest.raises(Interrupted):
        trained(first, report=kill)
    _, second = make()
    state = trained(second, resumed=saved)
    assert saved["step"][0] < state.step == len(state.batch["loss"]) == STEPS
    for name, parameter in whole.parameters.items():
        assert torch.equal(second.parameters[name], parameter)


@pytest.mark.parametrize("make", [of_memformers, of_gdssm])
def test_both_forms_diverge_at_one_step_with_one_sentence(make):
    said = []
    for problem in make(learning_rate=0.2):
        with pytest.raises(Diverged) as diverged:
            trained(replace(problem, ceiling=0.0))
        said.append(str(diverged.value))
    assert said[0] == said[1].replace(said[1].split(", above")[0], said[0].split(", above")[0])


def test_a_value_that_is_not_finite_ends_both_forms_alike():
    said = []
    for problem in of_memformers():
        problem.parameters["A"][0, 0, 1, 0, 0] = torch.nan
        with pytest.raises(Diverged) as diverged:
            trained(problem)
        said.append(str(diverged.value))
    assert said[0] == said[1] and "no longer finite" in said[0]


NOT_COVERED = [
    replace(CONVERGENCE, batches="resampled"),
    replace(LAYER, recurrence="full"),
    replace(LAYER, layers=2),
    replace(LAYER, model="1-D"),
    replace(LAYER, recurrence="scalar", n_o=3),
]


@pytest.mark.parametrize("config", NOT_COVERED, ids=range(len(NOT_COVERED)))
def test_what_segments_do_not_cover_is_torchs(config, monkeypatch):
    monkeypatch.setenv("ICL_FAST", "1")
    name = "gdssm.layer" if isinstance(config, type(LAYER)) else "memformers.convergence"
    assert segments.compiler(registry.experiment(name), config) is None


@pytest.mark.parametrize("name", ["memformers.convergence", "gdssm.layer"])
def test_a_run_in_segments_measures_what_torch_does(name, monkeypatch):
    """And it is asked for by a variable."""
    experiment = registry.experiment(name)
    config = replace(experiment.presets[0].config, steps=50)
    reports = {}
    runs = {}
    for fast in ("0", "1"):
        monkeypatch.setenv("ICL_FAST", fast)
        recorder = Recorder()
        runs[fast] = experiment.run(config, recorder)
        reports[fast] = len(recorder.reports)
    assert reports["1"] < reports["0"] == 51
    assert runs["0"].keys() == runs["1"].keys()
    for tensor, array in runs["0"].items():
        assert np.allclose(runs["1"][tensor], array, rtol=1e-3, atol=1e-4, equal_nan=True), tensor


def test_what_is_shipped_is_torchs(tmp_path, monkeypatch):
    """A visitor's run says that numba made it, is trained by itself, and `build` makes it anew."""
    monkeypatch.setenv("ICL_FAST", "1")
    config = replace(LAYER, f=2, N=4, batch=16, steps=10)
    with house_that_trains(tmp_path, monkeypatch) as runs:
        run = build.WantedRun("gdssm.layer", "", config, ["layer"])
        run.key = queue.submit(Request(run.experiment, config), later=True)
        assert worker._shape(Job(run.key))[1] == 1
        spawn.ensure_workers()
        compiled = runs.exact(run.experiment, run.key)
        numba = segments.compiler(registry.experiment(run.experiment), config)
        assert numba and compiled.info["packages"]["numba"] == numba
        assert not build._exists_whole(run)
        assert build._train([run], workers=1) == {}
        torchs = runs.exact(run.experiment, run.key)
        assert "numba" not in torchs.info["packages"] and build._exists_whole(run)
        assert torchs.digest != compiled.digest
        assert segments.wanted()
