"""The story of the data: which lets the head form, which matrix is late, what generalises, and what
is stored."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, MARKS, Beat, Question, Story, Task, Try
from icl_core.papers.birth.data.arrivals import BIGRAM, LEVEL, UNIFORM, arrival, by_case, latest, of
from icl_core.papers.birth.data.draw.speed import ordered, shown, when
from icl_core.papers.birth.data.draw.style import short
from icl_core.papers.birth.data.settings import View
from icl_core.papers.birth.shared.captions import EXAMPLE

# the drawers
OUTPUTS = "Uniform or bigram outputs"
STORED = "What is stored"
NUMBERS = "Every training"
SEEN = ("arrivals", "losses", "w_o2", "w_k2", "w_k1", "table", HEADLINE, MARKS)
FIRST = ("frequent", "random_5", "rare")  # in the order of the choices
SHARES = (0.15, 0.75)  # of what stays right on other outputs

TASK = Task(
    "The model learns to continue “ab…a” with “b” where “a” is a trigger that has come before (a "
    "prediction “in context”), and which characters often follow which. Six trainings differ only "
    "in their triggers, how many and which, and what follows them.",
    EXAMPLE,
)


def _first(run: Run, view: View) -> int:
    """Return which of FIRST forms its head first."""
    return int(np.argmin([arrival(run, "accuracy", name) for name in FIRST]))


def _order(run: Run, view: View) -> str:
    arrivals = ", ".join(
        f"{short(name)} {when(arrival(run, 'accuracy', name), run)}" for name in ordered(run)
    )
    return f"{LEVEL:.0%} are right in context: {arrivals}."


def _few(run: Run, view: View) -> str:
    one = when(arrival(run, "accuracy", "random_1"), run)
    five = when(arrival(run, "accuracy", "random_5"), run)
    return (
        f"With five random triggers per sequence the head forms {five}, with one {one}. Fewer "
        "triggers mean fewer places at which the context tells the answer, so there is less to "
        "learn from."
    )


def _late(run: Run, view: View) -> str:
    def of_output(name: str) -> str:
        return when(arrival(run, "recall_W_O2", name), run)

    return (
        f"W_O² recalls {LEVEL:.0%} with five random triggers {of_output('random_5')}. With one "
        f"random trigger: {of_output('random_1')}; with five rare ones: {of_output('rare')}. The "
        "less is copied, the fewer outputs W_O² learns from."
    )


def _keys(run: Run, view: View) -> str:
    rare = when(arrival(run, "recall_W_K2", "rare"), run)
    random = when(arrival(run, "recall_W_K2", "random_5"), run)
    last = [short(name) for name in shown(run) if latest(run, name) == "recall_W_K1_early"]
    return (
        "Random triggers ask more of W_K²: any character may be one. With five fixed triggers it "
        f"recalls {LEVEL:.0%} {rare}, with five random ones {random}. W_K¹ has "
        f"the same to store for all data, and comes last with {', '.join(last) or 'none of them'}."
    )


def _accuracy(run: Run, trained_on: str, outputs: str) -> float:
    """Return the mean accuracy over seeds on `outputs`, "uniform" or "bigram", after the training
    on the data called `trained_on`."""
    return float(of(run, f"evaluated/accuracy_{outputs}", trained_on).mean())


def _stays(run: Run, view: View) -> int:
    """Return which choice holds of the training on bigram outputs, tested on uniform ones."""
    own = _accuracy(run, BIGRAM, "bigram")
    other = _accuracy(run, BIGRAM, "uniform")
    return 2 - int(np.digitize(other / own, SHARES))


def _fails(run: Run, view: View) -> str:
    bigram_on_bigram = _accuracy(run, BIGRAM, "bigram")
    bigram_on_uniform = _accuracy(run, BIGRAM, "uniform")
    uniform_on_uniform = _accuracy(run, UNIFORM, "uniform")
    uniform_on_bigram = _accuracy(run, UNIFORM, "bigram")
    return (
        f"Trained on bigram outputs: {bigram_on_bigram:.0%} right on these, "
        f"{bigram_on_uniform:.0%} on uniform ones. Trained on uniform outputs: "
        f"{uniform_on_uniform:.0%} on these, {uniform_on_bigram:.0%} on bigram ones."
    )


def _weak(run: Run, view: View) -> str:
    capital, lower = by_case(of(run, "diagonal/W_K2", UNIFORM), run.names("characters"))
    share = float((capital / lower).mean())
    return (
        "Every map holds the pairs of one matrix on its diagonal. W_K² is weak where a character "
        f"is seldom a trigger: a capital letter is stored {share:.0%} as strongly as a lowercase "
        "one."
    )


BEATS = (
    Beat(
        "order",
        "One row for each kind of triggers; the diamond says when the head works. A trigger that "
        "comes often teaches the same lesson again and again.",
        None,
        ("arrivals", "losses"),
        {"data_shown": "random_3"},
        ask=Question(
            "Five trainings with uniform outputs differ only in their triggers. Which of these "
            "forms its head first?",
            ("One fixed, frequent trigger", "Five random triggers", "Five fixed, rare triggers"),
            _first,
            _order,
            "What counts is how often a sequence has something to copy, and how many different "
            "triggers W_K² has to store.",
            SEEN,
        ),
    ),
    Beat("few", _few, None, ("arrivals", "losses"), {"data_shown": "random_3"}),
    Beat("output", _late, None, ("w_o2", "arrivals"), {"data_shown": "random_3"}),
    Beat("keys", _keys, None, ("w_k2", "w_k1"), {"data_shown": "random_3"}),
    Beat(
        "elsewhere",
        "Bigram outputs teach the model to copy what is likely; uniform outputs teach it to copy.",
        None,
        ("generalise", "fits"),
        {"data_shown": "random_3"},
        OUTPUTS,
        Question(
            "Train on outputs that often follow their trigger anyway, then test on uniform "
            "outputs. How many stay right?",
            ("About as many as on its own outputs", "Clearly fewer", "Next to none"),
            _stays,
            _fails,
            "Likely outputs are predicted by W_F without any context, so they hardly train the "
            "induction head.",
            ("generalise", "fits"),
            there=True,
        ),
    ),
    Beat(
        "stored",
        _weak,
        None,
        ("maps", "frequencies"),
        {"data_shown": "random_3"},
        STORED,
        do="Choose the data “5 fixed, rare”.",
        done=lambda view: view.data_shown == "rare",
        then="Now only five rows of W_K² stand out: those of the five triggers. No other "
        "character was ever one.",
    ),
)

TRIES = (
    Try(
        "One fixed trigger: what does W_K² store?",
        fields={"data_shown": "frequent"},
        drawer=STORED,
        marks=("maps",),
    ),
    Try("Which matrices do bigram outputs starve?", drawer=OUTPUTS, marks=("fits",)),
    Try("See every training in numbers", drawer=NUMBERS, marks=("table",)),
    Try(
        "Train twice as long: does one random trigger arrive?",
        fields={"steps": 600},
        marks=("arrivals",),
    ),
    Try(
        "The paper's size: sequences four times as long, batches eight times as large",
        "paper size",
        marks=("arrivals",),
    ),
)

STORY = Story(TASK, BEATS, TRIES)
