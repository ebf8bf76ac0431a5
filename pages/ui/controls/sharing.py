"""Share, export, projector: the menu at the right of the experiments."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from icl_core.contract import knobs
from icl_core.runs import store
from icl_core.runs.store import Header
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments


def tools(setting: Setting, shown: Header | None) -> None:
    """The three tools of a paper's page, on which there is the run `shown`, one under the other."""
    st.markdown("**Share.** This link writes out every setting and the version:")
    address_now = (st.context.url or "").split("?")[0]
    st.code(
        f"{address_now}?{urlencode(address.all_fields(setting))}", language=None, wrap_lines=True
    )
    st.markdown(
        "**Export.** The run, and Python that draws it. Figures and tables are under Data and "
        "in Numbers."
    )
    if shown is not None:
        name = f"{setting.id}-{shown.digest[:8]}.safetensors"
        content = partial(store.default().content, shown)
        st.download_button("Run (safetensors)", content, name, key="export", on_click="ignore")
    st.code(snippet(setting), language="python")
    on = "projector" in st.query_params
    set_widget("projector", on)
    st.toggle(
        "Projector",
        on,
        **widget_arguments("projector", _projector),
        help="The stage alone, larger; m brings this menu back, Page Up and Page Down walk the "
        "script",
    )


def _projector() -> None:
    on = {"projector": "1"} if st.session_state["projector"] else {}
    pending_address.change(on, drop=["projector"])


def snippet(setting: Setting) -> str:
    """Python that loads this run and draws its first panel."""
    default = knobs.values(type(setting.config)())
    changed = {
        field: value
        for field, value in knobs.values(setting.config).items()
        if value != default[field]
    }
    fields = ", ".join(f"{field}={value!r}" for field, value in changed.items())
    return f"""from icl_core import registry
from icl_core.runs import store

experiment = registry.experiment("{setting.id}")
config = experiment.config({fields})
header = store.default().find("{setting.id}", config)
run = store.default().load(header)
experiment.drawings[0].draw(run, experiment.view()).figure.plotly().show()"""
