"""What is on stage: what you see, the verdicts, one player, and the panels it drives."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from time import perf_counter
from typing import Any

import streamlit as st

from icl_core import knobs
from icl_core.experiment import Run
from icl_core.findings import Finding
from pages.ui import address, panels, verdicts, widgets
from pages.ui.address import Setting

_SECONDS_A_SNAPSHOT = 0.5


def show(setting: Setting, run: Run, found: Sequence[Finding], faded: bool = False) -> None:
    """Draw a run with what it measured. `faded`: it is not the one asked for."""
    ticking = _playing(setting)
    # longer than the stage last took to be drawn, or the next tick would cut it short
    pace = max(_SECONDS_A_SNAPSHOT, 1.5 * st.session_state.get(f"took:{setting.id}", 0.0))
    st.fragment(_stage, run_every=pace if ticking else None)(setting, run, found, faded, ticking)


def _stage(setting: Setting, run: Run, found: Sequence[Finding], faded: bool, ticking: bool) -> None:
    began = perf_counter()
    if _playing(setting) != ticking:
        st.rerun()  # how often a fragment runs is only set from outside it
    setting = replace(setting, view=address.refreshed(setting, _shared(setting)))
    steps = run.snapshot_steps
    moves = bool(steps) and "snapshot" in knobs.knobs(setting.experiment.view)
    if moves:
        snapshot = _snapshot(setting, len(steps))
        setting = replace(setting, view=replace(setting.view, snapshot=snapshot))
    with st.container(key="faded-head" if faded else "head"):
        with panels.telling(setting, "headline"):
            headline = setting.experiment.headline(run, setting.view)
            st.html(f'<p class="headline" role="status">{escape(headline, quote=False)}</p>')
        verdicts.chips(found)
    if moves:
        _player(setting, steps, snapshot)
    _shared_knobs(setting, run.config)
    with st.container(key="faded" if faded else "current"), st.container(key="panels"):
        for drawing in setting.experiment.drawings:
            if drawing.applies(run.config):
                panels.panel(setting, drawing, run)
    st.session_state[f"took:{setting.id}"] = perf_counter() - began
    if _playing(setting):  # only a snapshot that was drawn to its end is gone on from
        st.session_state[f"playing:{setting.id}"] = snapshot


def _shared(setting: Setting) -> list[str]:
    """The view's fields that more than one panel depends on."""
    experiment = setting.experiment
    return [field for field in knobs.knobs(experiment.view) if panels.owner(experiment, field) is None]


def _shared_knobs(setting: Setting, config: Any) -> None:
    fields = [field for field in _shared(setting) if field != "snapshot" and widgets.can_move(setting, field, config)]
    for column, field in zip(st.columns(len(fields)) if fields else (), fields, strict=True):
        with column:
            widgets.draw_view(setting, field, getattr(setting.view, field), config)


def _player(setting: Setting, steps: list[int], snapshot: int) -> None:
    """A slider over the snapshots and a button that plays them."""
    # While it plays, a slider of its own that takes no input: a tick that the browser sent before it had seen the
    # last one would else count as the visitor's move, and stop the play.
    key = f"{setting.id}:snapshot{' playing' if _playing(setting) else ''}"
    st.session_state[key] = snapshot
    with st.container(horizontal=True, vertical_alignment="bottom", key="player"):
        label = "❚❚ Pause" if _playing(setting) else "▶ Play"
        st.button(label, key=f"{setting.id}:play", on_click=_toggle, args=(setting, snapshot, len(steps)))
        if len(steps) > 1:
            labels = {index: f"{step} of {steps[-1]}" for index, step in enumerate(steps)}
            shown = {"format_func": labels.__getitem__, "key": key, "disabled": _playing(setting)}
            moved = None if _playing(setting) else _moved
            given = (setting, key, len(steps))
            st.select_slider("training step shown", list(labels), on_change=moved, args=given, **shown)


def _moved(setting: Setting, key: str, count: int) -> None:
    """The visitor's move. While it plays there is none: the slider of before may still report where it stood."""
    if not _playing(setting):
        _stop(setting, st.session_state[key], count)


def _playing(setting: Setting) -> bool:
    return f"playing:{setting.id}" in st.session_state


def _snapshot(setting: Setting, count: int) -> int:
    """The snapshot to show: the address's, or while playing the next one, until the last."""
    key = f"playing:{setting.id}"
    if not _playing(setting):
        return min(setting.view.snapshot, count - 1)
    snapshot = min(st.session_state[key] + 1, count - 1)
    if snapshot == count - 1:
        _stop(setting, snapshot, count)
        st.rerun()
    return snapshot


def _toggle(setting: Setting, snapshot: int, count: int) -> None:
    if _playing(setting):
        _stop(setting, snapshot, count)
    else:
        # one before the first to be shown: every run of the fragment goes one on
        st.session_state[f"playing:{setting.id}"] = -1 if snapshot >= count - 1 else snapshot


def _stop(setting: Setting, snapshot: int, count: int) -> None:
    st.session_state.pop(f"playing:{setting.id}", None)
    base = address.base_view(setting.experiment, setting.preset).snapshot
    address.write("snapshot", base if snapshot == min(base, count - 1) else snapshot, base)
