"""What a visitor gives as a setting, a text or matrices: told, used by its digest, and the way back
to none."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.knobs import BadSetting, Knob, NotHere
from icl_core.machine import limits
from icl_core.runs import documents
from pages.ui.link import address, visitors
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown

_THIS = {
    "text": ("this text", "This text is in use."),
    "matrices": ("these matrices", "These matrices are in use."),
}
_AWAY = {
    "text": "The counts of {} are not on this computer.",
    "matrices": "The matrices {} are not on this computer.",
}


class Give(NamedTuple):
    """How one is asked for: `ask`, by widgets of a key, gives its bytes, once it is given; `says`
    what it must be and what becomes of it."""

    ask: Callable[[str], bytes | None]
    says: str


def draw(setting: Setting, field: str, knob: Knob, value: str, locked: bool, give: Give) -> None:
    """Which one it is, as a button behind which another can be given."""
    name = knob.options[""] if not value else "your own"
    label, help = f"{knob.label[:1].upper()}{knob.label[1:]}: {name}", knob.help or None
    key = f"{setting.id}:{field}"
    if not limits.read_only():
        with st.popover(label, help=help, disabled=locked, width="stretch", key=f"{key}:give"):
            content = give.ask(key)
            if content is not None:
                _found(setting, field, knob, value, content)
            st.caption(give.says)
            _back(setting, field, knob, value)
    elif not locked:
        _back(setting, field, knob, value)
    if value and knob.about:
        try:
            st.caption(escape_markdown(knob.about(setting.chosen)))
        except NotHere:  # the page says so
            st.caption(_AWAY[knob.of].format(value))


def _back(setting: Setting, field: str, knob: Knob, value: str) -> None:
    if value:
        back = {
            "key": f"{setting.id}:{field}:back",
            "on_click": take,
            "args": (setting, field, knob, ""),
        }
        st.button(f"Back to {knob.options['']}", **back)


def _found(setting: Setting, field: str, knob: Knob, value: str, content: bytes) -> None:
    """What is in it, and the way to use it; or why it cannot be used."""
    try:
        found = _read(knob.of, content)
    except BadSetting as problem:
        st.warning(f"{escape_markdown(problem)}. Nothing has changed.")
        return
    for sentence in documents.KINDS[knob.of].describe(found):
        st.markdown(escape_markdown(sentence))
    this, in_use = _THIS[knob.of]
    if found.digest == value:
        st.markdown(in_use)
    else:
        st.button(f"Use {this}", key=f"{setting.id}:{field}:use", type="primary", on_click=_use,
                  args=(setting, field, knob, found))  # fmt: skip


@st.cache_resource(max_entries=4, show_spinner=False)
def _read(of: str, content: bytes) -> Any:
    return documents.KINDS[of].read(content)


def _use(setting: Setting, field: str, knob: Knob, found: Any) -> None:
    try:
        take(setting, field, knob, documents.keep(knob.of, found, visitors.name()))
    except (OSError, BadSetting) as problem:
        st.error(f"It cannot be kept: {escape_markdown(problem)}.")


def offer(setting: Setting) -> None:
    """Where a link names what is not on this computer: the way to what there is without it."""
    for field, knob in knobs.knobs_of(setting.experiment.config).items():
        if (
            knob.kind == "document"
            and setting.chosen[field]
            and not _here(knob, setting.chosen[field])
        ):
            label, key = f"Take {knob.options['']} instead", f"{setting.id}:{field}:default"
            st.button(label, key=key, on_click=take, args=(setting, field, knob, ""))


def _here(knob: Knob, digest: str) -> bool:
    try:
        documents.KINDS[knob.of].load(digest)
    except NotHere:
        return False
    return True


def take(setting: Setting, field: str, knob: Knob, digest: str) -> None:
    """Put it into the address, with the fields that must fit it; back at the default these are the
    preset's."""
    preset = knobs.values(setting.preset.config)
    fitted: Mapping[str, Any] = knob.fit({**setting.chosen, field: digest}) if knob.fit else {}
    wanted = {field: digest, **fitted}
    address.write_all(
        {name: (value if digest else preset[name], preset[name]) for name, value in wanted.items()}
    )
