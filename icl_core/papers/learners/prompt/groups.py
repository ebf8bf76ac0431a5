"""Which learners are drawn together."""

GROUPS = {
    "main": "one of each kind",
    "steps": "steps on all pairs",
    "states": "rules for a state",
    "solutions": "those that solve",
}
MEMBERS = {
    "main": ("sum", "gd", "cg", "delta", "unit", "recursive", "bayes"),
    "steps": ("sum", "gd", "momentum", "nesterov", "cg", "gd-sigma", "cg-sigma", "bayes"),
    "states": ("sum", "decayed", "delta", "unit", "longhorn", "gated", "delta-sigma", "recursive"),
    "solutions": ("ridge", "squares", "recursive", "cg", "bayes"),
}
