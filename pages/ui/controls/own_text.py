"""Where a visitor gives a text: pasted or uploaded."""

import streamlit as st

from icl_core import text_counts
from pages.ui.controls.uploads import Give

_MB = text_counts.LARGEST // 2**20
_SAYS = (
    "How often its characters occur, and how often each follows each, becomes the task. Only "
    "these counts are kept, on "
    "this computer; the text is not."
)


def _ask(key: str) -> bytes | None:
    """What was pasted or uploaded, whichever came last; None if nothing was."""
    last = {"on_change": _came, "args": (key,)}
    pasted = st.text_area(
        "Paste a text", key=f"{key}:pasted", height=100, **last, kwargs={"how": "pasted"}
    )
    label = f"or choose a file, UTF-8, up to {_MB} MB"
    file = st.file_uploader(
        label, key=f"{key}:file", max_upload_size=_MB, **last, kwargs={"how": "file"}
    )
    if file is not None and (not pasted or st.session_state.get(f"{key}:last") == "file"):
        return file.getvalue()
    return pasted.encode(errors="surrogatepass") if pasted else None


def _came(key: str, how: str) -> None:
    st.session_state[f"{key}:last"] = how


GIVE = Give(_ask, _SAYS)
