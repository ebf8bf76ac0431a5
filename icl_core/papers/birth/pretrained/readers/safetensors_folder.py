"""A model in a folder as `transformers` writes it: `config.json`, `tokenizer.json` and
`model.safetensors`, or several such files with an index."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch

from icl_core.machine.folders import read_regular_file
from icl_core.papers.birth.pretrained.readers import gpt2, llama, neox
from icl_core.papers.birth.pretrained.readers.checks import (
    PICKLED,
    BadModel,
    check_file,
    check_room,
    check_shape,
    check_tensors,
    finite,
)
from icl_core.papers.birth.pretrained.readers.config_file import shape_of
from icl_core.papers.birth.pretrained.readers.model import Reader
from icl_core.papers.birth.pretrained.readers.tokens import JsonTokens

READERS = {
    "llama": (llama.expected, llama.Llama),
    "gpt2": (gpt2.expected, gpt2.GPT2),
    "gpt_neox": (neox.expected, neox.NeoX),
}
DTYPES = {"F32": 4, "F16": 2, "BF16": 2}  # bytes a number
SETTINGS = 2**20  # bytes of config.json and of an index
HEADER = 2**23  # bytes of a file's list of tensors
SHARDS = 20
PREFIX = "transformer."  # which GPT-2's names may have or lack
# masks and frequencies that some files hold and that follow from the settings
COMPUTED = (".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias")
FREQUENCIES = ".rotary_emb.inv_freq"


def read(folder: Path) -> tuple[Reader, JsonTokens]:
    """Return the model of a folder, and its tokens. Raises `BadModel`."""
    settings = _json(folder / "config.json")
    shape = shape_of(settings)
    check_shape(shape)
    expected, reader = READERS[shape.architecture]
    wanted = expected(shape)
    listed = {}
    for path in _files(folder):
        for name, entry in header(path).items():
            short = name.removeprefix(PREFIX)
            if short.endswith((*COMPUTED, FREQUENCIES)):
                continue
            if shape.tied and short in ("lm_head.weight", "embed_out.weight"):
                continue  # a copy of W_E
            listed[short] = (path, name, entry)
    check_tensors(wanted, {name: tuple(entry["shape"]) for name, (_, _, entry) in listed.items()})
    check_room(wanted)
    tokens = JsonTokens(folder / "tokenizer.json", shape.N, settings.get("bos_token_id"))
    weights = {name: _weight(path, full) for name, (path, full, _) in listed.items()}
    return reader(shape, weights), tokens


def header(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a safetensors file lists: dtype, shape and offsets of every tensor. Raises
    `BadModel` unless its tensors fill the file exactly."""
    check_file(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        length = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))[0]
        if not 2 <= length <= min(HEADER, size - 8):
            raise BadModel(f"{path.name} must begin with the length of its list, got {length}")
        try:
            entries = json.loads(file.read(length))
            entries.pop("__metadata__", None)
            end = max(_check_entry(path, name, entry) for name, entry in entries.items())
        except (ValueError, AttributeError, TypeError, KeyError) as problem:
            if isinstance(problem, BadModel):
                raise
            raise BadModel(f"the list of tensors of {path.name} cannot be read: damaged") from None
    if 8 + length + end != size:
        raise BadModel(f"{path.name} must have {8 + length + end} bytes, got {size}: cut off")
    return entries


def _check_entry(path: Path, name: str, entry: dict[str, Any]) -> int:
    """Return where a tensor ends; refuse a dtype that is not read and a wrong length."""
    if entry["dtype"] not in DTYPES:
        raise BadModel(
            f"{name[:80]} of {path.name} must be one of {', '.join(DTYPES)}, got "
            f"{entry['dtype']!r:.20}"
        )
    start, end = entry["data_offsets"]
    count = int(np.prod(entry["shape"], dtype=np.int64))
    if end - start != count * DTYPES[entry["dtype"]] or start < 0:
        raise BadModel(f"{name[:80]} of {path.name} must have {count} numbers: damaged")
    return end


def _files(folder: Path) -> list[Path]:
    """Return the folder's files of weights."""
    whole = folder / "model.safetensors"
    if whole.exists():
        return [whole]
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = sorted(set(_json(index).get("weight_map", {}).values()))
        # a name with a folder in it could lead anywhere
        if not 1 <= len(names) <= SHARDS or any(Path(name).name != name for name in names):
            raise BadModel(f"{index.name} must name 1 to {SHARDS} files of its folder")
        return [folder / name for name in names]
    for path in sorted(folder.iterdir()):
        if path.suffix in PICKLED:
            check_file(path)  # says how to convert it
    raise BadModel(f"expected model.safetensors in {folder.name}, and there is none")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_regular_file(path, SETTINGS))
    except (OSError, ValueError):
        raise BadModel(
            f"expected {path.name} with settings as JSON, at most {SETTINGS} bytes; it is missing "
            "or damaged"
        ) from None
    if not isinstance(value, dict):
        raise BadModel(f"{path.name} must hold settings by name, got {type(value).__name__}")
    return value


def _weight(path: Path, name: str) -> torch.Tensor:
    """Return one tensor in single precision."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        values = file.get_tensor(name).float()
    finite(name, values.numpy())
    return values
