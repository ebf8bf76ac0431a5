"""How each learner is drawn wherever it is, and how shares and titles are written."""

from icl_core.contract.number_text import significant
from icl_core.figures import number_text

LEAST = 1e-6  # shares below this are written as 0
# a colour's name, a dash and a symbol of each learner
STYLES = {
    "sum": ("gradient descent", "dash", "circle-open"),
    "gd": ("gradient descent", "solid", "circle"),
    "momentum": ("momentum", "dash", "square"),
    "nesterov": ("nesterov", "dash", "square-open"),
    "cg": ("conjugate gradient", "solid", "x"),
    "gd-sigma": ("layer 8", "solid", "circle"),
    "cg-sigma": ("layer 8", "dash", "x"),
    "ridge": ("layer 7", "solid", "diamond"),
    "squares": ("layer 5", "dash", "diamond"),
    "bayes": ("floor", "dot", "diamond-open"),
    "decayed": ("layer 1", "solid", "triangle-down"),
    "delta": ("layer 2", "solid", "triangle-up"),
    "unit": ("layer 3", "solid", "triangle-up"),
    "longhorn": ("layer 4", "dash", "triangle-up"),
    "gated": ("layer 5", "solid", "triangle-down"),
    "delta-sigma": ("layer 2", "dash", "cross"),
    "recursive": ("layer 6", "solid", "hexagon"),
}


def share_text(value: float) -> str:
    """Return a share left: with two digits where it is small, without places where it is large,
    and 0 where it is rounding."""
    if value < LEAST:
        return "0"
    if value < 0.01:
        return significant(value, 2)
    return number_text(value, 3 if value < 1 else 1 if value < 100 else 0)


def capitalised(text: str) -> str:
    """Return a text with a capital first letter; `str.capitalize` would turn Σ into σ."""
    return text[0].upper() + text[1:]
