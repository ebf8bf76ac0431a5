"""Which setting each claim speaks of, and what a run that is there, or was not trained to its end,
makes of it."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.contract.claims import ELSEWHERE, NOT_DECIDED, Metric
from icl_core.contract.experiment import Run
from icl_core.contract.statistics import mean_and_error
from icl_core.papers.birth.induction import EXPERIMENT, claims
from icl_core.papers.birth.induction.claims import measure
from icl_core.papers.birth.induction.load_run import given_back
from icl_core.papers.birth.shared.settings import Config

CONFIGS = {preset.name: replace(preset.config, seeds=preset.seeds) for preset in EXPERIMENT.presets}
FIGURE_3 = Config(
    T=256, batch=512, optimiser="sgd", scale="code", learning_rate=0.2, steps=300, seeds=3
)
STEP = np.arange(0, 301, 10)
MEMORIES = (
    "W_O2", "W_K2", "W_K2_weighted", "W_K1_early", "W_K1", "W_K1_early_rows", "W_K1_late_rows",
)  # fmt: skip


@pytest.mark.parametrize(
    "claim, preset",
    [
        (claims.NOTHING_WITHOUT_OUTPUT, "W_O2 frozen"),
        (claims.OUTPUT_ALONE, "only W_O2 learns"),
        (claims.SECOND_EASIER, "W_K1 frozen"),
        (claims.SECOND_EASIER, "W_K2 frozen"),
        (claims.TOP_DOWN, "order"),
        (claims.EARLY_FIRST, "order"),
        (claims.NEAR_PERFECT, "order"),
        (claims.COMPETITION, "random 3"),
        (claims.GLOBAL_FIRST, "random 3"),
    ],
)
def test_section_5s_claims_speak_of_the_papers_size_and_of_several_seeds(claim, preset):
    config = CONFIGS[f"{preset}, paper size"]
    assert claim.is_at(config)
    assert not claim.is_at(replace(config, seeds=1))
    assert not claim.is_at(CONFIGS[preset])


def test_the_fastest_training_is_not_the_papers():
    """But for how it begins, which is Section 4.1's."""
    config = CONFIGS["fastest, paper size"]
    at_config = [claim for claim in claims.ALL if claim.kind == "paper" and claim.is_at(config)]
    assert at_config == [claims.UNIFORM_START]


def test_section_3s_numbers_are_of_a_model_that_is_not_here():
    for claim in (claims.RANDOM, claims.FIXED, claims.ONE_LAYER):
        assert not any(claim.is_at(config) for config in CONFIGS.values())
        assert "MLP" in claim.setting


def test_no_level_of_a_recall_is_said_to_be_the_papers():
    assert {claim.kind for claim in claims.RECALL.values()} == {"ours"}


def rising(half: int, end: float = 1.0) -> np.ndarray:
    """Three seeds' curves that step up to `end` at a step."""
    return np.tile(np.where(half <= STEP, end, 0.0), (3, 1))


def run_with(
    falling: bool = False, config: Config = FIGURE_3, opposite=None, **recalls: np.ndarray
) -> Run:
    """A run whose loss falls, or not, and whose memories recall so much; those not named are
    learned by step 50."""
    rng = np.random.default_rng(0)
    loss = (np.linspace(3, 1, 300) if falling else np.ones(300)) + 0.001 * rng.normal(size=(3, 300))
    curves = {**dict.fromkeys(MEMORIES, rising(50)), **recalls}
    tensors = {f"curve/recall_{name}": curve for name, curve in curves.items()}
    tensors["evaluated/accuracy"] = np.full(3, 0.97)
    tensors["evaluated/accuracy_error"] = np.full(3, 0.002)
    beside = {f"opposite/recall_{name}": curve for name, curve in (opposite or {}).items()}
    beside |= {"opposite/step": STEP[:-1]} if opposite else {}
    return Run(config, {**tensors, **beside, "curve/step": STEP, "batch/in_context_loss": loss})


def metrics_of(run: Run) -> dict:
    return {metric.claim.id: metric for metric in measure(run)}


def test_a_recall_that_is_missed_while_the_loss_still_falls_is_not_decided():
    runs = (run_with(falls, W_K2=rising(50, 0.3)) for falls in (True, False))
    falling, flat = (metrics_of(run)["recall-W_K2"] for run in runs)
    assert falling.verdict(FIGURE_3) == NOT_DECIDED and "still falling" in falling.unfinished
    assert flat.verdict(FIGURE_3) == "not found here" and flat.unfinished == ""
    assert falling.verdict(replace(FIGURE_3, T=64)) == ELSEWHERE


def test_a_recall_that_is_reached_counts_though_the_loss_still_falls():
    assert metrics_of(run_with(True))["recall-W_K2"].verdict(FIGURE_3) == "found here"


def test_the_output_memory_is_held_against_the_first_of_the_others():
    """By the paper's probes, in which all pairs of W_K2 count alike; and by frequency, our own."""
    late = {name: rising(200) for name in ("W_K2", "W_K2_weighted", "W_K1_early")}
    first = metrics_of(run_with(W_O2=rising(40), **late | {"W_K2_weighted": rising(60)}))
    second = metrics_of(run_with(W_O2=rising(40), **late | {"W_K1_early": rising(30)}))
    for metric, value, verdict in (
        (first["top-down"], 160, "reproduced"),
        (first["top-down-by-frequency"], 20, "found here"),
        (second["top-down"], -10, "not reproduced"),
    ):
        assert (metric.value, metric.verdict(FIGURE_3)) == (value, verdict)


def test_early_rows_are_held_against_late_ones_not_against_a_window():
    run = run_with(W_K1_early_rows=rising(50, 0.2), W_K1_late_rows=rising(50, 0.6))
    metric = metrics_of(run)["early-positions-first"]
    assert metric.value == pytest.approx(-0.4 * 255 / 300)  # both step up within 40 to 50
    assert metric.verdict(FIGURE_3) == "not reproduced"


@pytest.mark.parametrize("frozen", ["W_K1", "W_K2"])
def test_both_frozen_trainings_are_compared_at_equal_steps(frozen):
    """The opposite was evaluated last at step 290: what is learned in the last ten steps does not
    count."""
    config = replace(FIGURE_3, freeze_until=300, **{f"freeze_{frozen}": True})
    never = rising(0, 0.0)
    second = {"W_K2": rising(100, 0.5), "W_K2_weighted": rising(100, 0.9), "W_K1_early": never}
    first = {"W_K2": never, "W_K2_weighted": never, "W_K1_early": rising(100, 0.2)}
    first["W_K1_early"][:, -1] = second["W_K2"][:, -1] = 1.0
    own, other = (second, first) if frozen == "W_K1" else (first, second)
    opposite = {name: curve[:, :-1] for name, curve in other.items()}
    metrics = metrics_of(run_with(config=config, opposite=opposite, **own))
    assert metrics["W_K2-easier-than-W_K1"].value == pytest.approx(0.3)
    assert metrics["W_K2-easier-by-frequency"].value == pytest.approx(0.7)
    assert metrics["W_K2-easier-than-W_K1"].verdict(config) == "reproduced"


def test_what_only_rises_gives_nothing_back():
    lost, _ = given_back(np.tile(np.linspace(0, 1, 80), (3, 1)))
    metric = Metric.over_seeds(claims.COMPETITION, lost)
    assert metric.verdict(CONFIGS["random 3, paper size"]) == "not reproduced"


def test_a_frozen_output_memory_is_judged_by_what_the_others_come_to_recall():
    """As a share of what they gain in the shipped run with nothing frozen; without one, not."""
    config = replace(FIGURE_3, freeze_until=300, freeze_W_O2=True)
    run = run_with(config=config, W_K1_early=rising(100, 0.3), W_K2=rising(0, 0.1))
    assert metrics_of(run) == {}
    free = run_with(W_K1_early=rising(100, 0.8), W_K2=rising(100, 0.6))
    shipped = {"order, paper size": free, "order": replace(free, config=replace(FIGURE_3, T=64))}
    metric = metrics_of(replace(run, shipped=shipped.get))["nothing-without-W_O2"]
    assert metric.value == pytest.approx(0.15 / 0.7)
    assert metric.verdict(config) == "not reproduced"


def test_noise_is_not_taken_for_something_given_back():
    rng = np.random.default_rng(0)
    flat = 0.5 + 0.02 * rng.normal(size=(3, 80))
    value, error = mean_and_error(given_back(flat)[0])
    assert error is not None and abs(value) < 3 * error < 0.06
    falling = flat - np.maximum(0, np.linspace(-0.2, 0.2, 80))
    value, error = mean_and_error(given_back(falling)[0])
    assert error is not None and value == pytest.approx(0.2, abs=0.03) and value > 4 * error
    alone, spread = given_back(falling[:1])
    assert spread is not None and float(alone[0]) > 4 * spread > 0
