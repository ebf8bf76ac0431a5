"""The menu "Share and export" of a paper's page."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from icl_core.contract import knobs
from icl_core.runs import store
from icl_core.runs.store import Header
from pages.ui.link import address
from pages.ui.link.address import Setting


def tools(setting: Setting, header: Header | None) -> None:
    """Draw the menu's two parts; `header` is that of the run on screen, if there is one."""
    st.markdown("**Share.** Link with every setting:")
    page = (st.context.url or "").split("?")[0]
    link = f"{page}?{urlencode(address.all_fields(setting))}"
    st.code(link, language=None, wrap_lines=True)
    st.markdown(
        "**Export.** The run, and Python that draws it. Figures and tables are under Data and in "
        "Numbers."
    )
    if header is not None:
        name = f"{setting.id}-{header.digest[:8]}.safetensors"
        content = partial(store.default().content, header)
        st.download_button("Run (safetensors)", content, name, key="export", on_click="ignore")
    st.code(snippet(setting), language="python")


def snippet(setting: Setting) -> str:
    """Return Python code that loads this run and draws its first panel."""
    defaults = knobs.values(type(setting.config)())
    arguments = ", ".join(
        f"{field}={value!r}"
        for field, value in knobs.values(setting.config).items()
        if value != defaults[field]
    )
    return f"""from icl_core import registry
from icl_core.runs import store

experiment = registry.experiment("{setting.id}")
config = experiment.config({arguments})
header = store.default().find("{setting.id}", config)
run = store.default().load(header)
experiment.drawings[0].draw(run, experiment.view()).figure.plotly().show()"""
