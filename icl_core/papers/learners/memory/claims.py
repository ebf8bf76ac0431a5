"""What is known of linear attention on prompts of unknown noise, and what is found; each written
once."""

from functools import partial

from icl_core.contract.experiment import Claim

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
HERE = {"d": 5, "n": 20, "noise": 130, "layers": 3, "steps": range(600, 5001)}
ASKED = "Vladymyrov et al. 2024 (arXiv 2402.14180) find this in larger models; here"

BAYES = theory(
    id="none-below-bayes-of-noise",
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
ADAPTS = ours(
    id="attention-adapts-to-noise",
    label="attention on all of a token, over ridge with one r",
    text="Attention that also moves x and multiplies labels leaves less over all noises than ridge "
    "with the one r that is best for all of them.",
    source=f"{ASKED} with three layers and isotropic prompts",
    at=HERE,
    at_most=0.97,
)
NEAR = ours(
    id="attention-is-near-known-ridge",
    label="attention on all of a token, over ridge that knows",
    text="It leaves at most a tenth more than ridge that knows the noise of every prompt.",
    source=f"{ASKED} with three layers and isotropic prompts",
    at=HERE,
    at_most=1.1,
)
MEMORY = ours(
    id="memory-does-not-adapt",
    label="Memformer, over ridge with one r",
    text="A memory of past gradients does not help to find the noise: the Memformer leaves no less "
    "than ridge with one r.",
    source="found here",
    at=HERE,
    at_least=1.0,
)
EITHER = ours(
    id="one-product-with-labels-suffices",
    label="without one of them, over all four",
    text="Of the two coefficients that multiply by labels, w_yy and w_xy, one is enough: without "
    "the other at most a fiftieth more is left.",
    source="found here",
    at=HERE,
    at_most=1.02,
)
ALONE = ours(
    id="moving-x-alone-does-not-adapt",
    label="w_xx alone, over ridge with one r",
    text="Moving x by S alone, as GD++ does, gives a better method for one noise, and no way to "
    "find the noise: no less is left than by ridge with one r.",
    source="found here",
    at=HERE,
    at_least=1.0,
)
SHORTER = ours(
    id="last-step-shrinks-with-noise",
    label="last step, without noise over most noise",
    text="The last layer's step along the gradient is at least twice as long without noise as with "
    "the most.",
    source=f"{ASKED} read off the answers",
    at=HERE,
    at_least=2.0,
)
BACK = ours(
    id="steps-back-with-noise",
    label="earlier gradients' part of the last step, with most noise",
    text="With the most noise the last layer also goes back along earlier gradients: their "
    "coefficients sum to less than −0.1.",
    source=f"{ASKED} read off the answers",
    at=HERE,
    at_most=-0.1,
)
ALL = (BAYES, EXACT, ADAPTS, NEAR, MEMORY, EITHER, ALONE, SHORTER, BACK)
