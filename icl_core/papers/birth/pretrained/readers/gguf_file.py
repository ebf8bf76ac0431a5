"""A model in one GGUF file, as `transformers` has the families and their tensors' names. Its
numbers are turned into single precision by the package `gguf`.

What a file declares of its model is computed, or the file is refused by the entry's or the tensor's
name: `transformers` passes over what it does not know.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from icl_core.papers.birth.pretrained.readers import gguf_header
from icl_core.papers.birth.pretrained.readers.checks import (
    INSTALL,
    BadModel,
    check_file,
    check_finite,
    check_packages,
    check_room,
    listed,
)
from icl_core.papers.birth.pretrained.readers.gguf_header import Header, Stored
from icl_core.papers.birth.pretrained.readers.model import Facts, Reader
from icl_core.papers.birth.pretrained.readers.tokens import NORMAL, FileTokens, listed_items
from icl_core.papers.birth.weights_facts import TYPES

# entries beside those that `transformers` maps: what their values must be where they are given, a
# value or the name of a setting
AGREES: Mapping[str, Any] = {
    "attention.key_length": "head_dim",
    "attention.value_length": "head_dim",
    "attention.causal": True,
    "attention.sliding_window": "sliding_window",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "context_length": "max_position_embeddings",
    "feed_forward_length": "intermediate_size",
    "rope.dimension_count": "rotated",
    "rope.freq_base": "rope_theta",
    "rope.scaling.type": "none",
    "use_parallel_residual": "use_parallel_residual",
    "expert_count": 0,
    "expert_used_count": 0,
    "vocab_size": "vocab_size",
}
FREE = ("general.", "tokenizer.", "quantize.")  # entries that say nothing of what is computed


class Opened(NamedTuple):
    """A file of which no tensor has been read."""

    path: Path
    header: Header
    facts: Facts


def opened(path: Path) -> Opened:
    """Return what a file's beginning says, once it is known that its tensors are in the file.
    Raises `BadModel`."""
    check_file(path)
    header = gguf_header.read(path)
    sizes = {tensor.name: tensor.shape for tensor in header.tensors}
    if len(sizes) < len(header.tensors):
        raise BadModel("a name must be that of one tensor, and one stands twice in the file")
    for tensor in header.tensors:
        end = tensor.at + int(np.prod(byte_shape(tensor), dtype=np.int64))
        if end > path.stat().st_size:
            raise BadModel(f"{path.name} must have {end} bytes, got {path.stat().st_size}: cut off")
    family = entry(header, "general.architecture", str)
    embeddings = sizes.get("token_embd.weight", ())
    kinds = listed_items(header.entries, "token_type", int)
    if len(embeddings) != 2 or not 1 <= len(kinds) <= embeddings[0]:
        raise BadModel(
            f"the file must embed each of its {len(kinds)} tokens, got token_embd.weight of shape "
            f"{embeddings}"
        )
    facts = Facts(
        family,
        layers=entry(header, f"{family}.block_count", int),
        heads=entry(header, f"{family}.attention.head_count", int),
        d=embeddings[1],
        N=embeddings[0],
        tokens=kinds.count(NORMAL),
        numbers=sum(int(np.prod(size, dtype=np.int64)) for size in sizes.values()),
    )
    for what, value in (("layers", facts.layers), ("heads per layer", facts.heads)):
        most = min(len(sizes), 1000)  # a layer has a tensor at least
        if not 1 <= value <= most:
            raise BadModel(f"{what} must be 1 to {most}, got {value}")
    return Opened(path, header, facts)


def entry(header: Header, name: str, kind: type, default: Any = None) -> Any:
    """Return an entry of a kind; `default` if there is none. Raises `BadModel` without a default,
    and for another kind."""
    if name not in header.entries and default is not None:
        return default
    value = header.entries.get(name)
    if not isinstance(value, kind):
        raise BadModel(f"the file's entry {name} must be given and whole, got {value!r:.60}")
    return value


def byte_shape(tensor: Stored) -> tuple[int, ...]:
    """Return a tensor's shape with the bytes of a row last. Raises `BadModel` for numbers that are
    stored as is not known."""
    try:
        from gguf import GGML_QUANT_SIZES  # pyright: ignore[reportMissingImports]
        from gguf import GGMLQuantizationType as Kind  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise BadModel(f"a GGUF file needs the package gguf: {INSTALL}") from None
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


def read(path: Path) -> tuple[Reader, FileTokens]:
    """Return the model of a file, and its tokens. Raises `BadModel`."""
    file = opened(path)
    largest = max(int(np.prod(tensor.shape)) for tensor in file.header.tensors)
    check_room(file.facts.numbers, largest)
    check_packages()
    from icl_core.papers.birth.pretrained.readers import any_model

    tokens = FileTokens.of_gguf(file.header, file.facts.architecture)
    network = _network(file)
    return any_model.AnyModel(network), tokens


def settings_of(file: Opened) -> dict[str, Any]:
    """Return the settings that a file's entries stand for, by the names that `transformers` gives
    them. Raises `BadModel` for a family that is not known."""
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING  # pyright: ignore

    family = file.facts.architecture
    mapped = GGUF_CONFIG_MAPPING.get(family)
    if mapped is None or f"{family}.block_count" not in file.header.entries:
        known = sorted({*GGUF_CONFIG_MAPPING} - {"general", "tokenizer"})
        raise BadModel(f"the family {family!r:.40} is not known in GGUF; known: {', '.join(known)}")
    settings: dict[str, Any] = {"model_type": {"gemma3": "gemma3_text"}.get(family, family)}
    for name, value in file.header.entries.items():
        setting = mapped.get(name.removeprefix(f"{family}."))
        if name.startswith(f"{family}.") and setting:
            settings[setting] = value
    names = {tensor.name for tensor in file.header.tensors}
    return settings | {
        "tie_word_embeddings": "output.weight" not in names,
        "vocab_size": file.facts.N,
    }


def _check_entries(file: Opened, settings: Mapping[str, Any], config: Any) -> None:
    """Refuse a file with an entry on its model that is not computed, by its name."""
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING  # pyright: ignore

    family = file.facts.architecture
    mapped = GGUF_CONFIG_MAPPING[family]
    for name, value in file.header.entries.items():
        if name.startswith(FREE):
            continue
        short = name.removeprefix(f"{family}.")
        if short != name and mapped.get(short) and hasattr(config, mapped[short]):
            computed = getattr(config, mapped[short])
        elif short != name and short in AGREES:
            computed = AGREES[short]
            if isinstance(computed, str) and computed != "none":
                computed = computed_setting(config, computed)
        elif short != name and (mapped.get(short) == "rope_theta"):
            computed = computed_setting(config, "rope_theta")
        else:
            raise BadModel(
                f"the file's entry {name[:80]} is not known of a model of the family {family}, and "
                f"what it declares would not be computed, got {value!r:.60}"
            )
        if value != computed:
            raise BadModel(
                f"the file's entry {name[:80]} must be {computed!r:.40}, which is what is computed "
                f"of this family, got {value!r:.40}"
            )


def computed_setting(config: Any, name: str) -> Any:
    """Return what a model computes with; of rotations the base, or how many dimensions of a head
    turn."""
    rotations = getattr(config, "rope_parameters", None) or {}
    rotations = rotations.get("full_attention", rotations)
    if name == "rope_theta":
        return rotations.get("rope_theta")
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if name == "head_dim":
        return width
    if name == "rotated":
        return int(width * rotations.get("partial_rotary_factor", 1.0))
    return getattr(config, name, None)


def _network(file: Opened) -> Any:
    """Return the model of `transformers`, its weights filled in one after the other."""
    from gguf import GGMLQuantizationType, dequantize  # pyright: ignore[reportMissingImports]
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM  # pyright: ignore
    from transformers.modeling_gguf_pytorch_utils import (  # pyright: ignore
        TENSOR_PROCESSORS,
        TensorProcessor,
    )

    from icl_core.papers.birth.pretrained.readers import any_model, declared

    settings = settings_of(file)
    family = file.facts.architecture
    with declared.said("the file"):
        config = CONFIG_MAPPING[settings["model_type"]](
            **{name: value for name, value in settings.items() if name != "model_type"}
        )
    _check_entries(file, settings, config)
    any_model.register()
    with declared.said("the file"), declared.empty_weights():
        network = AutoModelForCausalLM.from_config(
            config, attn_implementation=any_model.NAME, dtype=torch.float32
        )
        network.tie_weights()
        # with what the family assumes where the file is silent: without the number of key heads
        # rows of queries and keys would stay in the file's order
        processor = TENSOR_PROCESSORS.get(family, TensorProcessor)(config=config.to_dict())
    wanted = dict(network.named_parameters())
    sizes = {name: tuple(weight.shape) for name, weight in wanted.items()}
    names = _names(family, file.facts.layers, list(wanted))
    given = {tensor.name: names.get(tensor.name) for tensor in file.header.tensors}
    unknown = [name for name, ours in given.items() if ours not in sizes]
    missing = sizes.keys() - {*given.values()}
    if unknown or missing:
        raise BadModel(
            f"expected {len(sizes)} tensors of the family {family}; missing: {listed(missing)}; "
            f"unknown: {listed(unknown)}"
        )
    for tensor in file.header.tensors:
        name = names[tensor.name]
        content = np.memmap(file.path, np.uint8, "r", offset=tensor.at, shape=byte_shape(tensor))
        values = dequantize(content, GGMLQuantizationType(tensor.kind)).reshape(tensor.shape)
        with declared.said(tensor.name[:80]):
            values = processor.process(values, tensor.name).weights
        if values.shape != sizes[name]:
            raise BadModel(f"{name} must have shape {sizes[name]}, got {values.shape}")
        weight = torch.from_numpy(np.array(values, np.float32))  # a copy: the file is closed
        check_finite(tensor.name, weight)
        wanted[name].data = weight
    return network


def _names(family: str, layers: int, ours: list[str]) -> dict[str, str]:
    """Return the names of a model's tensors by those that its family has in GGUF."""
    from gguf import MODEL_ARCH_NAMES, get_tensor_name_map  # pyright: ignore[reportMissingImports]

    architecture = next(key for key, name in MODEL_ARCH_NAMES.items() if name == family)
    known = get_tensor_name_map(architecture, layers)
    names = {}
    for name in ours:
        whole, _, ending = name.rpartition(".")
        theirs = known.get_name(whole) or known.get_name(whole.partition(".")[2])
        if theirs is not None:
            names[f"{theirs}.{ending}"] = name
    return names
