"""What is told of what memory is worth."""

import numpy as np

from icl_core.experiment import Run
from icl_core.papers.memformers.shared.told import EXAMPLE, times
from icl_core.papers.memformers.speed.crossings import WITHIN, arrivals, at_best, models_of, typical
from icl_core.papers.memformers.speed.draw.curves import nearest
from icl_core.papers.memformers.speed.models import CGD, LFOM, LINEAR, STEPPED, Timed
from icl_core.papers.memformers.speed.settings import View
from icl_core.script import HEADLINE, Beat, Question, Script, Task, Try

BOUNDS = (1.3, 4.0)  # of how many times sooner: no sooner below, far sooner above
MORE = 1.25  # a factor from which memory is worth more, or less, elsewhere
LARGE = 0.1  # a learning rate
EVERYWHERE = (HEADLINE, "steps", "worth", "losses", "steps there", "every rate", "table")


def _factor(run: Run, coordinates: str, model: Timed = CGD, slower: Timed = LINEAR) -> float:
    """How many times sooner a model arrives than a slower one, each at its best rate; 1 if that is not known."""
    found = at_best(run, coordinates, model, slower)
    return found.mean if found is not None and np.isfinite(found.mean) else 1.0


def _range(run: Run, coordinates: str) -> str:
    """The factor in words, with the lowest and the highest seed's."""
    found = at_best(run, coordinates, CGD, LINEAR)
    spread = "" if found is None else f" ({found.values.min():.1f} to {found.values.max():.1f})"
    return f"{times(_factor(run, coordinates))} sooner{spread}"


def _sooner(run: Run, view: View) -> str:
    return (
        f"On equal prompts, each at its best learning rate, the CGD-like Memformer arrives {_range(run, 'original')} "
        "than the linear transformer; in brackets, the lowest and the highest seed."
    )


def _parts(run: Run, view: View) -> str:
    alone, beyond = _factor(run, "original", STEPPED), _factor(run, "original", CGD, STEPPED)
    return (
        "Much of the gain is not memory. A Memformer also learns a step size α for every layer. A linear transformer "
        f"with α alone (diamonds) arrives {times(alone)} sooner; memory adds a factor of {beyond:.1f}."
    )


def _elsewhere(run: Run, view: View) -> int:
    ratio = _factor(run, "whitened") / _factor(run, "original")
    return int(np.digitize(ratio, (1 / MORE, MORE)))


def _both(run: Run, view: View) -> str:
    there = times(_factor(run, "original"))
    return f"The Memformer now arrives {_range(run, 'whitened')}, against {there} in the original coordinates."


def _at_large(run: Run, view: View) -> str:
    index = nearest(run, view.rate)
    late = [each.name for each in models_of(run)
            if not np.isfinite(typical(arrivals(run, each, view.coordinates))[index])]  # fmt: skip
    never = f"{len(late)} of {len(models_of(run))} models never come within {WITHIN} of the floor"
    return (
        f"At a rate of {run['rate/values'][index]:g}, {never}: their steps carry them to and fro above it. A rate that "
        "is too small costs time, one that is too large costs the end."
    )


SCRIPT = Script(
    task=Task(
        "Models with memory and without learn to find a prompt's hidden weights from pairs of x and label, and all can "
        f"reach the same least error, the floor. We count the training steps until they are within {WITHIN:.0%} of it.",
        EXAMPLE,
    ),
    beats=(
        Beat(
            "sooner",
            "So memory buys time, not power. The left figure counts training steps at each learning rate; lower is "
            "faster.",
            None,
            ("steps",),
            {"coordinates": "original"},
            ask=Question(
                "Trained to the end, models with memory and without are equally good. Does memory make the training "
                "shorter?",
                ("No, less than 1.3 times", "Yes, 1.3 to 4 times", "Yes, more than 4 times"),
                lambda run, view: int(np.digitize(_factor(run, "original"), BOUNDS)),
                _sooner,
                "Memory lets a later layer mend what an earlier one did, so that more settings of the numbers are "
                "good, and training meets one of them sooner. This is how we read it; it is not proven.",
                EVERYWHERE,
            ),
        ),
        Beat("alpha", _parts, None, ("worth",), {"coordinates": "original"}),
        Beat(
            "whitened",
            "The directions of x that vary little slow everyone alike. Without them, what is left to learn is the "
            "steps, and there memory helps most.",
            None,
            ("steps", "worth"),
            {"coordinates": "whitened"},
            ask=Question(
                "Now learn in whitened coordinates, in which all directions of x vary alike, so that Σ⁻¹ need not be "
                "found. What is memory worth there?",
                ("Less than before", "About as much", "More than before"),
                _elsewhere,
                _both,
                "In the original coordinates most steps go into finding Σ⁻¹, and memory is no help with that. "
                "Whitening takes this part away.",
                EVERYWHERE,
            ),
        ),
        Beat(
            "rate",
            "Each curve is one model's log-loss above the floor while it trains.",
            None,
            ("losses",),
            {"rate": 0.01, "coordinates": "original"},
            "View",
            do="Set the learning rate to 0.1, below.",
            done=lambda view: view.rate >= LARGE / 2,
            then=_at_large,
        ),
        Beat(
            "close",
            "You have seen what memory is worth: nothing at the end of the training, and a good part of the way to it.",
            None,
            ("steps", "worth"),
            {"coordinates": "original"},
        ),
    ),
    tries=(
        Try("Learn at a rate of 0.1: which models never arrive?", fields={"rate": LARGE}, marks=("losses",)),
        Try("Compare models with a step size of their own: how much is left to memory?", fields={"shown": "memory"},
            marks=("steps", "losses")),
        Try("Learn in whitened coordinates", fields={"coordinates": "whitened"}, marks=("steps", "worth")),
        Try("Follow one model at every rate", fields={"model": LFOM.id}, drawer="Every rate", marks=("every rate",)),
        Try("Take two layers in place of four", "two layers", marks=("worth",)),
    ),
)  # fmt: skip
