"""What the data decides: which training arrives when, what generalises, what is stored."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run, names
from icl_core.papers.birth.data import arrivals, train
from icl_core.papers.birth.data.arrivals import ordered
from icl_core.papers.birth.data.claims import EVEN_OUTPUT, FEWER, LATE_POSITIONS, RARE_WEAK, _speed
from icl_core.papers.birth.data.draw.stored import readings
from icl_core.papers.birth.data.settings import DATA, OUTPUTS, PRESETS, Config, View, training
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.train import held_out, task_of
from tests.cells import shipped
from tests.recorder import Recorder

SMALL = Config(N=16, d=32, T=32, batch=16, steps=10)
STEPS = np.arange(0, 301, 10)
ARRIVALS = {
    "frequent": 50, "rare": 150, "random_1": 1e9, "random_3": 200, "random_5": 100, "bigram": 90,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def few_sequences():
    """Held-out sequences take most of the time of a short training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "EVALUATED", 64)
        patch.setattr(train, "WATCHED", 16)
        yield


@pytest.fixture(scope="module")
def small(few_sequences) -> Run:
    """A short training of everything, at a small size."""
    return Run(SMALL, train.compute(SMALL, Recorder()))


def run_arriving(arrive: dict[str, float]) -> Run:
    """A run in which every measure on a kind of data reaches the level at the given step, in three
    seeds."""
    rows = [arrivals.LEVEL * STEPS / arrive[name] for name in DATA]
    curve = np.broadcast_to(np.clip(rows, 0, 1), (3, len(DATA), len(STEPS)))
    tensors = {f"curve/{measure}": curve for measure in train.MEASURES}
    tensors |= {"curve/step": STEPS, "names/data": names(DATA)}
    return Run(replace(PRESETS[1].config, seeds=3), tensors)


def weights_of(config):
    """The simplified model of this training before its first step."""
    generator = torch.Generator().manual_seed(0)
    return initialise(config.N, config.d, config.T, generator, "code")


def test_the_trainings_differ_in_nothing_but_their_data():
    first, *others = (training(SMALL, name, 0) for name in DATA)
    for other in others:
        assert replace(other, triggers=first.triggers, K=first.K, outputs=first.outputs) == first
    uniform, bigram = (DATA[name] for name in OUTPUTS)
    assert replace(bigram, outputs=uniform.outputs, label=uniform.label) == uniform


def test_what_arrives_later_is_later():
    run = run_arriving(ARRIVALS)
    assert ordered(run) == ["frequent", "random_5", "rare", "random_3", "random_1"]
    assert arrivals.times(run, "accuracy", "rare") == pytest.approx([150] * 3)
    assert arrivals.arrival(run, "accuracy", "random_1") == np.inf


def test_what_never_arrives_counts_as_arriving_at_the_end():
    run = run_arriving(ARRIVALS)
    (metric,) = (metric for metric in _speed(run) if metric.claim is FEWER)
    assert metric.value == pytest.approx(300 - 100)
    assert metric.verdict(run.config) == "reproduced"


def test_a_constructed_memory_is_even_and_stands_out():
    config = training(replace(SMALL, d=128), "random_3", 0)
    stored = train.stored(config, construct(weights_of(config), task_of(config)))
    for name in train.MATRICES:
        assert stored[f"diagonal/{name}"].mean() > 4 * stored[f"aside/{name}"]
        assert arrivals.unevenness(stored[f"diagonal/{name}"]) < 0.5
    early, late = arrivals.by_position(stored["diagonal/W_K1"], config.T)
    assert late / early == pytest.approx(1, abs=0.3)


def test_a_matrix_asked_for_every_character_holds_those_it_was_given():
    """W_K² of fixed triggers stores them alone; the map shows all characters."""
    config = training(replace(SMALL, d=128), "rare", 0)
    stored = train.stored(config, construct(weights_of(config), task_of(config)))
    triggers = task_of(config).fixed_triggers
    assert triggers is not None and stored["map/W_K2"].shape == (16, 16)
    strong = np.argsort(stored["diagonal/W_K2"])[-len(triggers) :]
    assert set(strong.tolist()) == set(triggers.tolist())


def test_maps_come_back_as_they_were(small: Run):
    for name in train.MATRICES:
        for index in range(len(DATA)):
            matrix = readings(small, name, index)
            within = float(np.abs(matrix).max()) / 100
            diagonal = small[f"diagonal/{name}"][0, index]
            assert matrix.diagonal() == pytest.approx(diagonal, abs=within)


def test_both_trainings_are_tested_on_both_outputs(small: Run):
    ids = small.names("data")
    for law in train.LAWS:
        measured = np.isfinite(small[f"evaluated/accuracy_{law}"][0])
        tested = {ids[index] for index in np.flatnonzero(measured)}
        assert tested == {name for name in DATA if name in OUTPUTS or DATA[name].outputs == law}
    bigram = small["evaluated/accuracy_bigram"][0, ids.index("bigram")]
    assert bigram == pytest.approx(small["evaluated/accuracy"][0, ids.index("bigram")])


def test_what_is_watched_is_what_an_evaluation_measures():
    config = training(SMALL, "bigram", 0)
    weights = weights_of(config)
    batches = train._sequences(config, "bigram", 16)
    measures = train._evaluated(config, weights, batches)
    uniform = evaluate(weights, held_out(task_of(replace(config, outputs="uniform")), 16))
    bigram = evaluate(weights, batches["bigram"])
    assert measures["accuracy_uniform"] == pytest.approx(uniform["accuracy"])
    assert measures["global_loss"] == pytest.approx(bigram["global_loss"])


@pytest.mark.long
def test_more_seeds_change_no_other(small: Run):
    two = train.compute(replace(SMALL, seeds=2), Recorder())
    for measure in train.MEASURES:
        np.testing.assert_array_equal(two[f"curve/{measure}"][:1], small[f"curve/{measure}"])


def test_figure_7_is_judged_on_the_diagonals():
    """Strong early positions, strong lowercase letters and even outputs are what the paper saw."""
    assert arrivals.by_case(np.array([1.0, 3.0, 5.0]), ["A", "b", "c"]) == (1.0, 4.0)
    early, late = arrivals.by_position(np.concatenate([np.full(31, 4.0), np.full(32, 1.0)]), 64)
    assert (early, late) == (4.0, 1.0)
    assert arrivals.unevenness(np.array([1.0, 3.0])) == pytest.approx(0.5)
    config = replace(PRESETS[1].config, seeds=3)
    assert all(claim.is_at(config) for claim in (LATE_POSITIONS, RARE_WEAK, EVEN_OUTPUT))
    assert not LATE_POSITIONS.is_at(replace(PRESETS[0].config, seeds=3))


def test_the_answers_are_those_of_the_classroom():
    experiment = registry.experiment("birth.data")
    run = shipped("birth.data", "classroom")
    assert experiment.story is not None
    questions = {beat.name: beat.ask for beat in experiment.story.beats if beat.ask}
    expected = {"order": "One fixed, frequent", "elsewhere": "Clearly fewer"}
    for name, begins in expected.items():
        assert questions[name].choices[questions[name].right(run, View())].startswith(begins)


def test_a_run_that_is_still_going_can_be_drawn():
    snapshots: list[dict[str, np.ndarray]] = []

    class Watching(Recorder):
        def report(self, done, total, loss, live, state, preview=dict):
            if done % 7 == 0:
                snapshots.append(live())

    train.compute(SMALL, Watching())
    for tensors in filter(None, snapshots):
        for drawing in registry.experiment("birth.data").drawings:
            if drawing.live:
                assert drawing.draw(Run(SMALL, tensors, finished=False), View()).title
