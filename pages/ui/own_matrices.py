"""A visitor's own matrices as a setting: uploaded, checked, told, and used by their digest."""

import streamlit as st

from icl_core import own_matrices
from icl_core.knobs import BadSetting, Knob
from icl_core.own_matrices import OPTIONAL, SHAPES, SIZES, Matrices
from icl_core.runs import matrices
from pages.ui import documents
from pages.ui.address import Setting
from pages.ui.plain import plain

_MB = own_matrices.LARGEST // 2**20


def give(setting: Setting, field: str, knob: Knob, value: str) -> None:
    """Where they can be given, with what is in the file."""
    shapes = ", ".join(f"`{name}` [{', '.join(letters)}]" for name, letters in SHAPES.items())
    sizes = ", ".join(f"{name} from {low} to {high}" for name, (low, high) in SIZES.items())
    st.markdown(
        f"A safetensors file with {shapes}; {sizes}. You can leave out {' and '.join(f'`{name}`' for name in OPTIONAL)}"
        ": then the model has one layer, or no feed-forward layer. `R1` is W_O¹ W_V¹, `V2` is W_V². Row i of `W_E` and "
        "`W_U` is the i-th of the N most frequent characters of the text, in Unicode's order. The file of a run, under "
        "⋯, is taken too. The matrices are kept on this computer."
    )
    key = f"{setting.id}:{field}"
    file = st.file_uploader(f"Choose a file, up to {_MB} MB", key=f"{key}:file", max_upload_size=_MB)
    if file is not None:
        _found(setting, field, knob, value, file.getvalue())


def _found(setting: Setting, field: str, knob: Knob, value: str, content: bytes) -> None:
    """What is in a file, and the way to use it; or why it cannot be used."""
    try:
        found = own_matrices.read(content)
    except BadSetting as problem:
        st.warning(f"{plain(problem)}. Nothing has changed.")
        return
    for sentence in own_matrices.told(found):
        st.markdown(plain(sentence))
    if found.digest == value:
        st.markdown("These matrices are in use.")
    else:
        st.button("Use them", key=f"{setting.id}:{field}:use", type="primary", on_click=_use,
                  args=(setting, field, knob, found))  # fmt: skip


def _use(setting: Setting, field: str, knob: Knob, found: Matrices) -> None:
    try:
        documents.take(setting, field, knob, matrices.keep(found))
    except OSError as problem:
        st.error(plain(problem))
