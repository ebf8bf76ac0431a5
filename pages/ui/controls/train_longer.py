"""Train on: the same setting for 2, 5 or 10 times as many steps, from where its run
ended or anew."""

from typing import Any

import streamlit as st

from icl_core.jobs import warm_start
from icl_core.jobs.estimate import estimates
from icl_core.machine import limits
from pages.ui.controls import training
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.look import formats


def offer(setting: Setting) -> None:
    """A button for each length that the setting can have beyond its own; nothing where it has no
    steps."""
    every = warm_start.longer(setting.id, setting.config)
    if not every or limits.read_only():
        return
    goes_on, steps = (
        warm_start.has_end(setting.id, setting.config),
        getattr(setting.config, warm_start.FIELD),
    )
    with st.popover("Train on", help="Some claims need a longer training to be decided"):
        st.caption(_from(setting, goes_on, steps))
        for config, time in zip(every, estimates(setting.id, every, alone=True), strict=True):
            wanted = getattr(config, warm_start.FIELD)
            share = 1 - steps / wanted if goes_on else 1.0
            label = f"{wanted:,} steps · {formats.duration(None if time is None else time * share)}"
            refused = training.too_long(time)
            st.button(
                label,
                key=f"train on to {wanted}",
                on_click=_go,
                args=(setting, config),
                disabled=bool(refused),
                help=refused or None,
            )


def _from(setting: Setting, goes_on: bool, steps: int) -> str:
    if goes_on:
        return f"Goes on from step {steps:,}, and ends as if it had been this long from the start."
    if setting.experiment.goes_on(setting.config):
        return "Starts anew: only the latest runs trained on this machine can go on."
    return "Starts anew: here a longer training differs from its first step on."


def _go(setting: Setting, config: Any) -> None:
    address.write(
        warm_start.FIELD,
        getattr(config, warm_start.FIELD),
        getattr(setting.preset.config, warm_start.FIELD),
    )
    training.submit(setting.id, config)
