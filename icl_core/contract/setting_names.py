"""A setting in few words, for the line under a picture and the name of a file."""

import re
from typing import Any

from icl_core.contract.knobs import knobs_of, main_knobs

LONGEST = 110  # characters of a file's name without its ending
_NOT_IN_A_NAME = re.compile(r"[^\w.+-]+")


def named_fields(config: Any, base: Any) -> list[str]:
    """Return the fields that name a setting: the main ones of its class (MAIN), then the others in
    which `config` differs from the preset's config `base`. Fields that do not matter are left
    out."""
    fields = knobs_of(type(config))
    differing = [name for name in fields if getattr(config, name) != getattr(base, name)]
    names = dict.fromkeys([*main_knobs(type(config)), *differing])
    return [
        name
        for name in names
        if not fields[name].shown_if or getattr(config, fields[name].shown_if)
    ]


def setting_line(config: Any, base: Any) -> str:
    """Return the setting as a line: "d = 64, K = 5, triggers = random"."""
    fields = knobs_of(type(config))
    parts = []
    for name in named_fields(config, base):
        knob = fields[name]
        value = getattr(config, name)
        label = knob.options.get(value, "") if knob.kind == "choice" else knob.said(value)
        parts.append(f"{knob.symbol} = {label or value}")
    return ", ".join(parts)


def file_stem(
    experiment_id: str, config: Any, base: Any, drawing: str = "", step: int | None = None
) -> str:
    """Return the name of a file without its ending: "birth-induction-w_k2-step300-d64-K5".

    drawing  the name of the drawing that the file holds
    step     the training step that it shows
    """
    parts = [experiment_id.replace(".", "-"), drawing]
    if step is not None:
        parts.append(f"step{step}")
    parts += [f"{name}{getattr(config, name)}" for name in named_fields(config, base)]
    return "-".join(file_part(part) for part in parts if part)[:LONGEST]


def file_part(text: str) -> str:
    """Return a text as a part of a file's name: letters, digits and "_", ".", "+", "-"."""
    return _NOT_IN_A_NAME.sub("_", text).strip("_.") or "_"
