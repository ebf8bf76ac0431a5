"""The texts in words.md, of panels that several experiments draw, all of whose numbers are handed
in; and the task, an example of it, and the purpose of each matrix, for their stories."""

from typing import Any

from icl_core.contract.knobs import NotHere
from icl_core.contract.story import Example, Task
from icl_core.contract.words import Words
from icl_core.figures.character_labels import visible_characters
from icl_core.papers.birth.shared.sequence import on_stage, typed
from icl_core.papers.birth.shared.train import task_of

WORDS = Words(__file__)


_ONCE = (("a", ""), ("b", "trigger"), ("c", "output"), ("X", ""))
EXAMPLE = Example((*_ONCE, *_ONCE, ("a", ""), ("b", "query")), "c")


def example_of(config: Any) -> Example:
    """Return the sequence on stage as an example, up to the last trigger that has come before; that
    of the classroom where a visitor's text is not on this computer."""
    try:
        task = task_of(config)
    except NotHere:
        return EXAMPLE
    sequence = typed(task, *on_stage(task))
    query = int(sequence.in_context.nonzero()[-1, 0])
    text = sequence.characters
    labels = visible_characters(sequence.characters)
    before = [at for at in range(query) if text[at] == text[query]]
    roles = dict.fromkeys(before, "trigger") | {at + 1: "output" for at in before}
    pieces = [(labels[at], roles.get(at, "")) for at in range(query)]
    return Example((*pieces, (labels[query], "query")), labels[before[0] + 1])


TASK = Task(
    "The model reads characters and predicts the next one. Some are triggers: what follows one is "
    "drawn anew for every sequence, so only its earlier occurrence can tell: a prediction “in "
    "context”.",
    example_of,
)
MATRICES = {
    "W_K1": "W_K¹ (finds the previous character)",
    "W_K2": "W_K² (finds the same character)",
    "W_O2": "W_O² (says what followed)",
}
