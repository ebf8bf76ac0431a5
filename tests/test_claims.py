"""A claim is judged at its own setting, and only by a training that has decided it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from icl_core.contract.claims import ELSEWHERE, NOT_DECIDED, NOT_RUN, Claim, Metric
from icl_core.contract.knobs import Knob
from icl_core.contract.statistics import certain_from
from icl_core.evidence import verdicts

HERE = SimpleNamespace(d=128, T=256, triggers="random")


def claim(**fields) -> Claim:
    return Claim(
        **{
            "id": "c",
            "label": "a label",
            "kind": "paper",
            "text": "It is so.",
            "source": "Figure 1",
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("bound", "value", "holds"),
    [
        ({"at_least": 0.95}, 0.95, True),
        ({"at_least": 0.95}, 0.949, False),
        ({"at_least": 0.95, "tolerance": 0.05}, 0.9001, True),
        ({"at_most": 0.0}, 0.0, True),
        ({"at_most": 0.0, "tolerance": 0.1}, 0.11, False),
        ({"near": 1.0, "tolerance": 0.1}, 0.91, True),
        ({"near": 1.0, "tolerance": 0.1}, 1.11, False),
    ],
)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("paper", ("reproduced", "not reproduced")),
        ("theory", ("holds", "fails")),
        ("ours", ("found here", "not found here")),
    ],
)
def test_a_verdict_is_in_the_words_of_its_kind(kind, words, bound, value, holds):
    assert Metric(claim(kind=kind, **bound), value).verdict(HERE) == words[0 if holds else 1]


@pytest.mark.parametrize(
    ("at", "is_at"),
    [
        ({}, True),
        ({"d": 128}, True),
        ({"d": 64}, False),
        ({"d": (64, 128), "T": range(200, 300)}, True),
        ({"d": 128, "T": range(300, 400)}, False),
        (None, False),
    ],
)
def test_there_is_a_verdict_only_at_the_claims_own_setting(at, is_at):
    metric = Metric(
        claim(at=at, setting="the full transformer" if at is None else "", at_least=0.5), 0.6
    )
    assert metric.verdict(HERE) == ("reproduced" if is_at else ELSEWHERE)


KNOBS = {
    "d": Knob("slider", "width, d", 128),
    "T": Knob("slider", "sequence length, T", 64),
    "steps": Knob("slider", "steps", 300),
    "beside": Knob("slider", "steps of a model beside it", 300),
    "optimiser": Knob("choice", "optimiser", "sgd", options={"sgd": "SGD with momentum"}),
    "skip": Knob("toggle", "skip connection", False),
    "raw": Knob("toggle", "raw weights", False),
}


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_was_not_measured_was_not_run(value):
    assert Metric(claim(near=1.0), value).verdict(HERE) == NOT_RUN


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.98, NOT_DECIDED), (1.02, NOT_DECIDED), (1.05, "reproduced")]
)
def test_an_effect_within_two_errors_decides_nothing(value, verdict):
    assert Metric(claim(at_least=1.0), value, error=0.02).verdict(HERE) == verdict


@pytest.mark.parametrize(
    ("count", "factor"), [(2, 12.7), (3, 4.3), (5, 2.8), (31, 2.04), (400, 1.96)]
)
def test_few_seeds_must_lie_further_away(count, factor):
    """Student's t: a value just inside its interval decides nothing, one just outside does."""
    for away, verdict in ((0.98, NOT_DECIDED), (1.02, "reproduced")):
        metric = Metric(claim(at_least=1.0), 1 + away * factor * 0.01, error=0.01, count=count)
        assert metric.verdict(HERE) == verdict


@pytest.mark.long
@pytest.mark.parametrize("seeds", [3, 5])
def test_where_there_is_no_effect_a_verdict_is_wrong_at_its_nominal_rate(seeds):
    """Seeds whose mean is the limit itself: 2.5 % of verdicts say that it is above, 2.5 % below."""
    draws = np.random.default_rng(0).normal(1.0, 0.3, (20_000, seeds))
    judged = [Metric.over_seeds(claim(at_least=1.0), row).verdict(HERE) for row in draws]
    for wrong in ("reproduced", "not reproduced"):
        # the standard error of the rate is .0011
        assert judged.count(wrong) / len(judged) == pytest.approx(0.025, abs=0.0045)


def test_the_quantiles_are_those_of_students_t():
    """Of their density, integrated numerically, 95 % lies within them."""
    for count in (2, 3, 4, 5, 6, 11, 21, 31):
        freedom = count - 1
        t = np.linspace(0, 1, 200_001)[1:] * certain_from(count)
        middle = t - t[0] / 2  # of every small interval
        density = (1 + middle**2 / freedom) ** (-(freedom + 1) / 2)
        scale = (
            math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
        )
        assert 2 * scale * density.sum() * t[0] == pytest.approx(0.95, abs=1e-4), count


def test_one_value_has_the_error_of_what_it_was_measured_on():
    alone = Metric.over_seeds(claim(at_least=1.0), np.array([1.05]), alone=0.02)
    assert (alone.value, alone.error, alone.count) == (1.05, 0.02, None)
    several = Metric.over_seeds(claim(at_least=1.0), np.array([1.0, 1.1, 1.2]), alone=0.02)
    assert several.value == pytest.approx(1.1) and several.count == 3
    assert several.error == pytest.approx(0.1 / 3**0.5)


def test_a_training_that_is_not_at_its_end_decides_nothing():
    assert Metric(claim(at_least=1.0), 2.0, unfinished="still falling").verdict(HERE) == NOT_DECIDED


def test_the_setting_is_said_in_words():
    at = {
        "d": 128,
        "T": (64, 256),
        "steps": range(5, 21),
        "beside": 300,
        "optimiser": "sgd",
        "skip": True,
        "raw": False,
    }
    assert claim(near=0.0, at=at).setting_words(KNOBS) == (
        "d = 128; T = 64 or 256; steps = 5 to 20; steps of a model beside it = 300; optimiser: "
        "SGD with momentum; skip connection"
    )
    full = "the full transformer"
    assert claim(near=0.0, at=None, setting=full).setting_words({}) == full
    assert claim(near=0.0).setting_words({}) == "any setting"


@pytest.mark.parametrize(
    "given", [{}, {"near": 1.0, "at_least": 1.0}, {"near": 1.0, "kind": "rumour"}]
)
def test_a_claim_has_one_bound_and_one_of_three_kinds(given):
    with pytest.raises(
        ValueError, match="claim c: one bound and a kind of paper, theory, ours expected"
    ):
        claim(**given)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (78.84, 186.8, "78.8 ± 190"),
        (1234.5, 0.5, "1,230 ± 0.5"),
        (-0.0052, 0.0182, "−0.0052 ± 0.018"),
        (3e-7, 0, "3e−07"),
    ],
)
def test_a_measured_value_is_written_out_where_it_has_many_digits_before_its_point(
    value, error, text
):
    assert verdicts.value_text(Metric(claim(at_least=0.0), value, error)) == text
