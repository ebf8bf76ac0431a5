"""What is known of linear attention on prompts of unknown noise, and what is found, each written
once; and its number, read off a run."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
HERE = {"d": 5, "n": 20, "noise": 130, "layers": 3, "steps": range(600, 5001)}
ASKED = "found here; asked by Vladymyrov et al. 2024 (arXiv 2402.14180)"
FIXED = (
    "of all methods p(S) b with the same p for every prompt, ridge with r = E τ²/n leaves least: "
    "p(λ) = 1 / (λ + E τ²/n)"
)

BAYES = theory(
    id="none-below-bayes-of-noise",
    panel="products",
    label="the best model, over Bayes",
    text="No model leaves less over all noises than Bayes, who weighs them.",
    source="the posterior mean has the least mean squared error",
    at_least=1.0,
    tolerance=0.01,
)
EXACT = theory(
    id="memformer-decodes-to-itself",
    label="least share of a Memformer's steps explained",
    text="The triangle that is read off a Memformer's answers is its own: it explains all of its "
    "steps, at every noise.",
    source="its step is such a sum of gradients",
    near=1.0,
    tolerance=1e-6,
)
MEMORY = theory(
    id="memory-cannot-adapt",
    label="Memformer, over ridge with one r",
    text="A Memformer's coefficients are the same for every prompt, so it cannot leave less over "
    "all noises than ridge with the best one r.",
    source=FIXED,
    at_least=1.0,
    tolerance=0.01,
)
ALONE = theory(
    id="moving-x-alone-cannot-adapt",
    panel="products",
    label="w_xx and steps alone, over ridge with one r",
    text="Moving x by S alone, as GD++ does, is one method for every prompt too: it cannot leave "
    "less over all noises than ridge with the best one r.",
    source=FIXED,
    at_least=1.0,
    tolerance=0.01,
)
ADAPTS = ours(
    id="attention-adapts-to-noise",
    panel="products",
    label="attention on all of a token, over ridge with one r",
    text="Attention that also moves x and has products of labels leaves at least 3% less over all "
    "noises than ridge with the one r that is best for all of them.",
    source=ASKED,
    at=HERE,
    at_most=0.97,
)
NEAR = ours(
    id="attention-closes-the-gap",
    panel="products",
    label="share of the gap to ridge that knows, closed",
    text="Over all noises it closes at least half of the gap from ridge with one r to ridge that "
    "knows the noise of every prompt.",
    source=ASKED,
    at=HERE,
    at_least=0.5,
)
EITHER = ours(
    id="one-product-of-labels-suffices",
    panel="products",
    label="least share of the gain that one of them keeps alone",
    text="Of the two coefficients whose terms have a product of labels, w_yy and w_xy, each alone "
    "keeps at least three quarters of what both gain over ridge with one r.",
    source="found here",
    at=HERE,
    at_least=0.75,
)
SHORTER = ours(
    id="last-step-shrinks-with-noise",
    panel="triangles",
    label="shortening of the last step, over that of w_xx alone",
    text="Fitted to gradients, attention's last step is shorter with the most noise than without, "
    "by at least twice the factor by which that of w_xx and steps alone is, which cannot adapt.",
    source="found here",
    at=HERE,
    at_least=2.0,
)
ALL = (NEAR, ADAPTS, EITHER, SHORTER, MEMORY, ALONE, BAYES, EXACT)


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out. Seeds differ in their first numbers alone: all
    train on the same prompts and are tested on the same."""
    best = np.min([total(run, name) for name in run.names("models")], 0)
    kept_alone = np.min([gain(run, name) for name in ("without yy", "without xy")], 0)
    return [
        Metric.over_seeds(BAYES, best / total(run, "bayes")),
        Metric(EXACT, float(run["explained/memformer"].min())),
        Metric.over_seeds(MEMORY, ratio(run, "memformer", "ridge")),
        Metric.over_seeds(ALONE, ratio(run, "xx alone", "ridge")),
        Metric.over_seeds(ADAPTS, ratio(run, "all", "ridge")),
        Metric.over_seeds(NEAR, gain(run, "all") / gain(run, "knowing")),
        Metric.over_seeds(EITHER, kept_alone / gain(run, "all")),
        Metric.over_seeds(SHORTER, shortening(run, "all") / shortening(run, "xx alone")),
    ]


def gain(run: Run, name: str) -> np.ndarray:
    """Return how much less a model leaves over all noises than ridge with one r, [seeds], or a
    reference, a number."""
    return total(run, "ridge") - total(run, name)


def shortening(run: Run, name: str) -> np.ndarray:
    """Return the last step that is read off a model's answers without noise, over that with the
    most, [seeds]."""
    last = run[f"triangle/{name}"][:, :, -1, -1]  # [levels, seeds]
    return last[0] / last[-1]


def total(run: Run, name: str) -> np.ndarray:
    """Return what a model leaves over all noises, [seeds], or a reference, a number."""
    return run[f"total/{name}"]


def ratio(run: Run, model: str, reference: str) -> np.ndarray:
    """Return what a model leaves over what a reference leaves, [seeds]."""
    return total(run, model) / total(run, reference)
