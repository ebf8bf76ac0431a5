"""The lesson on one head that carries what Gemma 3 repeats, from the shipped run alone. Imports no
torch until an answer is asked for."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN
from icl_core.contract.paper_words import LessonWords

STRONGEST = 8  # heads, as “How far back” draws


def _most(run: Run) -> tuple[int, int]:
    """Return the head without which a repeat costs most, layer and number from 0."""
    from icl_core.papers.birth.pretrained.load_run import losses_alone

    costs = losses_alone(run).mean(0)  # (layers, H)
    layer, number = divmod(int(costs.argmax()), costs.shape[1])
    return layer, number


def _looking(run: Run) -> tuple[int, int]:
    """Return the head that looks most at what followed, layer and number from 0."""
    from icl_core.papers.birth.pretrained.load_run import scores

    looks = scores(run, "followers")  # (layers, H)
    layer, number = divmod(int(looks.argmax()), looks.shape[1])
    return layer, number


def _without(run: Run, head: tuple[int, int]) -> float:
    from icl_core.papers.birth.pretrained.load_run import losses_alone

    return float(losses_alone(run).mean(0)[head])


def _whole(run: Run) -> tuple[float, float]:
    """Return what both halves cost with all heads."""
    first, second = run["alone/whole"].mean(0).tolist()
    return first, second


def _lost_looking(run: Run) -> float:
    return _without(run, _looking(run)) - _whole(run)[1]


def _in_global(run: Run) -> int:
    """Return how many of the strongest heads see all positions."""
    from icl_core.papers.birth.pretrained.load_run import place_of, sees_all

    is_global = sees_all(run)
    return sum(
        bool(is_global[place_of(run, name)[0]]) for name in run.names("strongest")[:STRONGEST]
    )


def _name(head: tuple[int, int]) -> str:
    from icl_core.papers.birth.pretrained.load_run import head_id

    return head_id(*head)


LESSON = LessonWords(
    __file__,
    right={
        "needed": (lambda run: _without(run, _most(run)), 0.5),
        "looking": (_lost_looking, 0.05),
        "global": (lambda run: float(_in_global(run)), 0),
    },
    readings={
        "needed": lambda run: _name(_most(run)),
        "without_needed": lambda run: _without(run, _most(run)),
        "whole": lambda run: _whole(run)[1],
        "first": lambda run: _whole(run)[0],
        "looking": lambda run: _name(_looking(run)),
        "lost_looking": _lost_looking,
        "lost_needed": lambda run: _without(run, _most(run)) - _whole(run)[1],
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
