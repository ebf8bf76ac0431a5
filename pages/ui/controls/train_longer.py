"""The menu "Train on": the same setting for more steps, from where its run ended or anew."""

from typing import Any

import streamlit as st

from icl_core.contract.experiment import LENGTH
from icl_core.jobs import phase_helper
from icl_core.jobs.estimate import estimates
from icl_core.machine import limits
from icl_core.runs.request import Request
from pages.ui.controls import training
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.look import formats


def offer(setting: Setting) -> None:
    """Draw a button for each longer training of the setting; nothing if the setting has no
    steps."""
    configs = setting.experiment.longer(setting.config)
    if not configs or limits.read_only():
        return
    has_end = phase_helper.has_end(setting.request)
    steps = getattr(setting.config, LENGTH)
    with st.popover("Continue training", help="Some claims need a longer training to be decided"):
        st.caption(_start_text(setting, has_end, steps))
        seconds_of_all = estimates(setting.id, configs, alone=True)
        for config, seconds in zip(configs, seconds_of_all, strict=True):
            longer_steps = getattr(config, LENGTH)
            share = 1 - steps / longer_steps if has_end else 1.0  # of the steps still to train
            time = formats.duration(None if seconds is None else seconds * share)
            reason = training.too_long(seconds)
            st.button(
                f"{longer_steps:,} steps · {time}",
                key=f"train on to {longer_steps}",
                on_click=_train,
                args=(setting, config),
                disabled=bool(reason),
                help=reason or None,
            )


def _start_text(setting: Setting, has_end: bool, steps: int) -> str:
    """Return whether a longer training goes on from the run's end or starts anew, in a sentence."""
    if has_end:
        return (
            f"Continues from step {steps:,}; the result is the same as that of one long training."
        )
    if setting.experiment.goes_on(setting.config):
        return "Starts anew: only the latest runs trained on this machine can continue."
    return "Starts anew: here a longer training differs from its first step on."


def _train(setting: Setting, config: Any) -> None:
    """Make the longer training the page's setting and submit it."""
    address.write(
        LENGTH,
        getattr(config, LENGTH),
        getattr(setting.preset.config, LENGTH),
    )
    training.submit(Request(setting.id, config))
