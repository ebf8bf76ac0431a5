"""The paper's ordering and what is found beside it, measured on a run."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.comparison import claims, exact
from icl_core.papers.gdssm.comparison.load_run import Entry, beside_the_paper, entries
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared.sequence_models.training_end import (
    MATTERS,
    NEAR,
    end,
    undecided,
    watched,
)
from icl_core.statistics.over_seeds import standard_error

OF_CLAIM = {  # the model of which a claim speaks
    claims.S5: "s5",
    claims.MAMBA: "mamba",
    claims.GRIFFIN: "griffin",
    claims.LINEAR_ONE: "linear-1",
    claims.GATED: "gated-delta",
    claims.SOFTMAX_ONE: "softmax-1",
    claims.TRANSFORMER: "linear-2",
    claims.SOFTMAX: "softmax-2",
    claims.SMALL_TRANSFORMER: "linear-2",
    claims.SMALL_MAMBA: "mamba",
    claims.PLAIN_MAMBA: "mamba",
    claims.SMALL_GRIFFIN: "griffin",
    claims.PRODUCTS_GIVEN: "linear-1",
}
ONE_PRODUCT = "The tokens hold the products x y. One product is left to make, that with the query: "
MAKES_IT = {  # where the tokens hold the products
    claims.S5: ONE_PRODUCT + "the gate behind the state can imitate it.",
    claims.MAMBA: ONE_PRODUCT + "C, which the query chooses, and the gate make it.",
    claims.GRIFFIN: ONE_PRODUCT + "attention and the gates make it.",
    claims.LINEAR_ONE: ONE_PRODUCT + "attention makes it, with the weights that are written down "
    "under “The step by hand” of the plain models.",
    claims.GATED: ONE_PRODUCT + "the state is read by the query, S q.",
    claims.SOFTMAX_ONE: ONE_PRODUCT + "attention makes it, bent by its softmax.",
}


def measure(run: Run) -> list[Metric]:
    """Measure the GD-SSM at its worst seed, the baselines as means over their seeds, and what holds
    exactly."""
    models_of_run = entries(run)
    own = [entry for entry in models_of_run if not entry.baseline]
    has_products = run.config.model == "1-D"
    metrics = [
        _reaches(run, claims.REACHES, own[0], "one"),
        *(_reaches(run, claims.TWO, entry, "two") for entry in own[1:]),
    ]
    of_tokens = (claims.PRODUCTS_GIVEN,) if has_products else claims.SMALL_ONES
    for claim in (*claims.STRUGGLE, claims.TRANSFORMER, claims.SOFTMAX, *of_tokens):
        models = [entry for entry in models_of_run if entry.model.id == OF_CLAIM[claim]]
        metrics += [_beside_one_step(run, claim, entry) for entry in models]
    return [*metrics, *_exact(run.config)]


def _exact(config: Config) -> list[Metric]:
    """Measure what the setting allows no model to do; this needs no run."""
    has_products = config.model == "1-D"
    metrics = [Metric(claims.S5_EXACT, exact.of_linear_model(config.f, has_products))]
    if not has_products:
        metrics.append(Metric(claims.LINEAR_EXACT, exact.of_linear_attention(config.f)))
    if not has_products and config.by_authors:
        share = exact.share_held_by_s5(config.f, config.hidden, config.positions)
        metrics.append(Metric(claims.S5_STATE, share))
    return metrics


def _reaches(run: Run, claim: Claim, own: Entry, steps: str) -> Metric:
    """Measure a GD-SSM at its worst seed beside gradient descent of so many steps, "one" or
    "two"."""
    off = own.losses / run[f"baseline/{steps}"] - 1
    worst = float(off[np.abs(off).argmax()])
    ending = end(run, own.curve)
    fell = ending.fall.mean() > MATTERS * watched(run)[1]
    return Metric(claim, worst, unfinished=ending.why if fell and claim.slack(worst) < 0 else "")


def _beside_one_step(run: Run, claim: Claim, of: Entry) -> Metric:
    """Measure a model beside one step, as the mean over seeds; undecided where it is not near but
    might have come there. What is claimed of a training with a curriculum has its own claim."""
    config = run.config
    if config.curriculum and config.dense and config.model == "N-D":
        claim = claims.WITH_CURRICULUM.get(claim, claim)
    off = of.losses / run["baseline/one"] - 1  # [seeds]
    value = float(off.mean())
    near = off.mean() <= NEAR - 1
    error = standard_error(off) if np.isfinite(off).all() else None
    reason = ""
    if claim.slack(value) < 0:
        has_products = run.config.model == "1-D"
        reason = (
            seeds_near(run, of) if not near else MAKES_IT.get(claim, "") if has_products else ""
        )
    return Metric(claim, value, error, "" if near else unfinished(run, of), reason, len(off))


def unfinished(run: Run, of: Entry) -> str:
    """Say why a model cannot be told to be far from one step, with the tasks seen. Empty if it
    can."""
    why = undecided(run, of.curve) or at_the_edge(run, of)
    return f"{of.model.label}: {why} {beside_the_paper(run)}" if why else ""


def at_the_edge(run: Run, of: Entry) -> str:
    """Say that a model trained at the largest or the smallest rate that was tried, and might do
    better beyond it. Empty if it did not, or where no rate was better than another."""
    rate = run["chosen/rate"][of.place]
    rates = run["tuned/rate"]
    if run["chosen/decided"][of.place] <= 0 or rate not in rates[[0, -1]]:
        return ""
    return (
        f"Its learning rate, {rate:g}, is the {'largest' if rate == rates[-1] else 'smallest'} "
        "that was tried."
    )


def seeds_near(run: Run, of: Entry) -> str:
    """Say how many seeds of a model are as good as one step."""
    near = of.losses <= NEAR * run["baseline/one"]  # [seeds]
    return (
        "It is the mean over seeds. Seeds that come within 5% of one step or beyond: "
        f"{of.model.label} {near.sum()} of {len(near)}."
    )
