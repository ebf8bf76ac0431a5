"""Small models of `transformers`, of sixteen families, with random weights and one induction head:
head 1.2 looks at the previous token and copies it, and head 3.3 looks for its own token among these
copies, as `pretrained.planted` has it for the product. Each family's own ways are left in: grouped
keys, norms of queries and keys, norms behind a block, windows, caps, sinks, factors."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

LAYERS = 3
HEADS = 4
GROUPS = 2
D = 256
D_H = 64
N = 64
T = 128
CODE = 32
PREVIOUS_HEAD = (1, 2)
INDUCTION_HEAD = (3, 3)
TOKEN, PREVIOUS, OUTPUT = slice(0, CODE), slice(CODE, 2 * CODE), slice(2 * CODE, 3 * CODE)
CONSTANT = 3 * CODE
POSITION = slice(4 * CODE, 6 * CODE)
BASE = 1e6
SPREAD = 0.02

BASIC = {
    "vocab_size": N, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": D,
    "intermediate_size": 64, "max_position_embeddings": T, "tie_word_embeddings": False,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0,
}  # fmt: skip
GROUPED = {"num_key_value_heads": GROUPS}
ROTATED = {"rope_parameters": {"rope_type": "default", "rope_theta": BASE}}
PARTLY = {
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}
}
OF_TYPES = {
    "rope_parameters": {
        kind: {"rope_type": "default", "rope_theta": BASE}
        for kind in ("full_attention", "sliding_attention")
    }
}


class Family(NamedTuple):
    """A family: the names of its classes, its settings, and how its queries lie: "apart", "fused",
    "by head" or "transposed".

    rotated   dimensions of a head that turn; 0 for learned positions
    embedded  what embeddings are multiplied with
    written   what a block's output is multiplied with
    said      what logits are divided by
    offset    what a norm adds to its weight
    """

    classes: tuple[str, str]
    settings: dict[str, Any]
    layout: str = "apart"
    rotated: int = D_H
    embedded: float = 1.0
    written: float = 1.0
    said: float = 1.0
    offset: float = 0.0


def _of(name: str, *settings: dict[str, Any], **more: Any) -> Family:
    merged: dict[str, Any] = dict(BASIC)
    for each in settings:
        merged |= each
    return Family((f"{name}Config", f"{name}ForCausalLM"), merged, **more)


HEAD = {"head_dim": D_H}
WINDOW = {"sliding_window": 100}
FAMILIES = {
    "llama": _of("Llama", GROUPED, ROTATED),
    "qwen2": _of("Qwen2", GROUPED, ROTATED),
    "qwen3": _of("Qwen3", GROUPED, ROTATED, HEAD),
    "gemma2": _of(
        "Gemma2", GROUPED, ROTATED, HEAD, WINDOW, {"query_pre_attn_scalar": D_H},
        embedded=D**0.5, offset=1.0,
    ),
    "gemma3": _of(
        "Gemma3", GROUPED, OF_TYPES, HEAD, WINDOW, {"query_pre_attn_scalar": D_H},
        embedded=D**0.5, offset=1.0,
    )._replace(classes=("Gemma3TextConfig", "Gemma3ForCausalLM")),
    "mistral": _of("Mistral", GROUPED, ROTATED, WINDOW),
    "phi3": _of("Phi3", GROUPED, ROTATED, layout="fused"),
    "olmo2": _of("Olmo2", GROUPED, ROTATED),
    "gpt_neox": _of("GPTNeoX", PARTLY, layout="by head", rotated=D_H // 4),
    "gpt2": Family(
        ("GPT2Config", "GPT2LMHeadModel"),
        {
            "vocab_size": N, "n_layer": LAYERS, "n_head": HEADS, "n_embd": D, "n_inner": 64,
            "n_positions": T, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0,
        },
        "transposed",
        0,
    ),
    "smollm3": _of("SmolLM3", GROUPED, ROTATED),
    "granite": _of(
        "Granite", GROUPED, ROTATED,
        {
            "embedding_multiplier": 2.0, "residual_multiplier": 0.5, "attention_multiplier": 0.125,
            "logits_scaling": 2.0,
        },
        embedded=2.0, written=0.5, said=2.0,
    ),
    "stablelm": _of("StableLm", GROUPED, PARTLY, rotated=D_H // 4),
    "starcoder2": _of("Starcoder2", GROUPED, ROTATED),
    "opt": _of("OPT", {"ffn_dim": 64, "word_embed_proj_dim": D}, rotated=0),
    "gpt_oss": _of("GptOss", GROUPED, ROTATED, HEAD, WINDOW, {"num_local_experts": 4}),
}  # fmt: skip


def network(name: str, seed: int = 0) -> Any:
    """The model of a family with random weights, which attends eagerly."""
    import transformers

    family = FAMILIES[name]
    config_class, model_class = family.classes
    settings = dict(family.settings)
    if name == "opt":
        settings.pop("intermediate_size")
    config = getattr(transformers, config_class)(attn_implementation="eager", **settings)
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        model = getattr(transformers, model_class)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(SPREAD * torch.randn(parameter.shape, generator=generator))
    return model


@torch.no_grad()
def planted(name: str, seed: int = 0) -> Any:
    """The model of a family with the two heads in it."""
    family = FAMILIES[name]
    model = network(name, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    codes = torch.randn(N, CODE, generator=generator)
    codes /= codes.norm(dim=1, keepdim=True)
    embeddings = model.get_input_embeddings().weight
    embeddings /= family.embedded
    embeddings[:, TOKEN] = codes / family.embedded
    embeddings[:, CONSTANT] = 1.0 / family.embedded
    model.get_output_embeddings().weight[:, OUTPUT] = family.said * codes
    back = _by_rotation(family.rotated) if family.rotated else _by_position(model, name)
    match = torch.zeros(2, D_H, D)
    rows = _still(family.rotated)
    match[0, rows, torch.arange(CODE)] = 30**0.5 / 4
    match[1, rows, CODE + torch.arange(CODE)] = 30**0.5 / 4
    value = torch.zeros(D_H, D)
    value[:CODE, TOKEN] = torch.eye(CODE)
    for (layer, head), (query, key), place, size in (
        (PREVIOUS_HEAD, back, PREVIOUS, 0.1),
        (INDUCTION_HEAD, match, OUTPUT, 0.2),
    ):
        output = torch.zeros(D, D_H)
        output[place, :CODE] = size / family.written * torch.eye(CODE)
        _put(family, _attention_of(model, layer), head, (query, key, value, output))
    _quieten(name, model, family.offset)
    return model


def _by_rotation(rotated: int) -> Tensor:
    """A query and a key that are alike once the key is turned on by one position."""
    half = rotated // 2
    fast = min(16, half)
    base = BASE if rotated == D_H else 1e4
    speeds = base ** (-torch.arange(fast) / half)
    pair = torch.zeros(2, D_H, D)
    pair[0, :fast, CONSTANT] = 1.0
    pair[1, :fast, CONSTANT] = speeds.cos()
    pair[1, half : half + fast, CONSTANT] = speeds.sin()
    return pair * (2.0 if fast < 16 else 1.0)


def _by_position(model: Any, name: str) -> Tensor:
    """The same where positions are in the stream, which are put there."""
    table = model.transformer.wpe.weight if name == "gpt2" else model.model.decoder.embed_positions
    rows = table if name == "gpt2" else table.weight[2:]
    speeds = 1e2 ** (-torch.arange(CODE) / CODE)
    angles = torch.arange(T)[:, None] * speeds
    rows[:, POSITION] = torch.cat([angles.cos(), angles.sin()], 1) / CODE**0.5
    pair = torch.zeros(2, D_H, D)
    pair[0][:, POSITION] = 32 * torch.eye(D_H)
    places = torch.arange(CODE)
    back = torch.zeros(D_H, D_H)
    back[places, places] = back[CODE + places, CODE + places] = speeds.cos()
    back[places, CODE + places] = -speeds.sin()
    back[CODE + places, places] = speeds.sin()
    pair[1][:, POSITION] = 2 * back
    return pair


def _still(rotated: int) -> Tensor:
    """The rows of a query that hardly turn."""
    if rotated == D_H:
        return torch.cat([torch.arange(16, 32), torch.arange(48, 64)])
    return rotated + torch.arange(CODE)


def _attention_of(model: Any, layer: int) -> Any:
    """The module that holds a layer's projections."""
    lists = (each for each in model.modules() if isinstance(each, torch.nn.ModuleList))
    block = next(each for each in lists if len(each) == LAYERS)[layer - 1]
    return next(
        getattr(block, name) for name in ("self_attn", "attention", "attn") if hasattr(block, name)
    )


def _put(family: Family, module: Any, head: int, matrices: tuple[Tensor, ...]) -> None:
    """Write a head's matrices, each [d_H, d] and the last one [d, d_H], where they belong."""
    query, key, value, output = matrices
    own = slice((head - 1) * D_H, head * D_H)
    group = (head - 1) * GROUPS // HEADS
    shared = slice(group * D_H, (group + 1) * D_H)
    if family.layout == "by head":
        by_head = module.query_key_value.weight.view(HEADS, 3, D_H, D)
        by_head[head - 1] = torch.stack([query, key, value])
        module.dense.weight[:, own] = output
    elif family.layout == "transposed":
        for index, matrix in enumerate((query, key, value)):
            first = index * D + own.start
            module.c_attn.weight[:, first : first + D_H] = matrix.T
        module.c_proj.weight[own] = output.T
    elif family.layout == "fused":
        rows = module.qkv_proj.weight
        keys = HEADS * D_H
        rows[own] = query
        rows[keys + shared.start : keys + shared.stop] = key
        values = keys + GROUPS * D_H
        rows[values + shared.start : values + shared.stop] = value
        module.o_proj.weight[:, own] = output
    else:
        is_grouped = module.k_proj.weight.shape[0] < HEADS * D_H
        module.q_proj.weight[own] = query
        module.k_proj.weight[shared if is_grouped else own] = key
        module.v_proj.weight[shared if is_grouped else own] = value
        out = module.o_proj if hasattr(module, "o_proj") else module.out_proj
        out.weight[:, own] = output


def _quieten(name: str, model: Any, offset: float) -> None:
    """Set the gains of norms behind blocks, which would make random outputs as large as planted
    ones, those of queries and keys, which take the planted ones' size, and a cap of scores."""
    gains: dict[str, Callable[[int], float]] = {}
    planted_layers = (PREVIOUS_HEAD[0], INDUCTION_HEAD[0])
    if name in ("gemma2", "gemma3", "olmo2"):
        gains["post_attention_layernorm"] = lambda layer: (
            1 / 16 if layer in planted_layers else 1e-3
        )
        gains["post_feedforward_layernorm"] = lambda layer: 1e-3
    if name in ("qwen3", "gemma3"):
        gains["q_norm"] = lambda layer: 3.0
    if name == "gemma2":  # a cap of 50 leaves too little of the planted scores, which are up to 240
        for layer in range(1, LAYERS + 1):
            _attention_of(model, layer).attn_logit_softcapping = 200.0
    for path, weight in model.named_parameters():
        for norm, gain in gains.items():
            if f".{norm}." in path:
                layer = int(path.split("layers.")[1].split(".")[0]) + 1
                weight.fill_(gain(layer) - offset)
