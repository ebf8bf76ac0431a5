"""What the paper claims of the dimension, each claim once (Appendix E, Figures 8 and 9), and what
theory says of the noise."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.dimension.one_step import (
    FROM,
    at_rates,
    at_widths,
    fixed,
    halves,
    over_training,
    tuned,
)

SEVERAL = range(3, 6)  # seeds: one decides nothing
# Figure 8: as in Figure 3, batches of 512 sequences of 256 tokens, five random triggers
FIGURE_8 = {
    "widths": "512", "K": 5, "N": 65, "T": 256, "scale": "code", "learning_rate": 0.2, "batch": 512,
    "steps": range(50, 601), "seeds": SEVERAL,
}  # fmt: skip
# Figure 9: batches of 32 sequences of 256 tokens; nothing is trained
FIGURE_9 = {"widths": "512", "K": 5, "N": 65, "scale": "code", "one_step_T": 256, "seeds": SEVERAL}

# widths that claims name, and a handful of batches
NARROW = 32
WIDE = 128
WIDEST = 512
FEW = 4

trained = partial(Claim, kind="paper", source="Appendix E, Figure 8", at=FIGURE_8)
estimated = partial(Claim, kind="paper", source="Appendix E, Figure 9", at=FIGURE_9)
theory = partial(Claim, kind="theory", at={})

FASTER = trained(
    id="wider-is-faster",
    panel="fixed",
    label="recall over the training gained by doubling d, the least gain, tuned",
    text="At tuned learning rates, every doubling of d makes W_O² learn faster: it recalls more "
    "on average over the training.",
    quote="higher dimension leads to faster learning of the memory",
    at_least=0.0,
)
ENOUGH = trained(
    id="128-is-enough",
    panel="fixed",
    label="steps to half of the pairs at d = 128, tuned",
    text="At d = 128 and a tuned learning rate, W_O² recalls half of its pairs after a few steps. "
    "The paper names no number; here, 20.",
    quote="d=128 seems sufficient for fast learning after just a few iterations with a tuned "
    "learning rate",
    at_most=20.0,
)
UNTUNED = trained(
    id="untuned-slows-narrow",
    label="share of the tuned recall that the fixed rate keeps, d = 512 less d = 32",
    text="At the fixed learning rate small d is slowed down further: of the tuned recall over the "
    "training it keeps less than large d does.",
    quote="If the learning rate isn’t tuned, we notice that there is a further slowdown for low "
    "dimension",
    at_least=0.0,
)
CONDITIONED = trained(
    id="better-conditioned",
    label="condition number after doubling d over that before, the largest",
    text="Higher dimension makes the problem better conditioned: with every doubling of d from 128 "
    "on, the condition number of the Gram matrix of the 65 vectors that W_O² reads is smaller. "
    "Below d = 65 they are linearly dependent.",
    quote="we hypothesize that higher dimension makes the problem better conditioned, and hence "
    "easier to learn",
    at=FIGURE_8,
    at_most=1.0,
)
HANDFUL = estimated(
    id="handful-of-batches",
    panel="one_step",
    label="one-step recall from 4 batches, d = 128",
    text="A handful of batches, tens of thousands of tokens, is enough to extract the signal: "
    "from four batches, 33 thousand tokens, one step recalls more than half of the pairs at d = "
    "128. The paper names no level.",
    quote="able to extract relevant signal from the noisy average attention, after a handful of "
    "batches of data",
    at_least=0.5,
)
EASIER = estimated(
    id="easier-in-high-dimension",
    panel="one_step",
    label="one-step recall gained by doubling d, the least gain",
    text="It gets easier as the dimension grows: each doubling of d adds to the one-step recall, "
    "the mean over the numbers of batches.",
    quote="this gets easier as the dimension increases",
    at_least=0.0,
)
NOISE = theory(
    id="noise",
    panel="noise",
    label="squared noise of the readings, simulated over exact",
    text="The squared noise of the one-step readings agrees with the moments of random "
    "embeddings, in the mean over all widths and numbers of batches.",
    source="moments of Gaussian embeddings and a random W_V²",
    near=1.0,
    tolerance=0.1,
)
PREDICTED = Claim(
    id="predicted-recall",
    panel="one_step",
    label="one-step recall, largest difference of simulation and theory",
    kind="ours",
    text="Independent Gaussian readings with the exact moments predict the one-step recall, for d "
    "from 64.",
    source="not in the paper",
    at=FIGURE_9,
    at_most=0.05,
)

ALL = (FASTER, ENOUGH, UNTUNED, CONDITIONED, HANDFUL, EASIER, NOISE, PREDICTED)


def measure(run: Run) -> list[Metric]:
    """Return the claims that this run's widths can bear out, the means over seeds."""
    widths = run["task/widths"].tolist()
    recalls = over_training(run)  # (seeds, widths, rates)
    at_tuned = at_rates(recalls, tuned(run))  # (seeds, widths)
    at_fixed = at_rates(recalls, fixed(run))  # (seeds, widths)
    arrivals = halves(run, tuned(run))[:, widths.index(WIDE)]  # (seeds,)
    # what never arrives counts as arriving at the training's end
    steps = np.minimum(arrivals, run["curve/step"][-1])
    metrics = [_faster(widths, at_tuned), Metric.over_seeds(ENOUGH, steps)]
    if WIDEST in widths:
        shares = at_fixed / np.maximum(at_tuned, 1e-6)  # (seeds, widths)
        difference = shares[:, widths.index(WIDEST)] - shares[:, widths.index(NARROW)]  # (seeds,)
        metrics.append(Metric.over_seeds(UNTUNED, difference))
        metrics.append(_conditioned(run))
    return [*metrics, *_one_step(run)]


def _conditioned(run: Run) -> Metric:
    """Return the condition number after a doubling of the width over that before, for the doubling
    from WIDE on where the ratio is largest."""
    widths = run["task/widths"]
    numbers = run["conditioning/number"][:, widths >= WIDE]  # (seeds, widths)
    ratios = numbers[:, 1:] / numbers[:, :-1]  # (seeds, doublings)
    return Metric.over_seeds(CONDITIONED, ratios[:, ratios.mean(0).argmax()])


def _faster(widths: list[int], recalls: np.ndarray) -> Metric:
    """Return the least gain of recall over the training by a doubling of the width, of recalls
    [seeds, widths], and between which widths it is."""
    means = recalls.mean(0)  # [widths]
    least = int(np.diff(means).argmin())
    narrow, wide = widths[least : least + 2]
    reason = (
        f"The least gain is from d = {narrow} to {wide}: {means[least]:.1%} and "
        f"{means[least + 1]:.1%} of the pairs are recalled over the training."
    )
    return replace(_least(FASTER, np.diff(recalls)), reason=reason)


def _least(claim: Claim, gains: np.ndarray) -> Metric:
    """Return the least of several gains [seeds, gains], by their means over seeds."""
    return Metric.over_seeds(claim, gains[:, gains.mean(0).argmin()])


def _one_step(run: Run) -> list[Metric]:
    """Return the claims on the one-step memory."""
    widths = run["task/widths"]
    numbers = run["task/numbers"].tolist()
    recall = run["one_step/recall"]  # (seeds, numbers, widths)
    few = recall[:, numbers.index(FEW), widths.tolist().index(WIDE)]  # (seeds,)
    ratio = run["one_step/noise"] / run["theory/noise"]  # (seeds, numbers, widths)
    # The numbers of batches share embeddings and data, so only widths and seeds are independent
    # draws.
    independent = ratio[:, 0].size
    errors = run["one_step/noise_error"] / run["theory/noise"]  # (seeds, numbers, widths)
    error = float(errors.mean() / independent**0.5)
    differences = np.abs(recall.mean(0) - at_widths(run))  # (numbers, widths)
    largest = differences[:, widths >= FROM].max()
    return [
        Metric.over_seeds(HANDFUL, few),
        _least(EASIER, np.diff(recall.mean(1))),
        Metric(NOISE, float(ratio.mean()), error),
        Metric(PREDICTED, float(largest)),
    ]
