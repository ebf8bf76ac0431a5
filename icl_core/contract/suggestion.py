"""The name that a mistyped one probably stands for, said alike on the command line and on pages."""

import difflib
from collections.abc import Iterable

LONGEST = 80  # characters of a mistyped name that are compared


def nearest(typed: str, names: Iterable[str]) -> str:
    """Return the name that is most like `typed`, whatever the case; empty if none is like it."""
    by_lower_case = {name.lower(): name for name in names}
    near = difflib.get_close_matches(typed[:LONGEST].lower(), by_lower_case, 1)
    return by_lower_case[near[0]] if near else ""


def did_you_mean(typed: str, names: Iterable[str]) -> str:
    """Return " (did you mean 'seeds'?)", which ends a sentence about `typed`; empty if no name is
    like it."""
    name = nearest(typed, names)
    return f" (did you mean {name!r}?)" if name else ""
