"""The lesson on one head that carries what Gemma 3 repeats, from the shipped run alone. Imports no
torch until an answer is asked for."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN
from icl_core.contract.paper_words import LessonWords


def _needed(run: Run) -> str:
    from icl_core.papers.birth.pretrained.load_run import needed_head

    return needed_head(run)


def _looking(run: Run) -> str:
    from icl_core.papers.birth.pretrained.load_run import looking_head

    return looking_head(run)


def _without(run: Run, head: str) -> float:
    """Return what a token of the second half costs without a head."""
    from icl_core.papers.birth.pretrained.load_run import losses_alone, place_of

    return float(losses_alone(run).mean(0)[place_of(run, head)])


def _whole(run: Run) -> tuple[float, float]:
    """Return what both halves cost with all heads."""
    first, second = run["alone/whole"].mean(0).tolist()
    return first, second


def _rise(run: Run, head: str) -> float:
    return _without(run, head) - _whole(run)[1]


def _in_global(run: Run) -> int:
    """Return how many of the strongest heads that are drawn by distance see all positions."""
    from icl_core.papers.birth.pretrained.load_run import FOLLOWED, place_of, sees_all

    is_global = sees_all(run)
    heads = run.names("strongest")[:FOLLOWED]
    return sum(bool(is_global[place_of(run, name)[0]]) for name in heads)


LESSON = LessonWords(
    __file__,
    right={
        "needed": (lambda run: _without(run, _needed(run)), 0.5),
        "looking": (lambda run: _rise(run, _looking(run)), 0.05),
        "global": (lambda run: float(_in_global(run)), 0),
    },
    readings={
        "needed": _needed,
        "without_needed": lambda run: _without(run, _needed(run)),
        "whole": lambda run: _whole(run)[1],
        "first": lambda run: _whole(run)[0],
        "looking": _looking,
        "lost_looking": lambda run: _rise(run, _looking(run)),
        "lost_needed": lambda run: _rise(run, _needed(run)),
        "in_global": _in_global,
    },
).lesson(
    name="one-head",
    experiment="pretrained",
    preset="gemma3",
    working=15,
    hidden=(PRESETS, SETTINGS, TRAIN, EXPERIMENTS, "Your own text", "Evidence"),
    predict=("alone", "without"),
)
