"""A model in a folder as `transformers` writes it: `config.json`, `tokenizer.json` and
`model.safetensors`, or several such files with an index. Every tensor of the files must be in the
model as it is there."""

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from icl_core.machine.folders import read_regular_file
from icl_core.papers.birth.pretrained.readers.checks import (
    PICKLED,
    BadModel,
    check_file,
    check_finite,
    check_packages,
    check_room,
    listed,
)
from icl_core.papers.birth.pretrained.readers.model import Facts, Reader
from icl_core.papers.birth.pretrained.readers.tokens import FileTokens

DTYPES = ("F32", "F16", "BF16")
MOST = 10**7  # of a size in config.json
SETTINGS = 2**20  # bytes of config.json
INDEX = 2**25  # and of an index
WHOLE = "model.safetensors"
INDEXED = "model.safetensors.index.json"
# masks that follow from the settings; with whole names, since other tensors end alike
COMPUTED = (".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias")
FREQUENCIES = ".rotary_emb.inv_freq"


class InFile(NamedTuple):
    """A tensor of a file that has not been read."""

    path: Path
    shape: tuple[int, ...]


def read(folder: Path) -> tuple[Reader, FileTokens]:
    """Return the model of a folder, and its tokens. Raises `BadModel`."""
    settings = json_of(folder / "config.json")
    tensors = tensors_of(folder)
    sizes = [int(np.prod(tensor.shape, dtype=np.int64)) for tensor in tensors.values()]
    check_room(sum(sizes), max(sizes))
    check_packages()
    import transformers  # pyright: ignore[reportMissingImports]

    from icl_core.papers.birth.pretrained.readers import any_model, declared

    config = declared.config_of(settings)
    _check_size(config, sum(sizes))
    N = config.vocab_size
    tokens = FileTokens.of_folder(folder, N, settings)
    any_model.register()
    open_with = partial(
        transformers.AutoModelForCausalLM.from_pretrained,
        folder,
        config=config,
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # they are listed, and refused below
        output_loading_info=True,
    )
    with declared.said(folder.name):
        try:
            opened: Any = open_with(attn_implementation=any_model.NAME)
        except KeyError:  # a family that chooses among attentions of its own, as Falcon
            opened = open_with(attn_implementation="eager")
    network, loading = opened
    declared.check_rotated(network)
    _check_loaded(network, loading, tensors)
    return any_model.AnyModel(network), tokens


def facts(folder: Path) -> Facts:
    """Return what a folder's settings and the lists of its tensors say. Raises `BadModel`."""
    settings = json_of(folder / "config.json")

    def whole(*names: str, default: int | None = None) -> int:
        value = next((settings[name] for name in names if name in settings), default)
        if not isinstance(value, int) or not 1 <= value <= MOST:
            raise BadModel(f"{names[0]} must be 1 to {MOST} in config.json, got {value!r:.40}")
        return value

    N = whole("vocab_size")
    sizes = [int(np.prod(tensor.shape, dtype=np.int64)) for tensor in tensors_of(folder).values()]
    return Facts(
        str(settings.get("model_type"))[:40],
        layers=whole("num_hidden_layers", "n_layer", "num_layers"),
        heads=whole("num_attention_heads", "n_head", "num_heads", default=1),  # Mamba has none
        d=whole("hidden_size", "n_embd"),
        N=N,
        tokens=N - 1,
        numbers=sum(sizes),
    )


def _check_size(config: Any, numbers: int) -> None:
    """Refuse settings of a model with more numbers than the files hold, before it is made."""
    from transformers import AutoModelForCausalLM  # pyright: ignore[reportMissingImports]

    from icl_core.papers.birth.pretrained.readers import declared

    layers = getattr(config, "num_hidden_layers", 0)
    if not 1 <= layers <= 1000:
        raise BadModel(f"layers must be 1 to 1000, got {layers}")
    with declared.said("config.json"), torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config)
    wanted = sum(weight.numel() for weight in network.parameters())
    if wanted > numbers:
        raise BadModel(
            f"config.json is that of a model with {wanted:,} numbers, and the files hold "
            f"{numbers:,}: tensors are missing, or they must have another shape"
        )


def tensors_of(folder: Path) -> dict[str, InFile]:
    """Return all tensors of a folder's files by their names. Raises `BadModel` for a file that is
    damaged, for a name that two files hold, and for an index that says otherwise."""
    from safetensors import safe_open

    paths, index = _files(folder)
    tensors: dict[str, InFile] = {}
    for path in paths:
        check_file(path)
        try:
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118
                    part = file.get_slice(name)
                    if part.get_dtype() not in DTYPES:
                        raise BadModel(
                            f"{name[:80]} of {path.name} must be one of {', '.join(DTYPES)}, got "
                            f"{part.get_dtype()}"
                        )
                    if name in tensors:
                        raise BadModel(
                            f"a tensor must be in one file, and {name[:80]} is in "
                            f"{tensors[name].path.name} and in {path.name}"
                        )
                    tensors[name] = InFile(path, tuple(part.get_shape()))
        except BadModel:
            raise
        except Exception as problem:  # the package's own, and of the system
            raise BadModel(f"{path.name} is damaged or cut off: {problem!s:.200}") from None
    if not tensors:
        raise BadModel(f"expected tensors in {folder.name}, and there are none")
    for name, tensor in tensors.items():
        if index and index.get(name) != tensor.path.name:
            raise BadModel(
                f"{name[:80]} is in {tensor.path.name}, and {INDEXED} has it in {index.get(name)}"
            )
    if index and (missing := index.keys() - tensors.keys()):
        raise BadModel(f"{INDEXED} names tensors that no file holds: {listed(missing)}")
    return tensors


def _files(folder: Path) -> tuple[list[Path], dict[str, str]]:
    """Return the folder's files of weights, and of an index the file of each tensor."""
    whole = folder / WHOLE
    index = folder / INDEXED
    if whole.exists() and index.exists():
        raise BadModel(f"expected {WHOLE} or {INDEXED} in {folder.name}, and there are both")
    if whole.exists():
        return [whole], {}
    if index.exists():
        by_name = json_of(index, INDEX).get("weight_map")
        if not isinstance(by_name, dict) or not by_name:
            raise BadModel(f"{index.name} must have a weight_map, the file of each tensor")
        names = sorted({str(name) for name in by_name.values()})
        # a name with a folder in it could lead anywhere
        if any(Path(name).name != name for name in names):
            raise BadModel(f"{index.name} must name files of its folder, got {listed(names)}")
        return [folder / name for name in names], by_name
    for path in sorted(folder.iterdir()):
        if path.suffix in PICKLED:
            check_file(path)  # says how to convert it
    raise BadModel(f"expected {WHOLE} in {folder.name}, and there is none")


def json_of(path: Path, most: int = SETTINGS) -> dict[str, Any]:
    """Return the settings of a file of JSON. Raises `BadModel`."""
    try:
        value = json.loads(read_regular_file(path, most))
    except (OSError, ValueError):
        raise BadModel(
            f"expected {path.name} with settings as JSON, at most {most} bytes; it is missing or "
            "damaged"
        ) from None
    if not isinstance(value, dict):
        raise BadModel(f"{path.name} must hold settings by name, got {type(value).__name__}")
    return value


def _check_loaded(network: Any, loading: Any, tensors: dict[str, InFile]) -> None:
    """Refuse a model that is not what the files hold: with tensors that they lack, without one of
    theirs, or with another in its place."""
    from safetensors import safe_open

    missing = {*loading["missing_keys"], *(str(key) for key in loading["mismatched_keys"])}
    if missing or loading["unexpected_keys"]:
        raise BadModel(
            f"the files must hold the tensors of the family {network.config.model_type}; missing "
            f"or of another shape: {listed(missing)}; unknown: {listed(loading['unexpected_keys'])}"
        )
    head = network.get_output_embeddings()
    is_tied = head is None or head.weight is network.get_input_embeddings().weight
    if network.config.tie_word_embeddings and not is_tied:
        raise BadModel(
            "tie_word_embeddings says that the unembedding is the embedding, and the files hold "
            "another one: remove it, or set tie_word_embeddings to false"
        )
    weights = network.state_dict()
    buffers = dict(network.named_buffers())
    prefix = f"{network.base_model_prefix}."
    reached: set[str] = set()
    strange: list[str] = []  # which families with experts have under other names
    for name, tensor in tensors.items():
        ours = name if name in weights or name in buffers else prefix + name
        with safe_open(tensor.path, "pt") as file:
            values = file.get_tensor(name).float()
        check_finite(name, values)
        if name.endswith(FREQUENCIES):
            ours = next((each for each in buffers if each.endswith("rotary_emb.inv_freq")), ours)
            if ours in buffers and torch.allclose(values, buffers[ours].float(), rtol=1e-3):
                continue
            raise BadModel(f"{name[:80]} holds frequencies that are not those of config.json")
        if ours in weights and torch.equal(weights[ours].float(), values):
            reached.add(ours)
        elif ours in weights:
            raise BadModel(
                f"{name[:80]} of {tensor.path.name} is not what the model would compute with: "
                "config.json says that it is another's, such as a head that is tied"
            )
        elif not name.endswith(COMPUTED):
            strange.append(name)
    held = {each.data_ptr() for name, each in weights.items() if name in reached}
    rest = {each.data_ptr(): each for each in network.parameters() if each.data_ptr() not in held}
    count = sum(int(np.prod(tensors[name].shape, dtype=np.int64)) for name in strange)
    if count != sum(weight.numel() for weight in rest.values()):
        raise BadModel(f"these tensors have no place in the model: {listed(strange)}")
