"""How each rule is drawn wherever it is."""

STYLES = {
    "sum": ("gradient descent", "dash"),
    "decayed": ("layer 1", "solid"),
    "delta": ("layer 2", "solid"),
    "unit": ("layer 3", "solid"),
    "longhorn": ("layer 4", "dash"),
    "gated": ("layer 5", "solid"),
    "squares": ("layer 6", "solid"),
    "kalman": ("floor", "dot"),
}
SHORT = {
    "sum": "sum",
    "decayed": "decayed",
    "delta": "delta",
    "unit": "unit",
    "longhorn": "implicit",
    "gated": "gated",
    "squares": "squares",
    "kalman": "Kalman",
}
