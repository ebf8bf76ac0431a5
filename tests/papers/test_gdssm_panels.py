"""What the panels of GD-SSM say, on shipped runs and with the construction in the trained model's
place; surgery."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm import layer
from icl_core.papers.gdssm.layer import accumulated_state, claims, grafted
from icl_core.papers.gdssm.layer.draw import interventions, losses, state
from icl_core.papers.gdssm.layer.losses import off_closed_form, worse_than_zero
from icl_core.papers.gdssm.layer.settings import View
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction, gradient_descent, train
from icl_core.papers.gdssm.shared.load_run import constructed_of, example, trained_at
from tests import cells

ONE = "layer"
EVERY = [preset.name for preset in layer.EXPERIMENT.presets]
# how much the loss may change where one part is replaced: two parts may be off together
FITS = {
    "layer": 0.002,
    "full": 0.002,
    "scalar": 0.002,
    "skip": 0.002,
    "one feature": 0.03,
    "1-D": 0.01,
    "1-D half": 0.01,
    "two layers": 0.02,
}


shipped = partial(cells.shipped, "gdssm.layer")


def as_built(run: Run) -> Run:
    """The run, had training found the construction at every seed and snapshot."""
    seeds = run.config.seeds
    moments = len(run["snapshot/step"])
    built = {
        name.split("/")[1]: array
        for name, array in run.tensors.items()
        if name.startswith("constructed/")
    }
    tensors = {"sweep/trained": np.repeat(run["sweep/constructed"][None], seeds, 0)}
    for name, array in built.items():
        tensors[f"final/{name}"] = np.repeat(array, seeds, 0)
        tensors[f"snapshot/{name}"] = np.repeat(tensors[f"final/{name}"][None], moments, 0)
    return Run(run.config, {**run.tensors, **tensors})


BORNE_OUT = {"reproduced", "holds", "found here", "elsewhere"}


@pytest.mark.parametrize("name", EVERY)
def test_a_preset_bears_out_every_claim(name):
    run = shipped(name)
    verdicts = {metric.claim.id: metric.verdict(run.config) for metric in claims.measure(run)}
    assert set(verdicts.values()) <= BORNE_OUT


# The state


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("which", ["first", "last", "curvature"])
def test_the_state_of_a_construction_is_the_gradient_after_every_token(name, which):
    run = as_built(shipped(name))
    for t in (1, run.config.N):
        panel = state.tokens(run, View(state=which, token=t, example=7))
        assert panel.title.startswith(f"After {t} of {run.config.N} pairs")
    assert (panel.data["relative difference"] < 1e-5).all()


def test_the_state_of_a_layer_that_learned_nothing_is_far_off():
    panel = state.tokens(shipped(ONE), View(snapshot=0, example=7))
    assert (panel.data["relative difference"] > 0.2).all()


def test_the_exact_gradient_is_that_of_automatic_differentiation():
    tasks = example(shipped(ONE).config, 7)
    exact = accumulated_state._exact(tasks, "first")
    assert np.allclose(exact, gradient_descent.accumulated(tasks).numpy())
    assert np.allclose(exact, accumulated_state._sums(tasks, "first"), atol=1e-5)
    expected = torch.einsum("nit,njt->ij", tasks.y[:-1], tasks.x[:-1]).numpy()
    assert np.allclose(exact[-1, ..., 0], expected, atol=1e-5)


def test_a_factor_that_fits_one_number_does_not_make_an_untrained_state_a_gradient():
    """With one feature and one pair any state is a multiple of the sum of one prompt."""
    config = replace(layer.Config(), f=1, N=1)
    start = models.initial(config, [0])
    tasks = example(config, 7)
    many = example(config, accumulated_state.TYPICAL, accumulated_state.PROMPTS)
    sums = accumulated_state._sums(many, "first")
    factor = accumulated_state._factor(
        accumulated_state._states(start, many, "first")[-1], sums[-1]
    )
    state = factor * accumulated_state._states(start, tasks, "first")
    error = state - accumulated_state._exact(tasks, "first")
    assert np.abs(error).max() > 0.05 * np.sqrt((sums**2).mean())


# Distances while training


def test_a_construction_is_no_distance_from_itself_and_half_of_it_half_the_size():
    run = shipped(ONE)
    tasks = train.held_out(run.config, (256, 2**20))
    built = constructed_of(run)
    measure = train.distance_to_construction(built, tasks)
    same = measure(built)
    assert same["prediction_distance"][0] == 0 and same["sensitivity_distance"][0] == 0
    assert same["sensitivity_cosine"][0] == pytest.approx(1)
    half = measure(built.with_(beta=built.beta / 2))
    size = float(models.predict(built, tasks)[0].norm(dim=0).mean())
    assert half["prediction_distance"][0] == pytest.approx(size / 2, rel=1e-4)
    assert half["sensitivity_cosine"][0] == pytest.approx(1)
    turned = measure(built.with_(beta=-built.beta))
    assert turned["sensitivity_cosine"][0] == pytest.approx(-1)
    expected = 4 * half["sensitivity_distance"][0]
    assert turned["sensitivity_distance"][0] == pytest.approx(expected, rel=1e-4)


# Another scale


def test_a_construction_lies_on_the_closed_form_and_crosses_zero_at_root_two():
    run = as_built(shipped(ONE))
    assert off_closed_form(run) < 1e-6
    assert worse_than_zero(run) == pytest.approx(2**0.5, abs=0.02)
    assert (
        "within 0% of the construction, on the same tasks; worse than zero beyond α = 1.4"
        in losses.scale(run, View()).title
    )


@pytest.mark.parametrize(
    "times, phrase", [(100.0, "worse than zero at every scale"), (0.0, "never worse than zero")]
)
def test_always_worse_than_zero_is_told_from_never(times, phrase):
    run = shipped(ONE)
    doctored = Run(run.config, {**run.tensors, "sweep/trained": times * run["sweep/trained"]})
    assert phrase in losses.scale(doctored, View()).title


def test_the_worst_seed_is_the_one_that_is_judged():
    run = shipped(ONE)
    trained = run["sweep/trained"].copy()
    trained[3, -1] *= 2
    assert off_closed_form(Run(run.config, {**run.tensors, "sweep/trained": trained})) > 0.9


def test_two_steps_at_another_scale_are_those_of_the_sampled_ones():
    config = replace(layer.Config(), layers=2, recurrence="scalar")
    tasks = train.held_out(config, (2**14, 2**24))
    best = closed_forms.two_steps_free(config.f, config.N, config.r)
    coefficients = np.array([best.A, -best.B])
    for alpha in (0.5, 1.3):
        sampled = construction.inner(tasks.times(alpha), 2).loss(coefficients)
        assert train.expected(config, alpha) == pytest.approx(float(sampled), rel=0.02), alpha


def test_the_scale_looked_at_has_its_losses_in_the_note():
    note = losses.scale(as_built(shipped(ONE)), View(alpha=2.0)).note
    trained, built = (
        note.split(f"{word} ")[1].split(" ")[0].strip(",.") for word in ("trained", "constructed")
    )
    assert note.startswith("At α = 2, seed 1") and trained == built
    assert float(trained) == pytest.approx(train.expected(layer.Config(), 2.0), rel=0.05)


# The visitor's points


def test_a_construction_fits_the_line_that_gradient_descent_fits():
    run = as_built(shipped("one feature"))
    panel = interventions.prompt(run, View(points="-1:-2, 0.5:1, 2:4"))
    beta = float(run["constructed/beta"][0])
    slope = beta * (2 + 0.5 + 8)  # of one step from zero: beta sum x y
    assert panel.title.startswith(
        f"Trained fits slope {slope:.2f}, gradient descent {slope:.2f}, least squares 2.00"
    )
    assert np.allclose(panel.data["trained"], slope * panel.data["x"], atol=1e-4)


# Surgery


def graft(run: Run, row: int, **fields):
    """The trained model of a seed with parts replaced, and how each was."""
    weights = trained_at(run, -1, row), trained_at(run, 0, row), constructed_of(run)
    return grafted.graft(*weights, View(**fields), run.config)


@pytest.mark.parametrize("name", FITS)
def test_any_single_part_of_a_shipped_run_can_be_replaced_by_its_construction(name):
    """That it is what training found, part by part: the loss stays, at every seed, on tasks of its
    own."""
    run = shipped(name)
    tasks = example(run.config, 5, 2**11)
    for row in range(run.config.seeds):
        trained = trained_at(run, -1, row)
        before = models.losses(trained, tasks)[0]
        for part, field in grafted.fields_of(run.config).items():
            if part in trained.tensors():
                operated, _ = graft(run, row, **{field: "constructed"})
                after = models.losses(operated, tasks)[0]
                assert after == pytest.approx(before, rel=FITS[name]), (row, part)


@pytest.mark.parametrize("how", ["initial", "zero"])
def test_a_part_put_to_its_start_or_to_zero_is_that(how):
    run = shipped(ONE)
    start = trained_at(run, 0, 0)
    operated, labels = graft(run, 0, one_a=how)
    assert torch.equal(operated.a, start.a if how == "initial" else torch.zeros_like(start.a))
    assert labels == {"a": "initial value" if how == "initial" else "zero"}
    everything, _ = graft(run, 0, **dict.fromkeys(grafted.fields_of(run.config).values(), how))
    tasks = example(run.config, 3, 64)
    zero = float(tasks.y[-1].square().mean()) / 2
    expected = models.losses(start, tasks)[0] if how == "initial" else zero
    assert models.losses(everything, tasks)[0] == pytest.approx(expected, rel=1e-4)


def test_surgery_is_told_with_its_losses():
    run = as_built(shipped(ONE))
    panel = interventions.graft(run, View(one_beta="zero"))
    losses = dict(zip(panel.data["model"], panel.data["loss"], strict=True))
    assert losses["trained"] == pytest.approx(losses["constructed"], abs=1e-5)
    assert losses["after the graft"] == pytest.approx(closed_forms.zero_loss(10, 1.0), rel=0.03)
    assert panel.title.startswith("β → zero")
