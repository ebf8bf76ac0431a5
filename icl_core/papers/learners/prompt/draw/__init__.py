"""The drawings of one prompt, and how each learner is drawn wherever it is."""

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
