"""An example of the task and the purpose of each matrix, for the stories of several experiments."""

from typing import Any

from icl_core.contract.story import Example
from icl_core.figures import visible_characters
from icl_core.papers.birth.shared.sequence import on_stage, typed
from icl_core.papers.birth.shared.train import task_of

_ONCE = (("a", ""), ("b", "trigger"), ("c", "output"), ("X", ""))
EXAMPLE = Example((*_ONCE, *_ONCE, ("a", ""), ("b", "query")), "c")
MATRICES = {
    "W_K1": "W_K¹ (looks one back)",
    "W_K2": "W_K² (finds the same character)",
    "W_O2": "W_O² (says what followed)",
}


def stage_example(config: Any) -> Example:
    """Return the stage's sequence up to a trigger that comes again, and what followed it before."""
    task = task_of(config)
    shown = typed(task, *on_stage(task))
    characters = visible_characters(shown.characters)
    again = shown.in_context.nonzero()[:2, 0].tolist()
    if not again:
        return EXAMPLE
    query = again[-1]
    before = characters.index(characters[query])
    roles = {before: "trigger", before + 1: "output", query: "query"}
    pieces = tuple((characters[at], roles.get(at, "")) for at in range(query + 1))
    return Example(pieces, characters[before + 1])
