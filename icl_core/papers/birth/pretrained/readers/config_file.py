"""The size of a model by its `config.json`, as `transformers` writes it. What the readers do not
compute, such as scaled rotations or a sliding window, is refused by its name."""

from collections.abc import Mapping
from typing import Any

from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.gpt2 import ACTIVATIONS
from icl_core.papers.birth.pretrained.readers.model import Shape

Settings = Mapping[str, Any]
# by architecture: settings that must have these values where they are given
PLAIN: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "llama": {
        "hidden_act": ("silu",),
        "attention_bias": (False,),
        "mlp_bias": (False,),
        "rope_scaling": (None,),
        "sliding_window": (None,),
    },
    "gpt2": {
        "activation_function": tuple(ACTIVATIONS),
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
    },
    "gpt_neox": {
        "hidden_act": ("gelu",),
        "attention_bias": (True,),
        "rope_scaling": (None,),
    },
}


def shape_of(settings: Settings) -> Shape:
    """Return the size of a model. Raises `BadModel` for an architecture or a setting that is not
    known."""
    architecture = settings.get("model_type")
    if not isinstance(architecture, str) or architecture not in PLAIN:
        raise BadModel(
            f"the architecture {architecture!r:.40} is not known; known: {', '.join(PLAIN)}"
        )
    for name, allowed in PLAIN[architecture].items():
        value = settings.get(name, allowed[0])
        if value not in allowed:
            choices = ", ".join(map(str, allowed))
            raise BadModel(f"{name} must be one of {choices} in config.json, got {value!r:.40}")
    make = {"llama": _llama, "gpt2": _gpt2, "gpt_neox": _neox}[architecture]
    return make(settings)


def _llama(settings: Settings) -> Shape:
    heads = _whole(settings, "num_attention_heads")
    d = _whole(settings, "hidden_size")
    d_H = _whole(settings, "head_dim", d // heads)
    return Shape(
        "llama",
        layers=_whole(settings, "num_hidden_layers"),
        heads=heads,
        key_heads=_whole(settings, "num_key_value_heads", heads),
        d=d,
        d_H=d_H,
        hidden=_whole(settings, "intermediate_size"),
        N=_whole(settings, "vocab_size"),
        T=_whole(settings, "max_position_embeddings", 2048),
        epsilon=_number(settings, "rms_norm_eps", 1e-6),
        base=_base(settings, "rope_theta"),
        rotated=d_H,
        tied=_switch(settings, "tie_word_embeddings", False),
        activation="silu",
    )


def _gpt2(settings: Settings) -> Shape:
    heads = _whole(settings, "n_head")
    d = _whole(settings, "n_embd")
    _check_divides(heads, d)
    return Shape(
        "gpt2",
        layers=_whole(settings, "n_layer"),
        heads=heads,
        key_heads=heads,
        d=d,
        d_H=d // heads,
        hidden=_whole(settings, "n_inner", 4 * d),
        N=_whole(settings, "vocab_size"),
        T=_whole(settings, "n_positions", 1024),
        epsilon=_number(settings, "layer_norm_epsilon", 1e-5),
        base=0.0,
        rotated=0,
        tied=_switch(settings, "tie_word_embeddings", True),
        activation=settings.get("activation_function", "gelu_new"),
    )


def _neox(settings: Settings) -> Shape:
    heads = _whole(settings, "num_attention_heads")
    d = _whole(settings, "hidden_size")
    _check_divides(heads, d)
    share = _number(settings, "rotary_pct", _rotations(settings).get("partial_rotary_factor", 0.25))
    return Shape(
        "gpt_neox",
        layers=_whole(settings, "num_hidden_layers"),
        heads=heads,
        key_heads=heads,
        d=d,
        d_H=d // heads,
        hidden=_whole(settings, "intermediate_size"),
        N=_whole(settings, "vocab_size"),
        T=_whole(settings, "max_position_embeddings", 2048),
        epsilon=_number(settings, "layer_norm_eps", 1e-5),
        base=_base(settings, "rotary_emb_base"),
        rotated=int(share * (d // heads)),
        tied=_switch(settings, "tie_word_embeddings", False),
        activation="gelu",
        parallel=_switch(settings, "use_parallel_residual", True),
    )


def _rotations(settings: Settings) -> Settings:
    """Return what newer files say of rotations; refuse scaled ones."""
    rotations = settings.get("rope_parameters") or {}
    if not isinstance(rotations, dict) or rotations.get("rope_type", "default") != "default":
        raise BadModel(f"rotations that are scaled are not known, got {rotations!r:.80}")
    return rotations


def _base(settings: Settings, name: str) -> float:
    """Return the base of the rotations' frequencies, which newer files give elsewhere."""
    return _number(settings, name, _rotations(settings).get("rope_theta", 10_000.0))


def _check_divides(heads: int, d: int) -> None:
    if d % heads:
        raise BadModel(f"heads must divide the width, {d}, got {heads}")


def _whole(settings: Settings, name: str, default: int | None = None) -> int:
    """Return a whole number from 1 on."""
    value = settings.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadModel(f"{name} must be a whole number from 1 on in config.json, got {value!r:.40}")
    return value


def _number(settings: Settings, name: str, default: Any) -> float:
    value = settings.get(name, default)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise BadModel(f"{name} must be a number in config.json, got {value!r:.40}")
    return float(value)


def _switch(settings: Settings, name: str, default: bool) -> bool:
    value = settings.get(name, default)
    if not isinstance(value, bool):
        raise BadModel(f"{name} must be true or false in config.json, got {value!r:.40}")
    return value
