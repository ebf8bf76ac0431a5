"""Charts on their own: as pictures, PNG and SVG with their title, the setting and a file name
(browser/pictures.js), and full screen (browser/full_screen.js)."""

from pathlib import Path

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.settings_io import file_stem, setting_line
from icl_core.figures import frames
from pages.ui.link.address import Setting
from pages.ui.stage import films


def _read(name: str) -> str:
    return (Path(__file__).parents[1] / "browser" / name).read_text(encoding="utf-8")


_PICTURES = st.components.v2.component(
    "icl_pictures",
    html="<span hidden></span>",
    js=frames.browser_file("plotly_parts.js") + _read("full_screen.js") + _read("pictures.js"),
)


def offer(setting: Setting, run: Run) -> None:
    """Have the browser save the page's charts with their titles and the setting of `run`."""
    has_training = films.has_training(setting, run)
    id = setting.id.replace(".", "-")
    data = {
        "id": id,
        "title": setting.experiment.title,
        "line": setting_line(run.config, setting.preset.config),
        "fields": file_stem(id, run.config, setting.preset.config).removeprefix(id).strip("-"),
        "steps": run.snapshot_steps if has_training else [],
        "step": run.step(setting.view) if has_training else None,
    }
    _PICTURES(key="pictures", data=data)
