"""What is told of methods learned from few prompts."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.papers.memformers.learned.metrics import excess, power
from icl_core.papers.memformers.learned.settings import View
from icl_core.papers.memformers.shared.captions import EXAMPLE, compared, times
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.load_run import log_from_least

ROOT = -0.5  # the power of N in the usual bound of uniform convergence
NEAR = 0.25  # of that power: about as fast
MOST = 4  # steps of the method


def _fresh(run: Run) -> tuple[float, float]:
    """Return how far the log-loss on fresh prompts of the method from the fewest is above CGD's,
    and above predicting zero's."""
    own = float(log_from_least(run["evaluated/loss"])[:, 0, -1].mean())
    return own - float(log_from_least(run["baseline/cg"])[-1]), own - float(np.log(run.config.d))


def _came_out(run: Run, view: View) -> str:
    over_cg, over_zero = (compared(each) for each in _fresh(run))
    return (
        f"On fresh prompts its error is {over_cg} conjugate gradient's, and {over_zero} that of "
        "predicting zero."
    )


def _own(run: Run, view: View) -> str:
    own, cg = (
        log_from_least(run[name])[:, 0, -1].mean()
        for name in ("evaluated/train", "baseline/cg_train")
    )
    return (
        f"It has learned its {run['size/prompts'][0]} prompts by heart: there its error is "
        f"{compared(float(own - cg))} conjugate gradient's."
    )


def _closes(run: Run, view: View) -> str:
    fresh, own = (
        log_from_least(run[f"evaluated/{name}"])[:, -1, -1].mean() for name in ("loss", "train")
    )
    return (
        f"More prompts close the gap. From {run['size/prompts'][-1]:,} prompts the error on fresh "
        f"ones is {compared(float(fresh - own))} that on its own."
    )


def _falls(run: Run, view: View) -> str:
    fall = float(power(run, view.steps_shown) or 0)
    mean = excess(run, view.steps_shown, "loss").mean(0)  # [N]
    few, many = run["size/prompts"][[0, -1]]
    return (
        f"The excess falls like N to the power {written(fall, 1)}: from {few} prompts to {many:,} "
        f"it becomes {times(float(mean[0] / mean[-1]))} smaller."
    )


def _faster(run: Run, view: View) -> int:
    fall = -float(power(run, view.steps_shown) or 0)
    return int(np.digitize(fall, (-ROOT - NEAR, -ROOT + NEAR)))


STORY = Story(
    task=Task(
        "A prompt hides weights, and pairs of x and label show them. The numbers Λ of a method, "
        "which say how much of each gradient a step uses, are learned directly, without a "
        "transformer, from a few prompts that are used again and again.",
        EXAMPLE,
    ),
    beats=(
        Beat(
            "few",
            _own,
            None,
            ("own", "fresh"),
            ask=Question(
                "On the ten prompts that it learned from, the method is far ahead of conjugate "
                "gradient: see “Own prompts”. How good is it on prompts that it has not seen?",
                (
                    "Still ahead of it",
                    "Behind it, but better than predicting zero",
                    "No better than predicting zero",
                ),
                lambda run, view: int(np.digitize(_fresh(run)[0], (0.0,)) + (_fresh(run)[1] >= 0)),
                _came_out,
                "With ten prompts the steps can be tuned to these very prompts, direction by "
                "direction. On others they are steps of wrong lengths. The paper's Figure 11 "
                "shows the own prompts alone.",
                (HEADLINE, "gap", "fresh", "risk", "training"),
            ),
        ),
        Beat("many", _closes, None, ("gap",)),
        Beat(
            "theorem",
            "The theorem speaks of errors that cannot grow without limit. Here squared errors can: "
            "Gaussian numbers have no bound.",
            None,
            ("risk",),
            {"steps_shown": 2},
            "Theorem 5.1",
            ask=Question(
                "Take 100 times as many prompts. Uniform convergence, which the paper's proof "
                "cites, usually gives a bound on what is lost by learning from so few, the "
                "excess, that falls like 1/√N: ten times. The paper itself names no rate. How far "
                "does the excess fall for two steps?",
                ("Less than that", "About as far", "Much further"),
                _faster,
                _falls,
                "A bound holds for the worst case. Near the best of its few numbers the excess "
                "falls like 1/N; before, it falls faster still.",
                ("risk",),
            ),
        ),
        Beat(
            "deeper",
            "How fast it falls depends on the number of steps.",
            None,
            ("risk",),
            {"steps_shown": 2},
            "Theorem 5.1",
            do="Set the steps of the method to 4, below.",
            done=lambda view: view.steps_shown >= MOST,
            then=_falls,
        ),
        Beat(
            "close",
            "You have seen a method learn its prompts by heart. Where a figure shows the training "
            "prompts alone, ask for fresh ones.",
            None,
            ("gap", "own", "fresh"),
        ),
    ),
    tries=(
        Try("Train to the end, on all 20 examples of a prompt", "to the end", marks=("gap",)),
        Try(
            "Free the numbers Λ of each step: what changes at 1,000 prompts, and what at 10?",
            "free",
            marks=("own", "fresh"),
        ),
        Try(
            "Take six numbers of prompts: how many are enough?",
            "how many",
            drawer="Theorem 5.1",
            marks=("risk",),
        ),
        Try(
            "Put x and w* on spheres, so that the error is bounded, as Theorem 5.1 asks",
            "bounded prompts",
            drawer="Theorem 5.1",
            marks=("risk",),
        ),
        Try(
            "Put a Memformer in the place of Λ: up to which batch size is it ahead of CGD?",
            "batch size",
            drawer="Batch size",
            marks=("against_cg",),
        ),
        Try("Learn from 1, 2 and 5 prompts", "to the end", {"sizes": "1, 2, 5"}, marks=("gap",)),
    ),
)
