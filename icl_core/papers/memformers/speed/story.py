"""What is told of what memory is worth."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.papers.memformers.shared.captions import EXAMPLE, times
from icl_core.papers.memformers.speed.crossings import WITHIN, arrivals, at_best, models_of, typical
from icl_core.papers.memformers.speed.draw.curves import nearest
from icl_core.papers.memformers.speed.models import CGD, LFOM, LINEAR, STEPPED, Timed
from icl_core.papers.memformers.speed.settings import View

BOUNDS = (1.3, 4.0)  # of how many times as fast: no faster below, far faster above
MORE = 1.25  # a factor from which memory is worth more, or less, elsewhere
LARGE = 0.1  # a learning rate
ENOUGH = 0.06  # one from which on it is the nearest that was trained
EVERYWHERE = (HEADLINE, "steps", "worth", "losses", "steps there", "every rate", "table")


def _factor(run: Run, coordinates: str, model: Timed = CGD, slower: Timed = LINEAR) -> float:
    """Return how many times as fast as a slower one a model is, each at its best rate; 1 if that is
    not known."""
    factors = at_best(run, coordinates, model, slower)
    return factors.mean if factors is not None and np.isfinite(factors.mean) else 1.0


def _spread(run: Run, coordinates: str, slower: Timed = LINEAR) -> str:
    """Return the lowest and the highest seed's factor of the CGD-like Memformer, in brackets."""
    factors = at_best(run, coordinates, CGD, slower)
    return "" if factors is None else f" ({factors.values.min():.1f} to {factors.values.max():.1f})"


def _range(run: Run, coordinates: str) -> str:
    """Return the factor in words, with its spread."""
    return f"{times(_factor(run, coordinates))} as fast{_spread(run, coordinates)}"


def _sooner(run: Run, view: View) -> str:
    return (
        "On equal prompts, each at its best learning rate, the CGD-like Memformer is "
        f"{_range(run, 'original')} as the linear transformer; in brackets, the lowest and the "
        "highest seed."
    )


def _parts(run: Run, view: View) -> str:
    alone = _factor(run, "original", STEPPED)
    beyond = _factor(run, "original", CGD, STEPPED)
    return (
        "Much of the gain is not memory. A Memformer also learns a step size α for every layer. A "
        f"linear transformer with α alone (diamonds) is {times(alone)} as fast; memory adds a "
        f"factor of {beyond:.1f}{_spread(run, 'original', STEPPED)}."
    )


def _elsewhere(run: Run, view: View) -> int:
    ratio = _factor(run, "whitened", CGD, STEPPED) / _factor(run, "original", CGD, STEPPED)
    return int(np.digitize(ratio, (1 / MORE, MORE)))


def _both(run: Run, view: View) -> str:
    here, there = (
        _factor(run, coordinates, CGD, STEPPED) for coordinates in ("whitened", "original")
    )
    return (
        f"Memory now adds a factor of {here:.1f}{_spread(run, 'whitened', STEPPED)}, against "
        f"{there:.1f}. With its α the Memformer arrives {_range(run, 'whitened')} as the linear "
        "transformer."
    )


def _needed(run: Run, coordinates: str, model: Timed) -> str:
    """Return the training steps that a model needs in the median, at its best rate."""
    return f"{typical(arrivals(run, model, coordinates)).min():,.0f}"


def _eased(run: Run, view: View) -> str:
    linear, cgd = (
        [_needed(run, each, model) for each in ("original", "whitened")] for model in (LINEAR, CGD)
    )
    return (
        f"Where Σ⁻¹ need not be found, the linear transformer needs {linear[1]} steps in place of "
        f"{linear[0]}, the Memformer {cgd[1]} in place of {cgd[0]}. What is left to learn is the "
        "steps, and there memory helps most."
    )


def _at_large(run: Run, view: View) -> str:
    index = nearest(run, view.rate)
    late = [
        each.name
        for each in models_of(run)
        if not np.isfinite(typical(arrivals(run, each, view.coordinates))[index])
    ]
    never = f"{len(late)} of {len(models_of(run))} models never come within {WITHIN} of the floor"
    return (
        f"At a rate of {run['rate/values'][index]:g}, {never}: their steps carry them to and fro "
        "above it. A rate that is too small costs time; one that is too large never arrives."
    )


def _worth(run: Run, view: View) -> str:
    return (
        "You have seen what memory is worth: at the end of the training nothing. On the way to it "
        "a Memformer gains mostly by its step sizes; memory itself adds a factor of "
        f"{_factor(run, 'original', CGD, STEPPED):.1f}."
    )


STORY = Story(
    task=Task(
        "Models with memory and without learn to find a prompt's hidden weights from pairs of x "
        f"and label. We count the training steps until each is within {WITHIN:.0%} of its floor, "
        "the least error that it can reach.",
        EXAMPLE,
    ),
    beats=(
        Beat(
            "sooner",
            "So a Memformer buys time, not power. The left figure counts training steps at each "
            "learning rate; lower is faster.",
            None,
            ("steps",),
            {"coordinates": "original"},
            ask=Question(
                "Trained to the end, a Memformer and a linear transformer are equally good. Is "
                "the Memformer's training shorter?",
                ("No, less than 1.3 times", "Yes, 1.3 to 4 times", "Yes, more than 4 times"),
                lambda run, view: int(np.digitize(_factor(run, "original"), BOUNDS)),
                _sooner,
                "A Memformer has more numbers that do the same work, so that more settings of "
                "them are good, and training meets one of them sooner. This is how we read it; it "
                "is not proven.",
                EVERYWHERE,
            ),
        ),
        Beat("alpha", _parts, None, ("worth",), {"coordinates": "original"}),
        Beat(
            "whitened",
            _eased,
            None,
            ("steps", "worth"),
            {"coordinates": "whitened"},
            ask=Question(
                "Now learn in whitened coordinates, in which all directions of x vary alike, so "
                "that Σ⁻¹, the inverse of their covariance, need not be found. What is memory "
                "alone worth there?",
                ("Less than before", "About as much", "More than before"),
                _elsewhere,
                _both,
                "In the original coordinates most steps go into finding Σ⁻¹, and memory is little "
                "help with that. Whitening takes this part away.",
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
            done=lambda view: view.rate >= ENOUGH,
            then=_at_large,
        ),
        Beat(
            "close",
            _worth,
            None,
            ("steps", "worth"),
            {"coordinates": "original"},
        ),
    ),
    tries=(
        Try(
            "Learn at a rate of 0.1: which models never arrive?",
            fields={"rate": LARGE},
            marks=("losses",),
        ),
        Try(
            "Compare models with a step size of their own: how much is left to memory?",
            fields={"shown": "memory"},
            marks=("steps", "losses"),
        ),
        Try(
            "Learn in whitened coordinates",
            fields={"coordinates": "whitened"},
            marks=("steps", "worth"),
        ),
        Try(
            "Follow one model at every rate",
            fields={"model": LFOM.id},
            drawer="Every rate",
            marks=("every rate",),
        ),
        Try("Take two layers in place of four", "two layers", marks=("worth",)),
    ),
)
