"""The task, an example of it, and the purpose of each matrix, for the stories of several
experiments."""

from icl_core.contract.story import Example, Task

_ONCE = (("a", ""), ("b", "trigger"), ("c", "output"), ("X", ""))
EXAMPLE = Example((*_ONCE, *_ONCE, ("a", ""), ("b", "query")), "c")
TASK = Task(
    "The model reads a sequence character by character and predicts the next one. Some characters "
    "are triggers: what follows a trigger is drawn anew for every sequence, so only its earlier "
    "occurrence can tell.",
    EXAMPLE,
)
MATRICES = {
    "W_K1": "W_K¹ (finds the previous character)",
    "W_K2": "W_K² (finds the same character)",
    "W_O2": "W_O² (says what followed)",
}
