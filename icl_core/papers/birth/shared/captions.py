"""An example of the task and the purpose of each matrix, for the stories of several experiments."""

from icl_core.contract.story import Example

_ONCE = (("a", ""), ("b", "trigger"), ("c", "output"), ("X", ""))
EXAMPLE = Example((*_ONCE, *_ONCE, ("a", ""), ("b", "query")), "c")
MATRICES = {
    "W_K1": "W_K¹ (looks one back)",
    "W_K2": "W_K² (finds the same character)",
    "W_O2": "W_O² (says what followed)",
}
