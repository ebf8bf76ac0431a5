"""The story of the dimension: one step, its noise, and a training at several widths."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, MARKS, Beat, Question, Story, Task, Try
from icl_core.papers.birth.dimension.settings import Config, View, widths_of
from icl_core.papers.birth.dimension.tuned_rates import (
    FIXED,
    at_rates,
    contour,
    over_training,
    tuned,
)
from icl_core.papers.birth.shared.captions import EXAMPLE

# the drawers
THEORY = "Theory beside simulation"
NUMBERS = "Every width"
ONE_STEP = ("readings", "one_step", "noise", "recalls", HEADLINE, MARKS)
TRAINED = ("fixed", "tuned", "rates", "table", MARKS)
SHARES = (1 / 3, 3 / 4)
CAUGHT = (1 / 3, 2 / 3)  # of the way from the fixed rate's recall to that of the largest width
LITTLE = 0.03
START = {"width_shown": "128", "batches_shown": "16"}
FEW = {"width_shown": "64", "batches_shown": "4"}


def _task(config: Config) -> str:
    return (
        "W_O² says what layer 2 has found: it turns what was attended to into a character. For "
        f"that it stores {config.N} pairs of random vectors in d dimensions, here d = "
        f"{widths_of(config)[0]} to {widths_of(config)[-1]}."
    )


def _recall(run: Run, d: int, batches: int) -> float:
    """Return the one-step recall, the mean over seeds."""
    widths = run["task/widths"].tolist()
    numbers = run["task/numbers"].tolist()
    return float(run["one_step/recall"].mean(0)[numbers.index(batches), widths.index(d)])


def _narrow(run: Run, view: View) -> str:
    few = _recall(run, 16, 16)
    many = _recall(run, int(run["task/widths"][-1]), 16)
    return (
        f"From 16 batches one step recalls {few:.0%} at d = 16 and {many:.0%} at d = "
        f"{run['task/widths'][-1]}."
    )


def _gains(run: Run, d: int, batches: int) -> tuple[float, float]:
    """Return what twice the width, and what twice the data, adds to the one-step recall."""
    now = _recall(run, d, batches)
    wider = _recall(run, 2 * d, batches)
    more = _recall(run, d, 2 * batches)
    return wider - now, more - now


def _helps(run: Run, view: View) -> int:
    """Return which choice holds: the width helps more, the data, or neither."""
    wider, more = _gains(run, 64, 4)
    return 2 if max(wider, more) < LITTLE else int(more > wider)


def _either(run: Run, view: View) -> str:
    now = _recall(run, 64, 4)
    wider, more = _gains(run, 64, 4)
    return (
        f"At d = 64 and four batches one step recalls {now:.0%}: {now + wider:.0%} with twice the "
        f"width, {now + more:.0%} with twice the data."
    )


def _theory(run: Run, view: View) -> str:
    half = contour(run, 0.5)
    crossings = [
        (number, d) for number, d in zip(run["task/numbers"], half, strict=True) if np.isfinite(d)
    ]
    where = "nowhere here"
    if crossings:
        number, d = crossings[-1]
        where = f"with {number} batches from d = {d:.0f} on"
    return (
        "How large the overlaps of random vectors are on average can be written down exactly. The "
        f"dotted line is where theory expects one half to be recalled: {where}. Nothing in it is "
        "fitted."
    )


def _reached(run: Run) -> tuple[float, float, float]:
    """Return the mean recall over the training: of d = 32 at the fixed rate and at its best rate,
    and of the largest width at its best rate."""
    recalls = over_training(run)  # (seeds, widths, rates)
    narrow = run["task/widths"].tolist().index(32)
    at_best = at_rates(recalls, tuned(run)).mean(0)  # (widths,)
    at_fixed = recalls[:, narrow, FIXED].mean()
    return float(at_fixed), float(at_best[narrow]), float(at_best[-1])


def _caught(run: Run, view: View) -> int:
    """Return which choice says how far d = 32 catches up at its best rate."""
    fixed, best, widest = _reached(run)
    return int(np.digitize((best - fixed) / (widest - fixed), CAUGHT))


def _tuned(run: Run, view: View) -> str:
    fixed, best, widest = _reached(run)
    return (
        f"Over the training d = 32 recalls {fixed:.0%} on average at the fixed rate and {best:.0%} "
        f"at its best. d = {run['task/widths'][-1]} at its best recalls {widest:.0%}."
    )


def _against_one(run: Run, view: View) -> str:
    """Return what many steps recall in few dimensions, at the best rate, beside a single step."""
    narrow = run["task/widths"].tolist().index(32)
    # (widths,), at the end of the training
    recalls = at_rates(run["curve/recall"][..., -1], tuned(run)).mean(0)
    last = float(recalls[narrow])
    return (
        "Again large widths are faster. Part of it is the learning rate, most of it is the room. "
        f"At d = 32 {run['curve/step'][-1]} steps end at {last:.0%}, and the one step above "
        f"recalls {_recall(run, 32, 16):.0%} from 16 batches."
    )


def _low(run: Run, view: View) -> str:
    number = run["task/numbers"].tolist().index(16)
    widths = run["task/widths"].tolist()
    noise = np.sqrt(run["theory/noise"][0, number])  # (widths,), of the first seed
    return (
        f"From d = 128 to 16 the noise rises from {noise[widths.index(128)]:.3f} to "
        f"{noise[widths.index(16)]:.3f}; the right reading stays at "
        f"{float(run['one_step/signal'][0, number]):.3f}."
    )


BEATS = (
    Beat(
        "start",
        "The map shows what a single gradient step writes into W_O². The diagonal is what it "
        "should store; all else is noise. A pair is recalled if its diagonal cell beats its whole "
        "row.",
        None,
        ("readings",),
        START,
    ),
    Beat(
        "width",
        "Random vectors are nearly orthogonal only if there is room. In few dimensions they "
        "overlap, and every pair answers a little to every other input.",
        None,
        ("one_step", "noise"),
        START,
        ask=Question(
            "One gradient step from 16 batches, but with only 16 dimensions, far fewer than "
            "pairs. How many of them does it recall?",
            ("Fewer than a third", "About half", "More than three quarters"),
            lambda run, view: int(np.digitize(_recall(run, 16, 16), SHARES)),
            _narrow,
            "The largest of all wrong readings has to stay below the right one, so a little noise "
            "in each is enough to lose the pair.",
            ONE_STEP,
        ),
    ),
    Beat(
        "data",
        "There are two kinds of noise. Overlaps shrink with the width, and the noise of too few "
        "data shrinks with more: less of one does not help where the other is larger.",
        None,
        ("noise", "one_step"),
        FEW,
        ask=Question(
            "At d = 64 and four batches: which helps one step more?",
            ("Twice the width", "Twice the data", "Neither"),
            _helps,
            _either,
            "The noise at infinite width is the grey line. Where it is no longer far below the "
            "exact noise, more width cannot help much.",
            ONE_STEP,
        ),
    ),
    Beat("theory", _theory, None, ("one_step", "noise"), START),
    Beat(
        "tuned",
        _against_one,
        None,
        ("fixed", "tuned", "rates"),
        START,
        ask=Question(
            "Now W_O² learns for many steps. At one rate for all, d = 32 is slow. Give it its "
            "best rate: how far does it catch up with the largest width?",
            ("Less than a third of the way", "About half of the way", "More than two thirds"),
            _caught,
            _tuned,
            "A better rate makes the logits move as fast as in a wide model. It does not make the "
            "vectors overlap less.",
            TRAINED,
        ),
    ),
    Beat(
        "close",
        "So a memory needs room: the diagonal is as strong at every width, and the noise around "
        "it is not.",
        None,
        ("readings", "noise"),
        START,
        "View",
        do="Below, under “View”, choose the width 16.",
        done=lambda view: view.width_shown == "16",
        then=_low,
    ),
)

TRIES = (
    Try(
        "One batch at d = 512: what remains is the noise of the data",
        fields={"width_shown": "512", "batches_shown": "1"},
        marks=("readings", "noise"),
    ),
    Try(
        "All the data at d = 16: what remains is overlap",
        fields={"width_shown": "16", "batches_shown": "64"},
        marks=("readings", "noise"),
    ),
    Try("How good is theory, and where does it fail?", drawer=THEORY, marks=("recalls",)),
    Try("See every width in numbers", drawer=NUMBERS, marks=("table",)),
    Try(
        "Embeddings as the paper says, N(0, 1/d)",
        fields={"scale": "paper"},
        marks=("fixed", "rates"),
    ),
)

STORY = Story(Task(_task, EXAMPLE), BEATS, TRIES)
