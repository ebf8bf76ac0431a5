"""Where a visitor gives matrices: uploaded."""

import streamlit as st

from icl_core.own_matrices import LARGEST, OPTIONAL, SHAPES, SIZES
from pages.ui.controls.uploads import Give

_MB = LARGEST // 2**20
_SHAPES = ", ".join(f"`{name}` [{', '.join(letters)}]" for name, letters in SHAPES.items())
_SIZES = ", ".join(f"{name} from {low} to {high}" for name, (low, high) in SIZES.items())
_SAYS = (
    f"It is a safetensors file with {_SHAPES}; {_SIZES}. You can leave out "
    f"{' and '.join(f'`{n}`' for n in OPTIONAL)}: "
    "then the model has one layer, or no feed-forward layer. `R1` is W_O¹ W_V¹, `V2` is W_V². "
    "Matrices act on columns; "
    "a query x scores a key y by xᵀ W_K y / √d. Row i of `W_E` and `W_U` is the i-th of the N "
    "most frequent characters "
    "of the text, in Unicode's order. The file of a run, under ⋯, is taken too. The matrices "
    "are kept on this computer."
)


def _ask(key: str) -> bytes | None:
    file = st.file_uploader(
        f"Choose a file, up to {_MB} MB", key=f"{key}:file", max_upload_size=_MB
    )
    return None if file is None else file.getvalue()


GIVE = Give(_ask, _SAYS)
