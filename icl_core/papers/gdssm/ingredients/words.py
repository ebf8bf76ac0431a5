"""The numbers in words.md, and which answers are right."""

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.ingredients.claims import gain_left, gain_that_counts
from icl_core.papers.gdssm.ingredients.settings import Config, View
from icl_core.papers.gdssm.shared.captions import EXAMPLE


def _gain(id: str) -> Reading:
    """Return the reading of the share of the gain that a layer keeps."""
    return lambda run, view: gain_that_counts(run, id)


def _choice(run: Run, id: str) -> int:
    share = gain_left(run, id).mean()
    return 0 if share > 0.9 else 2 if share < 0.05 else 1


WORDS = Words(
    __file__,
    Config,
    View,
    readings={  # shares of the gain that are left, 0 where that is as good as nothing
        "two": _gain("two"),  # with windows of 2 and 1
        "one": _gain("one"),
        "fixed": _gain("fixed"),  # with a fixed read-out
        "forgets": _gain("forgets"),  # with A = 0 and 1
        "keeps": _gain("keeps"),
    },
    right={
        "window": lambda run, view: _choice(run, "two"),
        "read": lambda run, view: _choice(run, "fixed"),
    },
    example=EXAMPLE,
)
