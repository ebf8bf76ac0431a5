"""What is told of the laboratory: what a memory holds, in which forms, and in which order it is
learned."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, LAST, MARKS, Beat, Example, Question, Story, Task, Try
from icl_core.papers.birth.laboratory.load_run import at, halves, place, waiting
from icl_core.papers.birth.laboratory.settings import HEADS, View

# the drawers
VECTORS = "Random vectors"
CAPACITY = "Capacity"
FORMS = "Other forms"
LEARNED = "Learned memory"
MANY = 512  # pairs, which 64 dimensions cannot hold
WIDTH = View().width
PAIRS = View().pairs

TASK = Task(
    "A memory stores pairs of random vectors, u and v, as a matrix W: the sum of their outer "
    "products v uᵀ. Asked with u it answers W u, and the pair is recalled if of all stored v its "
    "own is the nearest.",
    Example(
        (
            ("u₁", "x"),
            ("v₁", "y"),
            ("u₂", "x"),
            ("v₂", "y"),
            ("u₃", "x"),
            ("v₃", "y"),
            ("u₂", "query"),
        ),
        "v₂",
    ),
)


def _near(run: Run, view: View) -> str:
    typical, new = (
        float(at(run, f"near/{name}", near=view.width).mean())
        for name in ("independent", "remapped")
    )
    return (
        f"With {view.width} dimensions the inner product of two random vectors is typically "
        f"{typical:.2f}, against 1 with themselves. Between a vector and its remapping W₀u it is "
        f"{new:.2f}: a random matrix makes new vectors."
    )


def _half(run: Run) -> float:
    return float(halves(run)[place(run, "width", WIDTH)])


def _many(run: Run, view: View) -> int:
    """Return the index of the choice that says of how many pairs half are recalled: about d, some
    multiple of d, about d²."""
    return int(np.digitize(_half(run), (2 * WIDTH, WIDTH**2 / 2)))


def _stored(run: Run, view: View) -> str:
    return (
        f"Of {_half(run):.0f} pairs half are recalled, of {WIDTH} pairs "
        f"{_recalled(run, WIDTH):.0%}."
    )


def _recalled(run: Run, pairs: int) -> float:
    return float(at(run, "capacity/equal", width=WIDTH, capacity=pairs).mean())


def _mixed(run: Run, view: View) -> str:
    share = float(at(run, "capacity/equal", width=view.width, capacity=view.pairs).mean())
    return (
        f"Of {view.pairs:,} pairs {share:.0%} are recalled. No pair is deleted: each still reads "
        "about 1, but some other output reads more."
    )


def _heads(run: Run, name: str) -> float:
    return float(at(run, f"form/{name}", width=128, pairs=64, taken=0).mean())


def _better(run: Run, view: View) -> int:
    """Return the index of the choice that recalls more: every head stores all pairs, each stores a
    share, both alike."""
    gain = _heads(run, "shared") - _heads(run, "split")
    return 2 if abs(gain) < 0.05 else int(gain < 0)


def _both_ways(run: Run, view: View) -> str:
    shared = _heads(run, "shared")
    split = _heads(run, "split")
    return (
        f"{shared:.0%} are recalled if every head stores all, {split:.0%} if each stores an eighth."
    )


def _missed(run: Run, view: View) -> str:
    share = float(at(run, "form/shared", width=128, pairs=64, taken=HEADS // 2).mean())
    return (
        f"With half of the heads gone {share:.0%} are still recalled. So it is hard to say which "
        "head of a trained model knows what."
    )


def _late(run: Run, view: View) -> int:
    """Return the index of the choice that says how much later a pair is learned that is half as
    frequent: as soon, twice as late, four times as late."""
    return int(np.digitize(2.0 ** -float(np.nanmean(waiting(run))), (1.5, 3.0)))


def _later(run: Run, view: View) -> str:
    return (
        f"It takes {2.0 ** -float(np.nanmean(waiting(run))):.1f} times as many, by a fit through "
        "all pairs."
    )


def _middle(run: Run) -> float | None:
    """Return the first step at which half of the pairs are recalled, None if there is none."""
    indices = np.flatnonzero(run["curve/recall"][0] >= 0.5)
    return float(run["curve/step"][indices[0]]) if len(indices) else None


def _norm(run: Run, view: View) -> str:
    plain, norm = (float(run[f"curve/ratio_{name}"][:, -1].mean()) for name in ("plain", "norm"))
    return (
        "You have seen what the paper's memories rest on: vectors that are nearly orthogonal, and "
        f"readings that are a little noisy. Frequent pairs end {plain:.1f} times as strong as rare "
        f"ones; with layer norm {norm:.1f} times."
    )


BASE = {"width": WIDTH, "pairs": PAIRS}
BEATS = (
    Beat("near", _near, None, ("near",), BASE),
    Beat(
        "many",
        "So a matrix holds more pairs than it has dimensions, and fewer than it has numbers. The "
        "dotted lines are a formula: an answer of 1 must be larger than the noise of all other "
        "outputs.",
        None,
        ("capacity",),
        BASE,
        ask=Question(
            f"W has {WIDTH} × {WIDTH} numbers. How many random pairs can it store until only half "
            "of them are recalled?",
            (
                f"About {WIDTH}, one for each dimension",
                "A few hundred",
                f"About {WIDTH**2:,}, one for each number",
            ),
            _many,
            _stored,
            "Each pair adds noise of variance 1/d² to every reading, so the count of numbers, d², "
            "matters. The noise must stay under 1 for the largest of all other outputs, and that "
            "costs a factor that grows with the logarithm.",
            ("capacity", "concrete", "forms", "half", HEADLINE),
        ),
    ),
    Beat(
        "mixed",
        "Here is one memory. Each column asks for a pair, and the diagonal is its right output. "
        "Where a wrong output wins, its cell is outlined.",
        None,
        ("concrete",),
        {"width": WIDTH, "pairs": 64, "form": "full"},
        "View",
        do=f"Raise the stored pairs to {MANY} or more, below.",
        done=lambda view: view.pairs >= MANY,
        then=_mixed,
    ),
    Beat(
        "heads",
        _missed,
        None,
        ("heads",),
        {"width": 128, "pairs": 64, "taken": 0},
        FORMS,
        ask=Question(
            "A memory of width 128 is cut into eight narrow heads, and has 64 pairs to store. "
            "Which recalls more?",
            ("Every head stores all pairs", "Each head stores an eighth of them", "Both alike"),
            _better,
            _both_ways,
            "A narrow head confuses its inputs, and it also answers when it is asked for pairs of "
            "other heads. If all heads store all pairs, their right answers add up and the random "
            "ones average out.",
            ("heads", "forms"),
        ),
    ),
    Beat(
        "order",
        "A strong pair is one that came up often: strength follows frequency at first. Then a "
        "learned pair stops growing, and the rare ones catch up.",
        _middle,
        ("strengths", "first"),
        BASE,
        LEARNED,
        ask=Question(
            "Now gradient descent learns pairs of very different frequency. One comes up half as "
            "often as another. How many steps does it take until its output gets a probability of "
            "one half?",
            ("About as many", "About twice as many", "About four times as many"),
            _late,
            _later,
            "Until it is learned, each step makes a pair stronger in proportion to its frequency. "
            "So what counts is how often it has come up, frequency times steps, and other pairs "
            "disturb that little.",
            ("first", "strengths", "recall", HEADLINE, MARKS),
        ),
    ),
    Beat("norm", _norm, LAST, ("evened",), BASE, LEARNED),
)

TRIES = (
    Try(
        "Give the vectors 16 dimensions only",
        fields={"width": 16, "pairs": 16},
        marks=("near", "concrete"),
    ),
    Try(
        "Sets of three vectors: find the best threshold",
        fields={"members": 3, "width": 256},
        drawer=FORMS,
        marks=("sets",),
    ),
    Try(
        "Squeeze 64 pairs through an inner width of 8",
        fields={"pairs": 64, "form": "factorised", "rank": 8},
        drawer=FORMS,
        marks=("concrete", "factorised"),
    ),
    Try("1,024 pairs: which form still recalls them?", fields={"pairs": 1024}, marks=("forms",)),
    Try("Learn as many pairs as there are dimensions", "tight", marks=("strengths",)),
)

STORY = Story(TASK, BEATS, TRIES)
