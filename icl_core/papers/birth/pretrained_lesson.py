"""The lesson on a real language model, from the shipped run alone. Imports no torch until an answer
is asked for."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN
from icl_core.contract.paper_words import LessonWords


def _counts(run: Run) -> tuple[int, int, int]:
    """Return how many heads find what followed, find the previous token, and there are."""
    from icl_core.papers.birth.pretrained.load_run import roles
    from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS

    every = list(roles(run).values())
    return every.count(INDUCTION), every.count(PREVIOUS), len(every)


def _share(run: Run) -> float:
    induction, previous, every = _counts(run)
    return 100 * (induction + previous) / every


def _losses(run: Run) -> tuple[float, float, float]:
    """Return the loss of the second half with all heads, without the group of the strongest, and
    without as many random ones, the median of all sets."""
    import numpy as np

    from icl_core.papers.birth.pretrained.load_run import half_losses

    _, second = half_losses(run)
    at = run["ablation/heads"].tolist().index(int(run["ablation/group"]))
    strongest = run["ablation/strongest"][:, at, 1]
    return (
        float(second.mean()),
        float(strongest.mean()),
        float(np.median(run["ablation/random"][:, :, at, 1])),
    )


def _rise(run: Run) -> float:
    whole, strongest, _ = _losses(run)
    return strongest - whole


def _needed(run: Run) -> tuple[str, float, float]:
    """Return the previous-token head without which another head loses most attention on what
    followed, that loss, and the largest without any other previous-token head."""
    from icl_core.papers.birth.pretrained.load_run import attention_lost

    lost = attention_lost(run)
    names = run.names("previous")
    head = names[int(lost.argmax()) // lost.shape[1]]
    others = [row for row, name in enumerate(names) if name != head]
    return head, float(lost.max()), float(lost[others].max())


def _looks_back(run: Run) -> float:
    """Return the attention of that head on the previous token, in percent."""
    from icl_core.papers.birth.pretrained.load_run import place_of, scores

    return 100 * float(scores(run, "previous")[place_of(run, _needed(run)[0])])


LESSON = LessonWords(
    __file__,
    right={"few": (_share, 0.1), "without": (_rise, 0.3), "needed": (_looks_back, 2)},
    readings={
        "induction": lambda run: _counts(run)[0],
        "previous": lambda run: _counts(run)[1],
        "heads": lambda run: _counts(run)[2],
        "all_heads": lambda run: _losses(run)[0],
        "without_strongest": lambda run: _losses(run)[1],
        "without_random": lambda run: _losses(run)[2],
        "head": lambda run: _needed(run)[0],
        "lost": lambda run: _needed(run)[1],
        "lost_next": lambda run: _needed(run)[2],
    },
).lesson(
    name="language-model",
    experiment="pretrained",
    preset="smollm2",
    working=15,
    hidden=(PRESETS, SETTINGS, TRAIN, EXPERIMENTS, "Your own text", "Evidence"),
    predict=("heads", "without"),
)
