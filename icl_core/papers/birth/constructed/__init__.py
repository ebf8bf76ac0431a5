"""The induction head written down instead of learned: eqs. 7 and 8 put into the model, with no training at all.
It works where random vectors are nearly orthogonal. Where they are not, every memory answers a little to everything
in the residual stream, and the sum of these whispers drowns the right answer.

At a width where the construction recalls every pair and still fails, a trained model of the same size succeeds. Take
the cross-talk with the rest of the stream out of the construction, and it catches up.

Try:
- "By hand, beside a trained model": how much of the gap does the cross-talk explain?
- "Bigrams in W_F, random embeddings": why do two kinds of knowledge not fit together at d = 256?
- Lower the attention score of a match to 5: what does softer attention cost?
"""

import numpy as np

from icl_core.experiment import Claim, Drawing, Experiment, Metric, Preset, Run
from icl_core.papers.birth.constructed import draw as by_hand
from icl_core.papers.birth.constructed.run import run, widths
from icl_core.papers.birth.constructed.settings import Config, View

WORKS = Claim(
    id="construction-works",
    label="accuracy at d = 512",
    kind="paper",
    text="The matrices of eq. 7 make an induction head.",
    source="Section 4.2, eq. 7",
    at_least=0.98,
    tolerance=0.01,
)
WORKS_WITH_BIGRAMS = Claim(
    id="construction-with-bigrams",
    label="accuracy at d = 512, with W_F",
    kind="paper",
    text="Eq. 8 adds the bigrams to the induction head; with fixed triggers their rows are left out.",
    source="Section 4.2, eq. 8",
    at_least=0.95,
)
GAP = Claim(
    id="training-beats-construction",
    label="accuracy gained by training",
    kind="ours",
    text="At a width where the construction recalls every pair, the trained model is far more accurate.",
    source="not in the paper",
    at_least=0.1,
)
CLOSED = Claim(
    id="cross-talk-is-the-gap",
    label="share of the gap closed",
    kind="ours",
    text="Removing the cross-talk from the construction closes the gap to the trained model.",
    source="not in the paper",
    at_least=1.0,
    tolerance=0.2,
)


def metrics(run: Run) -> list[Metric]:
    """The claims that this setting can bear out, measured."""
    largest = Metric(
        WORKS_WITH_BIGRAMS if run.config.feed_forward else WORKS,
        float(run["sweep/accuracy_kept"][-1]),
        float(run["sweep/error_kept"][-1]),
    )
    if "beside/accuracy" not in run.tensors:
        return [largest]
    at = int(np.flatnonzero(run["sweep/width"] == run.config.d)[0])
    kept, clean = (float(run[f"sweep/accuracy_{talk}"][at]) for talk in ("kept", "stream"))
    gained = float(run["beside/accuracy"][0]) - kept
    closed = (clean - kept) / gained if gained > 0.02 else float("nan")  # no gap, nothing to close
    return [largest, Metric(GAP, gained), Metric(CLOSED, closed)]


def headline(run: Run, view: View) -> str:
    """What you see: how well the construction of width d predicts."""
    at = int(np.flatnonzero(run["sweep/width"] == run.config.d)[0])
    kept, recall = float(run["sweep/accuracy_kept"][at]), float(run["sweep/recall_W_K2_kept"][at])
    start = f"Written by hand at d = {run.config.d}, the induction head is right at {kept:.0%} of in-context positions"
    return f"{start} although W_K² recalls {recall:.0%} of its pairs."


def cost(config: Config) -> float:
    """Giga-operations: three constructions a width are judged on 2^14 positions, and a model may be trained."""
    judged = sum(3 * 2**14 * (6 * d * config.T + 16 * d * d) + 60 * d**3 for d in widths(config))
    trained = config.beside * 128 * config.T * (6 * config.d * config.T + 16 * config.d**2)
    return (judged + trained) / 1e9


EXPERIMENT = Experiment(
    name="constructed",
    title="The induction head by hand",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    metrics=metrics,
    drawings=(
        Drawing("accuracy", by_hand.accuracy, live=True),
        Drawing("gap", by_hand.gap),
        Drawing("recall", by_hand.recall),
        Drawing("errors", by_hand.errors),
        Drawing("readings", by_hand.readings, ("memory",), wide=True),
        Drawing("attention", by_hand.attention, ("cross_talk", "sequence", "marked", "sample", "length"), wide=True),
    ),
    presets=(
        Preset("by hand", "By hand, beside a trained model", Config(beside=300), "Watch the gap, and what closes it."),
        Preset(
            "by hand, paper size",
            "By hand, at T = 256",
            Config(T=256, beside=300),
            "More positions than dimensions: cross-talk cannot be removed altogether.",
            "paper size",
        ),
        Preset(
            "bigrams fail",
            "Bigrams in W_F, random embeddings",
            Config(feed_forward=True, d=256),
            "W_F reads everything in the stream, not only the current character.",
        ),
        Preset(
            "bigrams, orthonormal",
            "Bigrams in W_F, orthonormal embeddings",
            Config(feed_forward=True, d=256, embeddings="orthonormal", triggers="fixed", output=30.0),
            "With no cross-talk among embeddings both kinds of knowledge fit together.",
        ),
        Preset(
            "bigrams, orthonormal, random triggers",
            "Orthonormal, random triggers",
            Config(feed_forward=True, d=256, embeddings="orthonormal", output=30.0),
            "W_F knows every character's bigrams, triggers included: W_O² must outweigh it.",
        ),
    ),
    headline=headline,
    cost=cost,
)
