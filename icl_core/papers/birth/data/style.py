"""How the kinds of data and the matrices look in every drawing, by id."""

from icl_core.papers.birth.shared.draw import GREY, NAMES

SHORT = {
    "frequent": "1 frequent",
    "rare": "5 rare",
    "random_1": "1 random",
    "random_3": "3 random",
    "random_5": "5 random",
    "bigram": "3 random, bigram",
}
KINDS = {
    "frequent": "layer 4",
    "rare": "layer 6",
    "random_1": "layer 8",
    "random_3": "layer 5",
    "random_5": "layer 7",
    "bigram": "trained",
}
PROBES = {  # by the id of a curve: name, colour, symbol
    "accuracy": ("right in context", "trained", "diamond"),
    "recall_W_O2": (NAMES["W_O2"], "layer 3", "circle"),
    "recall_W_K2": (NAMES["W_K2"], "layer 2", "square"),
    "recall_W_K1_early": (f"{NAMES['W_K1']} early", "layer 1", "triangle-up"),
}


def short(name: str) -> str:
    """Return the short name of a kind of data; its id if it is none of today's."""
    return SHORT.get(name, name)


def kind(name: str) -> str:
    """Return the colour of a kind of data."""
    return KINDS.get(name, GREY)


def signed(value: float, places: int) -> str:
    """Return a number with its sign, a plus or a minus."""
    return f"{value:+.{places}f}".replace("-", "\N{MINUS SIGN}")
