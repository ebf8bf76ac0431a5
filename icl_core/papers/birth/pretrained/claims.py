"""What is claimed of SmolLM2 and of Gemma 3, each claim over five draws of random tokens. The heads
are the same in all draws. All claims are ours: the paper trains its own models."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.pretrained.load_run import (
    QUANTILES,
    chance,
    half_losses,
    losses_without_group,
    pair_recall,
    place_of,
    says_attended,
    sees_all,
)
from icl_core.papers.birth.pretrained.settings import GEMMA3, SMOLLM2

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
    label="loss of the second half without 12 heads: the strongest, less nine of ten random sets, "
    "in nats",
    text="The heads that look at what followed are needed for it: without the twelve strongest, "
    "the second time costs more than without nine of ten sets of twelve others that are of neither "
    "kind, by at least 3 nats.",
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

of_gemma = partial(Claim, kind="ours", source="not in the paper", at={"model": GEMMA3})
LOOKING = 8  # heads that look most at what followed
NEAR, FURTHEST = 32, 2000  # positions

GEMMA_IN_CONTEXT = of_gemma(
    id="gemma-in-context",
    panel="without",
    label="loss of the first half less that of the second, in nats",
    text="Gemma 3 learns random tokens in context: each costs at least 10 nats less the second "
    "time.",
    at_least=10.0,
)
GEMMA_GLOBAL = of_gemma(
    id="gemma-global-layers",
    panel="heads",
    label="of the 8 heads that look most at what followed, those in layers that see all",
    text="The heads that find what followed are in the layers that see all positions: at least six "
    "of the eight that look most, though these are three layers of eighteen.",
    at_least=6.0,
)
GEMMA_ONE = of_gemma(
    id="gemma-one-head",
    panel="alone",
    label="without one head alone: loss of the second half less that of the first, in nats",
    text="One head of 72 carries it: without it alone a token costs no less the second time than "
    "the first. The head is chosen on a draw of its own.",
    at_least=0.0,
)
GEMMA_FIRST = of_gemma(
    id="gemma-one-head-first-half",
    panel="alone",
    label="loss of the first half without this head, less that with it, in nats",
    text="This head is hardly needed for anything else here: the first half costs at most 2 nats "
    "more without it.",
    at_most=2.0,
)
GEMMA_LOOKS = of_gemma(
    id="gemma-looking-is-not-mattering",
    panel="alone",
    label="what is lost without the head that looks most, as a share of that without this head",
    text="To look most is not to matter most: without the head that looks most at what followed a "
    "repeat becomes dearer by at most a quarter of what it does without the head that carries it.",
    at_most=0.25,
)
GEMMA_DISTANCE = of_gemma(
    id="gemma-distance",
    panel="losses_by_distance",
    label="loss of a repeat 2,000 positions on, less that 32 positions on, in nats",
    text="Far beyond the window of most layers, 512 positions, a repeat costs at most one nat more "
    "than nearby, not as much as the first time.",
    at_most=1.0,
)

OF_SMOLLM2 = (IN_CONTEXT, NEEDED, FIRST_HALF, PAIR, OTHERS, USED, CONSTRUCTED, DIRECTLY, THROUGH)
OF_GEMMA3 = (GEMMA_IN_CONTEXT, GEMMA_GLOBAL, GEMMA_ONE, GEMMA_FIRST, GEMMA_LOOKS, GEMMA_DISTANCE)
ALL = (*OF_SMOLLM2, *OF_GEMMA3)


def measure(run: Run) -> list[Metric]:
    """Measure the claims on the run's model; none of another model, about which nothing is
    claimed."""
    values_of = {SMOLLM2: _of_smollm2, GEMMA3: _of_gemma3}.get(run.config.model)
    values = values_of(run) if values_of else {}
    return [Metric.over_seeds(claim, by_draw, None) for claim, by_draw in values.items()]


def _of_smollm2(run: Run) -> dict[Claim, np.ndarray]:
    first, second = half_losses(run)  # (draws,) each
    strongest, random = losses_without_group(run)  # (draws, halves), (draws, sets, halves)
    best = pair_recall(run)  # (draws,)
    return {
        IN_CONTEXT: first - second,
        NEEDED: strongest[:, 1] - np.quantile(random[..., 1], QUANTILES[-1]),
        FIRST_HALF: strongest[:, 0] - first,
        PAIR: best / chance(run),
        OTHERS: _others(run) / chance(run),
        USED: _used(run),
        CONSTRUCTED: run["best/constructed"] - best,
        DIRECTLY: run["copy/directly"][:, :STRONGEST].mean(1),
        THROUGH: says_attended(run),
    }


def _of_gemma3(run: Run) -> dict[Claim, np.ndarray]:
    first, second = half_losses(run)  # (draws,) each
    needed = place_of(run, run.names("needed")[0])
    looking = place_of(run, run.names("strongest")[0])
    alone = run["alone/losses"]  # (draws, layers, H, halves)
    without_needed = alone[:, *needed]  # (draws, halves)
    whole = run["alone/whole"]  # (draws, halves)
    lost_needed = without_needed[:, 1] - whole[:, 1]
    lost_looking = alone[:, *looking][:, 1] - whole[:, 1]
    distances = run["distance/tokens"].tolist()
    repeats = run["distance/loss"]  # (draws, distances)
    return {
        GEMMA_IN_CONTEXT: first - second,
        GEMMA_GLOBAL: _in_global_layers(run),
        GEMMA_ONE: without_needed[:, 1] - without_needed[:, 0],
        GEMMA_FIRST: without_needed[:, 0] - whole[:, 0],
        GEMMA_LOOKS: lost_looking / lost_needed,
        GEMMA_DISTANCE: repeats[:, distances.index(FURTHEST)] - repeats[:, distances.index(NEAR)],
    }


def _in_global_layers(run: Run) -> np.ndarray:
    """Return in each draw how many of the heads that look most at what followed see all
    positions."""
    measures = run.names("measures")
    values = run["heads/scores"]  # (draws, measures, layers, H)
    looks = values[:, measures.index("followers")] - values[:, measures.index("even")]
    draws, _, heads = looks.shape
    strongest = np.argsort(-looks.reshape(draws, -1), axis=1)[:, :LOOKING]  # layer · H + head
    return sees_all(run)[strongest // heads].sum(1).astype(float)


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
