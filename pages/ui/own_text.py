"""A visitor's own text as a setting: pasted or uploaded, counted, told, and used by the digest of its counts."""

import streamlit as st

from icl_core import text_counts
from icl_core.knobs import BadSetting, Knob
from icl_core.runs import texts
from icl_core.text_counts import TextCounts
from pages.ui import documents
from pages.ui.address import Setting
from pages.ui.plain import plain

_MB = text_counts.LARGEST // 2**20


def give(setting: Setting, field: str, knob: Knob, value: str) -> None:
    """Where a text can be given, with what is in it."""
    st.markdown(
        "How often its characters occur, and how often each follows each, becomes the task. Only these counts are "
        "kept, on this computer; the text is not."
    )
    key = f"{setting.id}:{field}"
    content = _given(key)
    if content is not None:
        _found(setting, field, knob, value, content)


def _given(key: str) -> bytes | None:
    """What was pasted or uploaded, whichever came last; None if nothing was."""
    last = {"on_change": _came, "args": (key,)}
    pasted = st.text_area("Paste a text", key=f"{key}:pasted", height=100, **last, kwargs={"how": "pasted"})
    label = f"or choose a file, UTF-8, up to {_MB} MB"
    file = st.file_uploader(label, key=f"{key}:file", max_upload_size=_MB, **last, kwargs={"how": "file"})
    if file is not None and (not pasted or st.session_state.get(f"{key}:last") == "file"):
        return file.getvalue()
    return pasted.encode(errors="surrogatepass") if pasted else None


def _came(key: str, how: str) -> None:
    st.session_state[f"{key}:last"] = how


def _found(setting: Setting, field: str, knob: Knob, value: str, content: bytes) -> None:
    """What is in a text, and the way to use it; or why it cannot be used."""
    try:
        counts = _counted(content)
    except BadSetting as problem:
        st.warning(f"{plain(problem)}. Nothing has changed.")
        return
    for sentence in text_counts.told(counts):
        st.markdown(plain(sentence))
    if counts.digest == value:
        st.markdown("This text is in use.")
    else:
        st.button("Use it", key=f"{setting.id}:{field}:use", type="primary", on_click=_use,
                  args=(setting, field, knob, counts))  # fmt: skip


@st.cache_resource(max_entries=4, show_spinner=False)
def _counted(content: bytes) -> TextCounts:
    return text_counts.read(content)


def _use(setting: Setting, field: str, knob: Knob, counts: TextCounts) -> None:
    try:
        documents.take(setting, field, knob, texts.keep(counts))
    except OSError as problem:
        st.error(plain(problem))
