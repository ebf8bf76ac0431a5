"""What the paper's abstract calls key ingredients, and what is known of layers without them."""

from functools import partial

import numpy as np

from icl_core.contract import statistics
from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.shared.load_run import COUNTS

SIZE = {"f": 10, "N": 10, "seeds": range(3, 6)}  # the paper's
ours = partial(Claim, kind="ours", at=SIZE)

INGREDIENTS = Claim(
    id="key-ingredients",
    panel="ends",
    label="share of the gain left without products of tokens, or without reading by the query",
    kind="paper",
    text="Without products of tokens in a window, and without the product of the state with the "
    "query, nothing is left of the gain of one step over predicting zero: of these two layers the "
    "better one, at its best seed. (The paper gives no number; here up to 5% counts as nothing.)",
    quote="The theoretical construction elucidates the role of local self-attention and "
    "multiplicative interactions in recurrent architectures as the key ingredients",
    source="Abstract, there without an experiment",
    at=SIZE,
    at_most=0.05,
)
WINDOW_TWO = ours(
    id="window-of-two",
    panel="ends",
    label="window of 2: loss above that of its construction by",
    text="A window of two tokens that moves on by tokens learns a step too, with every second "
    "product as noise: it is at least as good as its construction, which uses one entry of Q, at "
    "the worst seed.",
    source="not in the paper, whose window holds three tokens; the construction is exact",
    at_most=0.0,
    tolerance=0.01,
)
FORGETS = ours(
    id="no-memory",
    panel="ends",
    label="A = 0: loss differs from one step on the last pair by",
    text="A layer that keeps nothing of its state takes the step of the last pair alone, at the "
    "worst seed.",
    source="not in the paper; the step is exact",
    near=0.0,
    tolerance=0.01,
)
KEEPS = ours(
    id="decay-given",
    panel="ends",
    label="A = 1 given: loss differs from one step by",
    text="The decay need not be learned: where it is 1 from the start, the layer is as good as one "
    "step of gradient descent, at the worst seed.",
    source="not in the paper, whose construction has A = 1",
    near=0.0,
    tolerance=0.01,
)

ALL = (INGREDIENTS, WINDOW_TWO, FORGETS, KEEPS)


def measure(run: Run) -> list[Metric]:
    """Measure all claims; they are undecided where a training had not come to its end."""
    without = ("one", "fixed")
    best = max(float(gain_left(run, id).max()) for id in without)
    still = " ".join(filter(None, (unfinished(run, id) for id in without)))
    near = ((FORGETS, "forgets"), (KEEPS, "keeps"))
    return [
        Metric(INGREDIENTS, best, unfinished=still),
        Metric(WINDOW_TWO, _highest(run, "two"), unfinished=unfinished(run, "two")),
        *(Metric(claim, worst(run, id), unfinished=unfinished(run, id)) for claim, id in near),
    ]


def gain_left(run: Run, id: str) -> np.ndarray:
    """Return the gain over predicting zero as a share of that of one step, on the same tasks,
    [seeds]."""
    zero, one = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one"))
    return (zero - np.asarray(run[f"evaluated/{id}"], float)) / (zero - one)


def gain_that_counts(run: Run, id: str) -> float:
    """Return the mean of `gain_left` over the seeds, 0 where that does not count."""
    share = float(gain_left(run, id).mean())
    return 0.0 if abs(share) < COUNTS else share


def worst(run: Run, id: str) -> float:
    """Return a layer's loss over that of its construction less 1, of the seed that is farthest
    off."""
    away = run[f"evaluated/{id}"] / run[f"constructed/{id}"][0] - 1
    return float(away[np.abs(away).argmax()])


def _highest(run: Run, id: str) -> float:
    """Return a layer's loss over that of its construction less 1, of the worst seed."""
    return float((run[f"evaluated/{id}"] / run[f"constructed/{id}"][0] - 1).max())


def unfinished(run: Run, id: str) -> str:
    """Return why a training does not decide what is claimed of its end; empty if it does."""
    matters = COUNTS * float(run["baseline/one"][0])
    return statistics.still_falling(run[f"curve/{id}"], matters, run["curve/step"])
