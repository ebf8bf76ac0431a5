"""A visitor's own text as a setting: pasted or uploaded, counted, told, and used by the digest of its counts."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from icl_core import knobs, text_counts
from icl_core.knobs import BadSetting, Knob
from icl_core.runs import texts
from icl_core.text_counts import NotHere, TextCounts
from pages.ui import address
from pages.ui.address import Setting
from pages.ui.plain import plain

_MB = text_counts.LARGEST // 2**20


def draw(setting: Setting, field: str, knob: Knob, value: str, locked: bool) -> None:
    """Which text it is, as a button behind which another can be given."""
    name = knob.options[""] if not value else "your own"
    label, help = f"{knob.label[:1].upper()}{knob.label[1:]}: {name}", knob.help or None
    with st.popover(label, help=help, disabled=locked, width="stretch", key=f"{setting.id}:{field}:give"):
        _give(setting, field, knob, value)
    if value and knob.about:
        try:
            st.caption(plain(knob.about(setting.chosen)))
        except NotHere:  # the page says so
            st.caption(f"The counts of {value} are not on this computer.")


def offer(setting: Setting) -> None:
    """Where a link names a text that is not on this computer: the way to the one that comes with the project."""
    for field, knob in knobs.knobs(setting.experiment.config).items():
        if knob.kind == "document" and setting.chosen[field] and not _here(setting.chosen[field]):
            label, key = f"Take {knob.options['']} instead", f"{setting.id}:{field}:default"
            st.button(label, key=key, on_click=_take, args=(setting, field, knob, ""))


def _here(digest: str) -> bool:
    try:
        text_counts.load(digest)
    except NotHere:
        return False
    return True


def _give(setting: Setting, field: str, knob: Knob, value: str) -> None:
    st.markdown(
        "How often its characters occur, and how often each follows each, becomes the task. Only these counts are "
        "kept, on this computer; the text is not."
    )
    key = f"{setting.id}:{field}"
    content = _given(key)
    if content is not None:
        _found(setting, field, knob, value, content)
    if value:
        back = {"key": f"{key}:back", "on_click": _take, "args": (setting, field, knob, "")}
        st.button(f"Back to {knob.options['']}", **back)


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
        _take(setting, field, knob, texts.keep(counts))
    except OSError as problem:
        st.error(plain(problem))


def _take(setting: Setting, field: str, knob: Knob, digest: str) -> None:
    """Put a text into the address, with the fields that must fit it; back at the default these are the preset's."""
    preset = knobs.values(setting.preset.config)
    fitted: Mapping[str, Any] = knob.fit({**setting.chosen, field: digest}) if knob.fit else {}
    for name, wanted in {field: digest, **fitted}.items():
        address.write(name, wanted if digest else preset[name], preset[name])
