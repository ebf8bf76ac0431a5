"""What Musat et al. find, compared with these trainings, and what is found here."""

from functools import partial

from icl_core.contract.experiment import Claim

# three seeds, as one decides nothing; the simplified transformer or the full one
EITHER = {"seeds": range(3, 6), "full": (False, True)}
quadratic = partial(
    Claim,
    kind="ours",
    source="Musat et al. 2025",
    at=EITHER,
    near=2.0,
    tolerance=0.5,
)
TEXT = (
    "Musat et al. find, in a task of their own, that the time until an induction head emerges "
    "grows with the square of the context length. In this paper's task, with {}, we take the slope "
    "of log steps until accuracy is 80% against log T; 2 would be quadratic."
)

SGD = quadratic(id="quadratic-sgd", label="slope of the time to 80%, SGD", text=TEXT.format("SGD"))
ADAMW = quadratic(
    id="quadratic-adamw", label="slope of the time to 80%, AdamW", text=TEXT.format("AdamW")
)
POSITIONS = Claim(
    id="positions-slower",
    label="slope of W_K¹ less that of accuracy, AdamW",
    kind="ours",
    text="The time of W_K¹, which stores a pair for every position, grows faster with the length "
    "than accuracy's, by a power of at least 0.2.",
    source="not in a paper",
    at=EITHER,
    at_least=0.2,
)

once = partial(quadratic, at={"seeds": range(3, 6), "repeats": "1", "K": 1})
ONCE = (
    "Where the trigger has come exactly once before (Theorem 3's data and the model of its proof), "
    "the time grows with the square of the length: the slope of log steps until accuracy is 80% "
    "against log T, with {}, from T = 32 to 128."
)
ONCE_SGD = once(id="once-sgd", label="one occurrence: slope, SGD", text=ONCE.format("SGD"))
ONCE_ADAMW = once(id="once-adamw", label="one occurrence: slope, AdamW", text=ONCE.format("AdamW"))
SHARE = Claim(
    id="one-in-sixteen",
    label="an occurrence in sixteen positions: the larger slope",
    kind="ours",
    text="In the same model, where each of four triggers has come once in sixteen positions, the "
    "time grows more slowly than the length itself: with both optimisers the slope is below 1.",
    source="not in a paper",
    at={"seeds": range(3, 6), "repeats": "T/16", "K": 4},
    at_most=1.0,
)

ALL = (SGD, ADAMW, POSITIONS, ONCE_SGD, ONCE_ADAMW, SHARE)
