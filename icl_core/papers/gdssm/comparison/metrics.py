"""The paper's ordering and what is found beside it, measured on a run."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.comparison.claims import (
    ONLY,
    OTHERS,
    PLAIN_MAMBA,
    PRODUCTS_GIVEN,
    REACHES,
    SMALL_GRIFFIN,
    SMALL_MAMBA,
    SMALL_ONES,
    SMALL_TRANSFORMER,
    SOFTMAX,
    TRANSFORMER,
    TWO,
)  # fmt: skip
from icl_core.papers.gdssm.comparison.load_run import Entry, beside_the_paper, entries
from icl_core.papers.gdssm.shared.sequence_models.training_end import (
    MATTERS,
    NEAR,
    end,
    undecided,
    watched,
)
from icl_core.statistics.over_seeds import standard_error

# the models of which a claim takes the best
OF_CLAIM = {
    ONLY: ("s5", "mamba", "griffin", "linear-1"),
    TRANSFORMER: ("linear-2",),
    OTHERS: ("gated-delta", "softmax-1"),
    SOFTMAX: ("softmax-2",),
    SMALL_TRANSFORMER: ("linear-2",),
    SMALL_MAMBA: ("mamba",),
    PLAIN_MAMBA: ("mamba",),
    SMALL_GRIFFIN: ("griffin",),
    PRODUCTS_GIVEN: ("linear-1",),
}


def measure(run: Run) -> list[Metric]:
    """GD-SSM at its worst seed, the baselines as means over theirs."""
    held = entries(run)
    own = [each for each in held if not each.baseline]
    found = [
        _reaches(run, REACHES, own[0], "one"),
        *(_reaches(run, TWO, each, "two") for each in own[1:]),
    ]
    of_tokens = (PRODUCTS_GIVEN,) if run.config.model == "1-D" else SMALL_ONES
    for claim in (ONLY, TRANSFORMER, OTHERS, SOFTMAX, *of_tokens):
        models = [each for each in held if each.model.id in OF_CLAIM[claim]]
        found += [_best(run, claim, models)] if models else []
    return found


def _reaches(run: Run, claim: Claim, own: Entry, steps: str) -> Metric:
    """A GD-SSM at its worst seed beside gradient descent of so many steps."""
    off = own.losses / run[f"baseline/{steps}"] - 1
    worst, ended = float(off[np.abs(off).argmax()]), end(run, own.curve)
    fell = ended.fall.mean() > MATTERS * watched(run)[1]
    return Metric(claim, worst, unfinished=ended.why if fell and claim.slack(worst) < 0 else "")


def _best(run: Run, claim: Claim, models: list[Entry]) -> Metric:
    """The best of some models beside one step, as the mean over seeds; undecided where one that is
    not near might have come there."""
    off = min((each.losses / run["baseline/one"] - 1 for each in models), key=np.mean)  # [seeds]
    value, near = float(off.mean()), off.mean() <= NEAR - 1
    error = standard_error(off) if np.isfinite(off).all() else None
    reason = ""
    if claim.slack(value) < 0:
        reason = one_product(run, models) if near else seeds_near(run, models)
    undecided = "" if near else unfinished(run, models)
    return Metric(claim, value, error, undecided, reason, len(off))


def one_product(run: Run, models: list[Entry]) -> str:
    """Why models of one layer come near where the tokens hold x y, with the mean loss of each above
    one step."""
    if run.config.model != "1-D":
        return ""
    above = {
        each.model.label: 100 * float((each.losses / run["baseline/one"]).mean() - 1)
        for each in models
    }
    numbers = "; ".join(
        f"{label} {share:+.1f}%".replace("-", "−") for label, share in above.items()
    )
    return (
        "The tokens hold the products x y. One product is left, with the query, and one layer with "
        "a gate or attention can make it: a linear transformer of one layer has weights in closed "
        f"form that do (“The step by hand”). Above one step: {numbers}."
    )


def unfinished(run: Run, models: list[Entry]) -> str:
    """Which of some models cannot be told to be far from one step, and why, with the tasks seen.
    Empty if all can."""
    ended = [
        (each.model.label, undecided(run, each.curve) or at_the_edge(run, each)) for each in models
    ]
    said = " ".join(f"{label}: {sentence}" for label, sentence in ended if sentence)
    return f"{said} {beside_the_paper(run)}" if said else ""


def at_the_edge(run: Run, of: Entry) -> str:
    """That a model trained at the largest or the smallest rate that was tried, and might do better
    beyond it."""
    rate, tried = run["chosen/rate"][of.place], run["tuned/rate"]
    if run["chosen/decided"][of.place] <= 0 or rate not in tried[[0, -1]]:
        return ""
    return (
        f"Its learning rate, {rate:g}, is the {'largest' if rate == tried[-1] else 'smallest'} "
        "that was tried."
    )


def seeds_near(run: Run, models: list[Entry]) -> str:
    """How many seeds of each of some models are as good as one step, in a sentence."""
    near = {
        each.model.label: each.losses <= NEAR * run["baseline/one"] for each in models
    }  # [seeds]
    counts = "; ".join(f"{label} {seeds.sum()} of {len(seeds)}" for label, seeds in near.items())
    return f"It is the mean over seeds. Seeds that come within 5% of one step or beyond: {counts}."
