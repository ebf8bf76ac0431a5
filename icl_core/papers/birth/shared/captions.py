"""The task, an example of it, and the purpose of each matrix, for the stories of several
experiments."""

from typing import Any

from icl_core.contract.knobs import NotHere
from icl_core.contract.story import Example, Task
from icl_core.figures.style import visible_characters
from icl_core.papers.birth.shared.sequence import example
from icl_core.papers.birth.shared.train import task_of

_ONCE = (("a", ""), ("b", "trigger"), ("c", "output"), ("X", ""))
EXAMPLE = Example((*_ONCE, *_ONCE, ("a", ""), ("b", "query")), "c")


def example_of(config: Any) -> Example:
    """Return the sequence on stage as an example, up to the last trigger that has come before; that
    of the classroom where a visitor's text is not on this computer."""
    try:
        text, triggers = example(task_of(config))
    except NotHere:
        return EXAMPLE
    last = max(text.rfind(trigger) for trigger in triggers)
    first = text.find(text[last])
    roles = {text[last]: "trigger", text[first + 1]: "output"}
    shown = visible_characters(text)
    pieces = [(shown[at], roles.get(text[at], "")) for at in range(last)]
    return Example((*pieces, (shown[last], "query")), shown[first + 1])


TASK = Task(
    "The model reads a sequence character by character and predicts the next one. Some characters "
    "are triggers: what follows a trigger is drawn anew for every sequence, so only its earlier "
    "occurrence can tell.",
    example_of,
)
MATRICES = {
    "W_K1": "W_K¹ (finds the previous character)",
    "W_K2": "W_K² (finds the same character)",
    "W_O2": "W_O² (says what followed)",
}
