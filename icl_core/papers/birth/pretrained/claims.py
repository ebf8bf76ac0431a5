"""What is claimed of SmolLM2, each claim over five draws of random tokens. The heads are the same
in all draws. All claims are ours: the paper trains its own models."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.pretrained.load_run import (
    chance,
    half_losses,
    losses_without_group,
    pair_recall,
    place_of,
    says_attended,
)
from icl_core.papers.birth.pretrained.settings import SMOLLM2

STRONGEST = 4  # heads of which direct copying is averaged
ours = partial(Claim, kind="ours", source="not in the paper", at={"model": SMOLLM2})

IN_CONTEXT = ours(
    id="pretrained-in-context",
    panel="without",
    label="loss of the first half less that of the second, in nats",
    text="A real language model learns in context what the paper's does: of random tokens that "
    "come twice, each costs at least 5 nats less the second time.",
    at_least=5.0,
)
NEEDED = ours(
    id="pretrained-heads-needed",
    panel="without",
    label="loss of the second half without 12 heads: the strongest, less random ones, in nats",
    text="The heads that look at what followed are needed for it: without the twelve strongest, "
    "the second time costs at least 3 nats more than without twelve others.",
    at_least=3.0,
)
FIRST_HALF = ours(
    id="pretrained-first-half",
    panel="without",
    label="loss of the first half without the 12 strongest heads, less that with them, in nats",
    text="They are hardly needed for anything else here: the first time costs no more than one nat "
    "more without them.",
    at_most=1.0,
)
PAIR = ours(
    id="pretrained-pair",
    panel="by_offset",
    label="recall of W_K² of the best pair, times chance",
    text="For one pair of heads W_K² is the paper's memory: the query of a token picks what the "
    "previous-token head has written about it, over ten times more often than chance. The pair is "
    "chosen on a draw of its own.",
    at_least=10.0,
)
OTHERS = ours(
    id="pretrained-other-pairs",
    panel="pairs",
    label="recall of the median previous-token head, with its best induction head, times chance",
    text="Most heads that look at the previous token are no part of such a pair: half of the other "
    "eleven recall less than ten times what chance does, with whichever induction head.",
    at_most=10.0,
)
USED = ours(
    id="pretrained-pair-used",
    panel="needed",
    label="attention on what followed that the pair's induction head loses without the other head",
    text="The model uses this pair: with the mean output of its previous-token head in the head's "
    "place, the induction head has at least 0.2 less of its attention on what followed.",
    at_least=0.2,
)
CONSTRUCTED = ours(
    id="pretrained-constructed",
    panel="by_offset",
    label="recall of eq. 7 on this model's vectors less that of the best pair",
    text="The paper's sum of outer products, on this model's own vectors, would recall less than "
    "the pair does: the vectors are far from orthogonal.",
    at_most=0.0,
)
DIRECTLY = ours(
    id="pretrained-copies-directly",
    panel="copying",
    label="recall of W_O W_V against the unembedding, of the four strongest heads",
    text="What the strongest heads write is not the unembedding of the token that they attend to, "
    "as W_O² of the paper has it: read directly, they recall at most one token in twenty.",
    at_most=0.05,
)
THROUGH = ours(
    id="pretrained-copies-through",
    panel="moved",
    label="how often the model says the token that 12 heads are made to attend to",
    text="The layers behind turn it into that token all the same: where the twelve strongest heads "
    "are made to look at another token, the model says this one at least one time in ten.",
    at_least=0.1,
)

ALL = (IN_CONTEXT, NEEDED, FIRST_HALF, PAIR, OTHERS, USED, CONSTRUCTED, DIRECTLY, THROUGH)


def measure(run: Run) -> list[Metric]:
    """Measure all claims; none of another model, about which nothing is claimed."""
    if run.config.model != SMOLLM2:
        return []
    first, second = half_losses(run)  # (draws,) each
    strongest, random = losses_without_group(run)  # (draws, halves) each
    best = pair_recall(run)  # (draws,)
    values = {
        IN_CONTEXT: first - second,
        NEEDED: strongest[:, 1] - random[:, 1],
        FIRST_HALF: strongest[:, 0] - first,
        PAIR: best / chance(run),
        OTHERS: _others(run) / chance(run),
        USED: _used(run),
        CONSTRUCTED: run["best/constructed"] - best,
        DIRECTLY: run["copy/directly"][:, :STRONGEST].mean(1),
        THROUGH: says_attended(run),
    }
    return [Metric.over_seeds(claim, by_draw, None) for claim, by_draw in values.items()]


def _used(run: Run) -> np.ndarray:
    """Return in each draw how much less attention on what followed the induction head of the best
    pair has without its previous-token head."""
    first, second = run.names("best")
    layer, number = place_of(run, second)
    whole = run["heads/scores"][:, run.names("measures").index("followers"), layer, number]
    row = run.names("previous").index(first)
    return whole - run["patch/followers"][:, row, run.names("readers").index(second)]


def _others(run: Run) -> np.ndarray:
    """Return in each draw the median, over all previous-token heads but that of the best pair, of
    the recall with the best induction head."""
    rows = [
        index for index, name in enumerate(run.names("previous")) if name != run.names("best")[0]
    ]
    recalls = np.nan_to_num(run["pairs/recall"][:, rows])  # no later head: nothing recalled
    return np.median(recalls.max(2), axis=1)
