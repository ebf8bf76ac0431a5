"""When the head stands, and how that grows with the length of the sequences."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run, names
from icl_core.contract.knobs import BadSetting
from icl_core.papers.birth.length import train
from icl_core.papers.birth.length.arrival_times import (
    doubling,
    first_crossing,
    slope,
    slopes,
    times,
)
from icl_core.papers.birth.length.claims import SGD, measure
from icl_core.papers.birth.length.settings import OPTIMISERS, Config, lengths_of, training
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared import settings as simplified
from icl_core.papers.birth.shared.full import head_scores
from icl_core.papers.birth.shared.full import probes as full_probes
from icl_core.papers.birth.shared.full import settings as full_settings
from icl_core.papers.birth.shared.full import train as full_train
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.proof_model import as_batch, sample_repeated
from icl_core.papers.birth.shared.task import make_task, sample
from icl_core.papers.birth.shared.train import begun, held_out, task_of
from icl_core.training import loop
from tests.cells import shipped
from tests.recorder import Recorder

STEPS = np.arange(0, 1001, 10)


def run_arriving(arrived: dict[str, list[list[float]]]) -> Run:
    """A run whose curves reach their level at the given steps, [seeds, lengths] for
    each optimiser."""
    tensors = {"curve/step": STEPS, "names/optimisers": names(OPTIMISERS)}
    tensors |= {"task/lengths": np.array([32, 64, 128]), "task/even": np.full(3, 0.2)}
    for optimiser, seeds in arrived.items():
        curves = [[np.clip(STEPS / step, 0, 1) for step in row] for row in seeds]
        tensors |= {
            f"curve/{m}_{optimiser}": level * np.array(curves)
            for m, level in (("accuracy", 0.8), ("W_K2", 0.5), ("W_K1", 0.5))
        }
    return Run(Config(seeds=len(arrived["sgd"])), tensors)


def test_a_crossing_lies_on_the_line_between_two_evaluations():
    crossing = first_crossing(np.array([0, 10, 20]), np.array([0.0, 0.6, 1.0]), 0.8)
    assert crossing == pytest.approx(15)
    assert first_crossing(np.array([0, 10]), np.array([0.9, 1.0]), 0.8) == 0
    assert first_crossing(np.array([0, 10]), np.array([0.1, 0.2]), 0.8) == np.inf


def test_a_power_law_has_its_power_as_slope():
    lengths = np.array([32, 64, 128, 256])
    for power in (0.0, 1.0, 2.0):
        assert slopes(lengths, 3.0 * lengths[None] ** power) == pytest.approx([power])
    assert len(slopes(lengths, np.array([[10, 20, np.inf, 80]]))) == 0


def test_quadratic_growth_would_be_found():
    run = run_arriving(
        {"sgd": [[50, 200, 800], [60, 240, 960], [40, 160, 640]], "adamw": [[100, 100, 100]] * 3}
    )
    power = slope(run, "accuracy", "sgd")
    assert power is not None and power.mean == pytest.approx(2, abs=0.01)
    assert doubling(run, "accuracy", "sgd") == pytest.approx(4, abs=0.05)
    first = measure(run)[0]
    assert first.claim is SGD and first.verdict(run.config) == "found here"
    assert measure(run)[1].verdict(run.config) == "not found here"


def test_a_training_that_never_arrives_decides_nothing():
    run = run_arriving({"sgd": [[50, 200, 1e9]] * 3, "adamw": [[100, 100, 100]] * 3})
    assert times(run, "accuracy", "sgd")[0, 2] == np.inf
    assert slope(run, "accuracy", "sgd") is None
    assert measure(run)[0].value is None


def test_even_attention_is_shared_out_over_all_keys():
    batch = sample(make_task(N=16, K=4, T=20), 30, torch.Generator().manual_seed(0))
    shares = []
    for row, t in batch.in_context.nonzero().tolist():
        tokens = batch.inputs[row].tolist()
        shares.append(sum(tokens[s - 1] == tokens[t] for s in range(1, t + 1)) / (t + 1))
    assert train.even_share(batch) == pytest.approx(np.mean(shares))


def test_what_is_watched_is_what_the_probes_measure():
    config = training(Config(N=16, d=32, K=4), "adamw", 32, 0)
    assert isinstance(config, simplified.Config)
    weights, _ = begun(config)
    recalls = probes.recalls(weights, task_of(config))
    batch = held_out(task_of(config), train.WATCHED)
    accuracy = evaluate(weights, batch, positions="in_context")["accuracy"]
    expected = {"accuracy": accuracy, "W_K2": recalls["W_K2"], "W_K1": recalls["W_K1_early"]}
    assert train._simplified(config).evaluate(0) == expected


def test_the_full_transformer_is_watched_by_its_own_probes():
    config = training(Config(full=True, N=16, d=32, K=4), "sgd", 32, 0)
    assert isinstance(config, full_settings.Config) and config.layer_norm
    weights, _ = full_train.begun(config)
    recalls = full_probes.recalls(weights, task_of(config), config.heads)
    batch = held_out(task_of(config), train.WATCHED)
    accuracy = head_scores.evaluate(weights, batch, config.heads)["accuracy"]
    expected = {"accuracy": accuracy, "W_K2": recalls["W_K2"], "W_K1": recalls["W_K1_early"]}
    assert train._full(config).evaluate(0) == expected


@pytest.mark.long
@pytest.mark.parametrize("everything", (False, True))
def test_more_seeds_change_no_other(everything: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(train, "WATCHED", 16)
    few = Config(full=everything, N=16, d=32, K=4, batch=16, steps=10)
    one_seed, two_seeds = (train.compute(replace(few, seeds=seeds), Recorder()) for seeds in (1, 2))
    for name in train.MEASURES:
        for optimiser in OPTIMISERS:
            curves = two_seeds[f"curve/{name}_{optimiser}"]
            assert curves.shape[:2] == (2, len(lengths_of(Config())))
            np.testing.assert_array_equal(curves[:1], one_seed[f"curve/{name}_{optimiser}"])


def test_the_answers_are_those_of_the_classroom():
    experiment = registry.experiment("birth.length")
    run = shipped("birth.length", "classroom")
    assert experiment.story is not None
    questions = {beat.name: beat.ask for beat in experiment.story.beats if beat.ask}
    for name, begins in (("wait", "About as long"), ("positions", "About four times as long")):
        assert questions[name].choices[questions[name].right(run, experiment.view())] == begins


@pytest.mark.parametrize(("triggers", "occurrences"), [(1, 2), (4, 2), (3, 1)])
def test_every_trigger_has_come_as_often_as_asked_for(triggers: int, occurrences: int):
    N = 12
    T = 40
    batch = 3000
    sequences = sample_repeated(
        N, T, triggers, occurrences, batch, torch.Generator().manual_seed(0)
    )
    query = sequences.tokens[:, -1:]
    before = sequences.tokens[:, :-1] == query  # (batch, T - 1)
    assert (before.sum(1) == occurrences).all()
    followers = sequences.tokens[:, 1:][before].view(batch, occurrences)
    assert (followers == sequences.answers[:, None]).all()
    assert (before.int().argmax(1) == sequences.first).all()
    # every character is asked for as often, and every slot is a place as often
    often = torch.bincount(query.flatten(), minlength=N) / batch
    assert (often - 1 / N).abs().max() < 5 * (1 / N / batch) ** 0.5
    slots = (T - 1) // 2
    places = before.double().mean(0)[: 2 * slots : 2] / occurrences
    assert (places - 1 / slots).abs().max() < 5 * (1 / slots / batch / occurrences) ** 0.5


def test_a_batch_asks_for_the_last_answer_alone():
    sequences = sample_repeated(12, 24, 2, 2, 5, torch.Generator().manual_seed(0))
    batch = as_batch(sequences)
    assert (batch.inputs == sequences.tokens).all()
    assert (batch.targets[:, -1] == sequences.answers).all()
    assert batch.in_context.sum() == 5 and batch.in_context[:, -1].all()
    assert train.even_share(batch) == pytest.approx(2 / 24)  # of 24 keys two are the answer


ONCE = Config(repeats="1", K=1, N=8, d=64, batch=64, steps=300, lengths="128")


def test_a_single_query_is_learned_by_all_three_matrices():
    """From a uniform guess to all answers right, with a gradient for each matrix."""
    problem = train.single_query_problem(ONCE, "adamw", 8, 0)
    gradients, measures = problem.gradient(0)
    assert measures["in_context_loss"] == pytest.approx(np.log(8), rel=0.05)
    assert gradients.keys() == problem.parameters.keys() == {"W_O2", "W_K2", "W_K1"}
    assert all(gradient.abs().max() > 0 for gradient in gradients.values())
    state = loop.train(problem, 300, [0, 300], {}, lambda *_: None, keep=False)
    assert state.curve["accuracy"][0] < 0.3 and state.curve["accuracy"][-1] > 0.9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"full": True}, "full must be off where one answer is asked for"),
        ({"repeats": "4", "K": 8}, "has 15 places, got 32 pairs"),
        ({"repeats": "as drawn", "steps": 5000}, "steps must be at most 2,000"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes: dict, message: str):
    with pytest.raises(BadSetting, match=message):
        replace(ONCE, **changes)


def test_one_place_to_copy_from_takes_the_square_and_many_do_not():
    """The shipped runs: the same model, with one occurrence and with one in sixteen positions."""
    for preset, low, high in (("once", 1.5, 2.5), ("one in sixteen", 0.0, 1.0)):
        run = shipped("birth.length", preset)
        for optimiser in OPTIMISERS:
            power = slope(run, "accuracy", optimiser)
            assert power is not None and low < power.mean < high
        recalls = [run[f"curve/{name}_sgd"][:, -1, -1].mean() for name in ("W_K2", "W_K1")]
        assert min(recalls) > 0.4  # there is a head, not a count
