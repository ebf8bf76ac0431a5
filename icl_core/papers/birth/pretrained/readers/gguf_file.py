"""A model in one GGUF file, which the package `gguf` reads and turns into single precision. Files
of Llama's shape are read; they hold rows of queries and keys in another order, which is undone."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.birth.pretrained.readers import llama
from icl_core.papers.birth.pretrained.readers.checks import (
    BadModel,
    check_file,
    check_shape,
    check_tensors,
    finite,
)
from icl_core.papers.birth.pretrained.readers.model import Shape
from icl_core.papers.birth.pretrained.readers.tokens import GgufTokens

ARCHITECTURES = ("llama",)
TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")
COUNT = 10_000  # tensors, and entries of metadata
# the file's names of a layer's tensors, and Llama's
NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
COMPUTED = ("rope_freqs.weight",)  # which follow from the settings


def read(path: Path) -> tuple[llama.Llama, GgufTokens]:
    """Return the model of a file, and its tokens. Raises `BadModel`."""
    _check_beginning(path)
    file = _parsed(path)
    fields = Fields(file)
    shape = shape_of(fields, {tensor.name for tensor in file.tensors})
    check_shape(shape)
    given = {}
    for tensor in file.tensors:
        if tensor.name in COMPUTED:
            continue
        if tensor.tensor_type.name not in TYPES:
            raise BadModel(
                f"{tensor.name[:80]} must be stored as one of {', '.join(TYPES)}, got "
                f"{tensor.tensor_type.name}"
            )
        # the file counts dimensions from the last
        given[name_of(tensor.name)] = tuple(map(int, reversed(tensor.shape)))
    check_tensors(llama.expected(shape), given)
    tokens = GgufTokens(fields, shape.N)
    weights = {}
    for tensor in file.tensors:
        if tensor.name not in COMPUTED:
            weights[name_of(tensor.name)] = _weight(tensor, shape)
    return llama.Llama(shape, weights), tokens


class Fields:
    """The metadata of a file by name."""

    def __init__(self, file: Any) -> None:
        self._fields = file.fields

    def get(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """Return an entry of a kind; `default` if there is none. Raises `BadModel` without a
        default and for another kind."""
        field = self._fields.get(name)
        if field is None and default is not None:
            return default
        try:
            value = None if field is None else field.contents()
        except (ValueError, IndexError, TypeError):  # among them text that is none
            value = None
        if not isinstance(value, kind):
            raise BadModel(f"the file's entry {name} must be given and whole, got {value!r:.60}")
        return value


def _check_beginning(path: Path) -> None:
    """Refuse what does not begin as GGUF of version 2 or 3 does, with counts within bounds."""
    check_file(path)
    with path.open("rb") as file:
        beginning = file.read(24)
    if beginning[:4] != b"GGUF" or len(beginning) < 24:
        raise BadModel(f"{path.name} must begin with GGUF, got {beginning[:4]!r}")
    version = int.from_bytes(beginning[4:8], "little")
    counts = (int.from_bytes(beginning[at : at + 8], "little") for at in (8, 16))
    if version not in (2, 3) or max(counts) > COUNT:
        raise BadModel(
            f"{path.name} must be GGUF of version 2 or 3 with at most {COUNT} tensors, got version "
            f"{version}, or it is damaged"
        )


def _parsed(path: Path) -> Any:
    """Return the package's view of a file, which maps it into memory and allocates no tensor."""
    try:
        from gguf import GGUFReader  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise BadModel(
            "a GGUF file needs the package gguf: pip install -r "
            "icl_core/papers/birth/pretrained/requirements.txt"
        ) from None
    try:
        file = GGUFReader(path)
        last = max(tensor.data_offset + tensor.n_bytes for tensor in file.tensors)
    except Exception as problem:  # whatever the package stumbles over
        raise BadModel(
            f"{path.name} is cut off or damaged: its list of tensors cannot be read "
            f"({type(problem).__name__})"
        ) from problem
    if last > path.stat().st_size:
        raise BadModel(f"{path.name} must have {last} bytes, got {path.stat().st_size}: cut off")
    return file


def shape_of(fields: Fields, tensors: set[str]) -> Shape:
    """Return the size of the model that a file's metadata describe."""
    architecture = fields.get("general.architecture", str)
    if architecture not in ARCHITECTURES:
        raise BadModel(
            f"the architecture {architecture!r:.40} is not known in GGUF; known: "
            f"{', '.join(ARCHITECTURES)}"
        )
    if fields.get("llama.rope.scaling.type", str, "none") != "none":
        raise BadModel("rotations that are scaled are not known")
    heads = fields.get("llama.attention.head_count", int)
    d = fields.get("llama.embedding_length", int)
    if not 1 <= heads <= d:
        raise BadModel(f"heads per layer must be 1 to {d}, got {heads}")
    d_H = fields.get("llama.attention.key_length", int, d // heads)
    return Shape(
        "llama",
        layers=fields.get("llama.block_count", int),
        heads=heads,
        key_heads=fields.get("llama.attention.head_count_kv", int, heads),
        d=d,
        d_H=d_H,
        hidden=fields.get("llama.feed_forward_length", int),
        N=len(fields.get("tokenizer.ggml.tokens", list)),
        T=fields.get("llama.context_length", int),
        epsilon=fields.get("llama.attention.layer_norm_rms_epsilon", float),
        base=fields.get("llama.rope.freq_base", float, 10_000.0),
        rotated=fields.get("llama.rope.dimension_count", int, d_H),
        tied="output.weight" not in tensors,
        activation="silu",
    )


def name_of(name: str) -> str:
    """Return Llama's name of one of the file's tensors; an unknown one's as it is."""
    if name in WHOLE:
        return WHOLE[name]
    parts = name.split(".")
    if len(parts) == 4 and parts[0] == "blk" and parts[2] in NAMES:
        return f"model.layers.{parts[1]}.{NAMES[parts[2]]}.{parts[3]}"
    return name


def _weight(tensor: Any, shape: Shape) -> Tensor:
    """Return a tensor in single precision, its rows in Llama's order."""
    from gguf import dequantize  # pyright: ignore[reportMissingImports]

    values = dequantize(tensor.data, tensor.tensor_type)
    values = finite(tensor.name, values.reshape(tuple(reversed(tensor.shape.tolist()))))
    if ".attn_q." in tensor.name:
        values = in_halves(values, shape.heads)
    elif ".attn_k." in tensor.name:
        values = in_halves(values, shape.key_heads)
    return torch.from_numpy(np.array(values, np.float32))  # a copy: the file is closed


def in_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """Return rows of which each head's planes of rotation lie side by side, (2i, 2i + 1), so that
    they lie half a head apart, (i, i + d_H / 2)."""
    # (heads, d_H / 2, 2, d) to (heads, 2, d_H / 2, d)
    pairs = rows.reshape(heads, -1, 2, rows.shape[-1])
    return pairs.transpose(0, 2, 1, 3).reshape(rows.shape)
