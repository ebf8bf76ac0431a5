"""The settings of the bigram task with triggers, apart from its text and its sizes. No torch."""

from typing import Any

from icl_core.contract.knobs import choice, document, settings, slider, toggle

TASK = "the task"  # the group of settings, as the page names it
TRIGGERS = {
    "random": "random, new in every sequence",
    "fixed": "the K most frequent characters",
    "fixed rare": "the 6th to (5+K)th most frequent",
}
OUTPUTS = {
    "uniform": "uniform over the vocabulary",
    "bigram": "as often as each follows the trigger",
}


def triggers_field() -> Any:
    """Return the field `triggers` of a config."""
    return choice(
        "triggers",
        TRIGGERS,
        default="random",
        group=TASK,
        help="what follows a trigger must be read from the context",
    )


def K_field() -> Any:
    """Return the field `K` of a config."""
    return slider("triggers per sequence, K", 1, 10, default=5, group=TASK)


def outputs_field() -> Any:
    """Return the field `outputs` of a config."""
    return choice(
        "outputs",
        OUTPUTS,
        default="uniform",
        group=TASK,
        help="how the character that follows a trigger is drawn",
    )


def no_repeat_field() -> Any:
    """Return the field `no_repeat` of a config."""
    return toggle(
        "no output repeats its trigger",
        default=False,
        group=TASK,
        help="if outputs may repeat their triggers, a sequence can get stuck on one character",
    )


@settings
class KnownTask:
    """The settings of a task that matrices from a file were trained on."""

    text: str = document("text", "Tiny Shakespeare", of="text")
    triggers: str = triggers_field()
    K: int = K_field()
    outputs: str = outputs_field()
    no_repeat: bool = no_repeat_field()
