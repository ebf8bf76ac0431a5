"""A model in one GGUF file, whose numbers the package `gguf` turns into single precision. Files of
Llama's shape are read; they hold rows of queries and keys in another order, which is undone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.birth.pretrained.readers import gguf_header, llama
from icl_core.papers.birth.pretrained.readers.checks import (
    BadModel,
    check_file,
    check_room,
    check_shape,
    check_tensors,
    finite,
)
from icl_core.papers.birth.pretrained.readers.gguf_header import Stored
from icl_core.papers.birth.pretrained.readers.model import Shape
from icl_core.papers.birth.pretrained.readers.tokens import GgufTokens
from icl_core.papers.birth.weights_facts import TYPES

ARCHITECTURES = ("llama",)
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


class Opened(NamedTuple):
    """What a file holds, of which no tensor has been read: its tensors by Llama's names, where they
    are in the file and how their numbers are stored; its size, and its tokens."""

    path: Path
    tensors: Mapping[str, Stored]
    shape: Shape
    tokens: GgufTokens


def read(path: Path) -> tuple[llama.Llama, GgufTokens]:
    """Return the model of a file, and its tokens. Raises `BadModel`."""
    file = opened(path)
    check_room(llama.expected(file.shape))
    weights = {name: _weight(file, tensor) for name, tensor in file.tensors.items()}
    return llama.Llama(file.shape, weights), file.tokens


def checked(path: Path) -> Opened:
    """Return what a file holds, after every tensor has been read and let go. Raises `BadModel`."""
    file = opened(path)
    check_room(llama.expected(file.shape))
    for tensor in file.tensors.values():
        _weight(file, tensor)
    return file


def opened(path: Path) -> Opened:
    """Return what a file holds, without its tensors. Raises `BadModel`."""
    check_file(path)
    header = gguf_header.read(path)
    fields = Fields(header.entries)
    shape = shape_of(fields, {tensor.name for tensor in header.tensors})
    check_shape(shape)
    tensors = {
        name_of(tensor.name): tensor for tensor in header.tensors if tensor.name not in COMPUTED
    }
    check_tensors(llama.expected(shape), {name: tensor.shape for name, tensor in tensors.items()})
    for tensor in tensors.values():
        end = tensor.at + int(np.prod(_byte_shape(tensor)))
        if end > path.stat().st_size:
            raise BadModel(f"{path.name} must have {end} bytes, got {path.stat().st_size}: cut off")
    return Opened(path, tensors, shape, GgufTokens(fields, shape.N))


class Fields:
    """The metadata of a file by name."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = entries

    def get(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """Return an entry of a kind; `default` if there is none. Raises `BadModel` without a
        default and for another kind."""
        if name not in self._entries and default is not None:
            return default
        value = self._entries.get(name)
        if not isinstance(value, kind):
            raise BadModel(f"the file's entry {name} must be given and whole, got {value!r:.60}")
        return value

    def items(self, name: str, kind: type) -> list[Any]:
        """Return the items of a list, all of one kind: str, in UTF-8, or int. Raises `BadModel`."""
        items = self.get(name, list)
        if not all(type(item) is kind for item in items):
            what = "texts in UTF-8" if kind is str else "whole numbers"
            raise BadModel(f"the file's list {name} must hold {what} alone, got {items!r:.60}")
        return items


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
    if d_H % 2:  # the rows of queries and keys come in planes of two
        raise BadModel(f"the width of a head must be even, got {d_H}")
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


def _byte_shape(tensor: Stored) -> tuple[int, ...]:
    """Return a tensor's shape with the bytes of a row last. Raises `BadModel` for numbers that are
    stored as is not known."""
    try:
        from gguf import GGML_QUANT_SIZES  # pyright: ignore[reportMissingImports]
        from gguf import GGMLQuantizationType as Kind  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise BadModel(
            "a GGUF file needs the package gguf: pip install -r "
            "icl_core/papers/birth/pretrained/requirements.txt"
        ) from None
    kinds = {int(Kind[name]): name for name in TYPES}
    if tensor.kind not in kinds:
        named = Kind(tensor.kind).name if tensor.kind in list(Kind) else tensor.kind
        raise BadModel(
            f"{tensor.name[:80]} must be stored as one of {', '.join(TYPES)}, got {named}"
        )
    numbers, size = GGML_QUANT_SIZES[Kind(tensor.kind)]  # of a block, and its bytes
    if tensor.shape[-1] % numbers:
        raise BadModel(
            f"rows of {tensor.name[:80]} must have a multiple of {numbers} numbers, stored as "
            f"{kinds[tensor.kind]}, got {tensor.shape[-1]}"
        )
    return (*tensor.shape[:-1], tensor.shape[-1] // numbers * size)


def _weight(file: Opened, tensor: Stored) -> Tensor:
    """Return a tensor in single precision, its rows in Llama's order."""
    from gguf import GGMLQuantizationType, dequantize  # pyright: ignore[reportMissingImports]

    shape = _byte_shape(tensor)
    content = np.memmap(file.path, np.uint8, "r", offset=tensor.at, shape=shape)
    values = dequantize(content, GGMLQuantizationType(tensor.kind)).reshape(tensor.shape)
    finite(tensor.name, values)
    if ".attn_q." in tensor.name:
        values = in_halves(values, file.shape.heads)
    elif ".attn_k." in tensor.name:
        values = in_halves(values, file.shape.key_heads)
    return torch.from_numpy(np.array(values, np.float32))  # a copy: the file is closed


def in_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """Return rows of which each head's planes of rotation lie side by side, (2i, 2i + 1), so that
    they lie half a head apart, (i, i + d_H / 2)."""
    # (heads, d_H / 2, 2, d) to (heads, 2, d_H / 2, d)
    pairs = rows.reshape(heads, -1, 2, rows.shape[-1])
    return pairs.transpose(0, 2, 1, 3).reshape(rows.shape)
