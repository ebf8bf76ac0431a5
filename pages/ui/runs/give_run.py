"""Where a run's file is given, to be listed and opened like the runs that were made here."""

import streamlit as st

from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.runs import owners, store
from icl_core.share import uploaded_run
from pages.ui.controls import filters
from pages.ui.link import visitors
from pages.ui.look.escape import escape_markdown
from pages.ui.runs import run_filters

_SAID = "what became of the file that was given"
_KEY = "give a run"


def show() -> None:
    """Draw the upload of a run's file, and what became of the last one. On a server only whoever
    is at it gives runs: all visitors would see them as the runs of their settings."""
    if not visitors.is_at_machine():
        return
    with st.popover("Give a run's file", key="give"):
        st.markdown(
            "A file that “Download” has given, here or on another computer. Its digest, settings "
            "and tensors are checked, and its numbers are measured anew."
        )
        size = uploaded_run.LARGEST // 2**20
        st.file_uploader("Run (safetensors)", key=_KEY, max_upload_size=size, on_change=_keep)
    problem, key = st.session_state.pop(_SAID, ("", ""))
    if problem:
        st.error(f"The file is not kept: {escape_markdown(sentence(problem))}")
    elif key:
        st.success("The run is kept: its numbers were measured anew, and its stage was drawn.")


def _keep() -> None:
    """Keep what was given, and show it alone; or say why it cannot be kept."""
    file = st.session_state[_KEY]
    if file is None:
        return
    try:
        header = uploaded_run.store_upload(file.getvalue(), file.name, store.default())
        owners.add(header.key, visitors.name())
    except (BadSetting, OSError) as problem:
        st.session_state[_SAID] = str(problem), ""
    else:
        st.session_state[_SAID] = "", header.key
        run_filters.clear()
        filters.put(run=header.key)
