"""Where a visitor gives a document as a setting, such as a text, and goes back to the default."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.document import DocumentKind, digest_of
from icl_core.contract.knobs import BadSetting, Knob, NotHere
from icl_core.contract.message import sentence
from icl_core.figures.character_labels import isolated
from icl_core.machine import limits
from icl_core.runs import documents
from pages.ui.controls.cache import keep_by_size
from pages.ui.link import address, visitors
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown

READ_BYTES = 256 * 2**20  # of the documents that were read last, by all visitors


def draw(setting: Setting, field: str, knob: Knob, value: str, locked: bool) -> None:
    """Draw which document a field has, as a button behind which another can be given."""
    kind = registry.document_kinds()[knob.of]
    name = knob.options[""]
    if value:
        name = isolated(escape_markdown(documents.name_of(knob.of, value))) or "your own"
    label = f"{knob.label[:1].upper()}{knob.label[1:]}: {name}"
    key = f"{setting.id}:{field}"
    if not limits.read_only():
        with st.popover(
            label, help=knob.help or None, disabled=locked, width="stretch", key=f"{key}:give"
        ):
            content, file_name = _ask(kind, key)
            if content is not None:
                _offer_use(setting, field, knob, value, content, file_name)
            st.caption(kind.instructions)
            _back(setting, field, knob, value)
    elif not locked:
        st.caption(f"{label}. This server is read-only: it takes no file.")
        _back(setting, field, knob, value)
    if value and knob.about:
        try:
            st.caption(escape_markdown(knob.about(setting.chosen)))
        except NotHere:  # the page says so
            st.caption(kind.away.format(value))


def _ask(kind: DocumentKind, key: str) -> tuple[bytes | None, str]:
    """Return what the visitor has uploaded or pasted, whichever came last, and the file's name;
    None if nothing was."""
    largest = kind.largest // 2**20  # MB
    if not kind.paste:
        # a new field once a file is in use: the server holds what is in the field
        number = st.session_state.get(f"{key}:number", 0)
        file = st.file_uploader(kind.upload, key=f"{key}:file {number}", max_upload_size=largest)
        return (None, "") if file is None else (file.getvalue(), file.name)
    event = {"on_change": _note_last, "args": (key,)}
    pasted = st.text_area(
        kind.paste, key=f"{key}:pasted", height=100, **event, kwargs={"how": "pasted"}
    )
    file = st.file_uploader(
        kind.upload, key=f"{key}:file", max_upload_size=largest, **event, kwargs={"how": "file"}
    )
    if file is not None and (not pasted or st.session_state.get(f"{key}:last") == "file"):
        return file.getvalue(), file.name
    return (pasted.encode(errors="surrogatepass") if pasted else None), ""


def _note_last(key: str, how: str) -> None:
    st.session_state[f"{key}:last"] = how


def _back(setting: Setting, field: str, knob: Knob, value: str) -> None:
    if value:
        st.button(
            f"Back to {knob.options['']}",
            key=f"{setting.id}:{field}:back",
            on_click=take,
            args=(setting, field, knob, ""),
        )


def _offer_use(
    setting: Setting, field: str, knob: Knob, value: str, content: bytes, file_name: str
) -> None:
    """Draw what is in a document and a button to use it, or why it cannot be used."""
    kind = registry.document_kinds()[knob.of]
    try:
        with st.spinner("The file is read and checked …"):
            document = _read(knob.of, content)
    except BadSetting as problem:
        st.warning(f"{escape_markdown(sentence(str(problem)))} Nothing has changed.")
        return
    if file_name:  # the browser may have refused a later file, of which the server hears nothing
        st.markdown(f"Of {isolated(escape_markdown(file_name))}:")
    for line in kind.describe(document):
        st.markdown(escape_markdown(line))
    if document.digest == value:
        st.markdown(kind.in_use)
    else:
        st.button(
            f"Use {kind.this}",
            key=f"{setting.id}:{field}:use",
            type="primary",
            on_click=_use,
            args=(setting, field, knob, document, file_name),
        )


def _read(of: str, content: bytes) -> Any:
    outcome = _outcome(f"{of} {digest_of(content)}", of, content)
    if isinstance(outcome, str):
        raise BadSetting(outcome)
    return outcome


def _size(outcome: Any) -> int:
    return len(outcome if isinstance(outcome, str) else outcome.content)


@keep_by_size(READ_BYTES, _size)
def _outcome(name: str, of: str, content: bytes) -> Any:
    """Return the document, or why it is refused: a page that is drawn again does not read it again.
    Raises `NotHere` where that may be otherwise the next time."""
    try:
        return registry.document_kinds()[of].read(content)
    except NotHere:
        raise
    except BadSetting as problem:
        return str(problem)  # the exception would keep the content, too


def _use(setting: Setting, field: str, knob: Knob, document: Any, file_name: str) -> None:
    try:
        digest = documents.keep(knob.of, document, visitors.name(), file_name)
        take(setting, field, knob, digest)
        number = f"{setting.id}:{field}:number"
        st.session_state[number] = st.session_state.get(number, 0) + 1
    except (OSError, BadSetting) as problem:
        st.error(f"It cannot be kept: {escape_markdown(problem)}.")


def offer(setting: Setting) -> None:
    """Offer the default in place of each document of a link that is not on this computer."""
    for field, knob in knobs.knobs_of(setting.experiment.config).items():
        if knob.kind != "document":
            continue
        digest = setting.chosen[field]
        if digest and not _is_here(knob, digest):
            st.button(
                f"Take {knob.options['']} instead",
                key=f"{setting.id}:{field}:default",
                on_click=take,
                args=(setting, field, knob, ""),
            )


def _is_here(knob: Knob, digest: str) -> bool:
    try:
        registry.document_kinds()[knob.of].load(digest)
    except NotHere:
        return False
    return True


def take(setting: Setting, field: str, knob: Knob, digest: str) -> None:
    """Write a document's digest into the address, with the fields that must fit it.

    An empty digest is the default; the fields are then the preset's.
    """
    preset = knobs.values(setting.preset.config)
    fitted: Mapping[str, Any] = knob.fit({**setting.chosen, field: digest}) if knob.fit else {}
    changes = {field: digest, **fitted}
    address.write_all(
        {name: (value if digest else preset[name], preset[name]) for name, value in changes.items()}
    )
