"""An example of the task, and what each matrix is for, for the stories of several experiments."""

from typing import Any

from icl_core.contract.knobs import NotHere
from icl_core.contract.story import Example
from icl_core.figures.character_labels import visible_characters
from icl_core.papers.birth.shared.sequence import on_stage, typed
from icl_core.papers.birth.shared.train import task_of

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


MATRICES = {
    "W_K1": "W_K¹ (finds the previous character)",
    "W_K2": "W_K² (finds the same character)",
    "W_O2": "W_O² (says what followed)",
}
