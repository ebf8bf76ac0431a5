"""The claims, measured seed by seed."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.figures import number_text
from icl_core.papers.birth.data import claims
from icl_core.papers.birth.data.arrivals import (
    BIGRAM,
    MATRICES,
    UNIFORM,
    by_case,
    by_position,
    correlation,
    halved,
    of,
    over_training,
    times,
    unevenness,
)


def measure(run: Run) -> list[Metric]:
    """Return the measured claims, the means over seeds. What never arrives counts as arriving at
    the training's end, though it is later still."""
    return [*_speed(run), *_probes(run), *_outputs(run), *_stored(run)]


def _later(run: Run, measure: str, slow: str, quick: str) -> np.ndarray:
    """Return the steps by which a measure arrives later on one kind of data than on another,
    [seeds]."""
    end = float(run["curve/step"][-1])
    slow_steps = np.minimum(times(run, measure, slow), end)  # (seeds,)
    quick_steps = np.minimum(times(run, measure, quick), end)  # (seeds,)
    return slow_steps - quick_steps


def _speed(run: Run) -> list[Metric]:
    """Return the claims on how soon the head forms, and on the global loss before it."""
    uniform = [name for name in run.names("data") if name != BIGRAM]
    leads = [
        halved(run, "in_context_loss", name) - halved(run, "global_loss", name) for name in uniform
    ]  # (seeds,) for each kind of data
    return [
        Metric.over_seeds(claims.FEWER, _later(run, "accuracy", "random_1", "random_5")),
        Metric.over_seeds(claims.RARE, _later(run, "accuracy", "rare", "frequent")),
        Metric.over_seeds(claims.RANDOM, _later(run, "accuracy", "random_1", "frequent")),
        Metric.over_seeds(claims.GLOBAL_FIRST, np.min(leads, axis=0)),
    ]


def _lost(run: Run, measure: str, slow: str, quick: str) -> np.ndarray:
    """Return how much less a measure is over the training on one kind of data than on another,
    [seeds]."""
    return over_training(run, measure, quick) - over_training(run, measure, slow)


def _probes(run: Run) -> list[Metric]:
    """Return how much lower the probes are on the slower data, as means over the training: some
    memories never come to any one level in it, so the step at which they do is not known."""
    keys = _lost(run, "recall_W_K1_early", "random_1", "frequent")
    output = _lost(run, "recall_W_O2", "random_1", "frequent")
    fewer = _lost(run, "recall_W_O2", "random_1", "random_5")
    rare = _lost(run, "recall_W_O2", "rare", "frequent")
    return [
        Metric.over_seeds(claims.FEWER_OUTPUT, fewer),
        Metric.over_seeds(claims.RARE_OUTPUT, rare),
        Metric.over_seeds(claims.RANDOM_KEYS, keys - output),
        Metric.over_seeds(claims.MILD, _accuracy_of_output_alone(run)),
    ]


def _accuracy_of_output_alone(run: Run) -> np.ndarray:
    """Return the accuracy when W_O2 first has three quarters of its last recall, as a share of the
    last accuracy, [seeds]."""
    recalls = of(run, "curve/recall_W_O2", UNIFORM)  # (seeds, evaluations)
    accuracies = of(run, "curve/accuracy", UNIFORM)  # (seeds, evaluations)
    shares = []
    for recall, accuracy in zip(recalls, accuracies, strict=True):
        evaluation = int(np.argmax(recall >= 0.75 * recall[-1]))  # the first such one
        shares.append(accuracy[evaluation] / accuracy[-1])
    return np.array(shares)


def _outputs(run: Run) -> list[Metric]:
    """Return the claims on uniform beside bigram outputs."""

    def gained(tensor: str) -> np.ndarray:
        """Return what uniform outputs gain over bigram ones, [seeds, …]."""
        return of(run, tensor, UNIFORM) - of(run, tensor, BIGRAM)

    ends = {
        claims.BETTER_OUTPUT: "W_O2",
        claims.BETTER_KEYS: "W_K2",
        claims.SAME_PREVIOUS: "W_K1_early",
    }
    return [
        Metric.over_seeds(claims.BIGRAM_FAILS, gained("evaluated/accuracy_uniform")),
        Metric.over_seeds(claims.UNIFORM_FITS_BOTH, gained("evaluated/accuracy_bigram")),
        *(
            Metric.over_seeds(claim, gained(f"curve/recall_{name}")[:, -1])
            for claim, name in ends.items()
        ),
    ]


def _stored(run: Run) -> list[Metric]:
    """Return the claims on the stored readings of each matrix, trained on uniform outputs."""
    K1 = of(run, "diagonal/W_K1", UNIFORM)  # (seeds, T - 1)
    K2 = of(run, "diagonal/W_K2", UNIFORM)  # (seeds, characters)
    O2 = of(run, "diagonal/W_O2", UNIFORM)  # (seeds, characters)
    early, late = by_position(K1, run.config.T)  # (seeds,) each
    capital, lower = by_case(K2, run.names("characters"))  # (seeds,) each
    recalls = [of(run, f"curve/{name}", UNIFORM)[:, -1] for name in MATRICES]  # (seeds,) each
    return [
        Metric.over_seeds(claims.DIAGONALS, min(recalls, key=np.mean)),
        Metric.over_seeds(claims.LATE_POSITIONS, late / early),
        Metric.over_seeds(claims.RARE_WEAK, capital / lower),
        Metric.over_seeds(claims.EVEN_OUTPUT, unevenness(O2), reason=_uneven(run, O2)),
        Metric.over_seeds(claims.EVENER, unevenness(O2) - unevenness(K2)),
    ]


def _uneven(run: Run, diagonal: np.ndarray) -> str:
    """Return a sentence on how W_O2's stored readings [seeds, characters] depend on frequency;
    empty if they are as even as claimed."""
    if claims.EVEN_OUTPUT.slack(float(unevenness(diagonal).mean())) >= 0:
        return ""
    coefficient = number_text(correlation(run["task/often"], diagonal.mean(0)), 2)
    return (
        "Here the loss counts all positions. The stored readings and the characters' frequency "
        f"have a rank correlation of {coefficient}."
    )
