"""Where a visitor gives matrices: uploaded."""

import streamlit as st

from icl_core.own_matrices import LARGEST, OPTIONAL, SHAPES, SIZES

_MB = LARGEST // 2**20


def give(key: str) -> bytes | None:
    """The file that was uploaded, with what must be in it; None if none was."""
    shapes = ", ".join(f"`{name}` [{', '.join(letters)}]" for name, letters in SHAPES.items())
    sizes = ", ".join(f"{name} from {low} to {high}" for name, (low, high) in SIZES.items())
    st.markdown(
        f"A safetensors file with {shapes}; {sizes}. You can leave out {' and '.join(f'`{name}`' for name in OPTIONAL)}"
        ": then the model has one layer, or no feed-forward layer. `R1` is W_O¹ W_V¹, `V2` is W_V². Row i of `W_E` and "
        "`W_U` is the i-th of the N most frequent characters of the text, in Unicode's order. The file of a run, under "
        "⋯, is taken too. The matrices are kept on this computer."
    )
    file = st.file_uploader(f"Choose a file, up to {_MB} MB", key=f"{key}:file", max_upload_size=_MB)
    return None if file is None else file.getvalue()
