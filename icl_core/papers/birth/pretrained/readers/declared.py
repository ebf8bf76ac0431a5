"""What a model's `config.json` may declare, and that it is computed. `transformers` keeps what it
does not know of and computes without it; here such a setting is refused by its name."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from icl_core.papers.birth.pretrained.readers.checks import BadModel

# settings that say nothing of what is computed here: where a model comes from, how it was trained,
# what it is generated with, and what its tokens are
FREE = (
    "_name_or_path", "_attn_implementation_autoset", "architectures", "auto_map", "dtype",
    "torch_dtype", "transformers_version", "transformers.js_config", "model_type", "use_cache",
    "cache_implementation", "gradient_checkpointing", "is_llama_config", "bos_token_id",
    "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id", "decoder_start_token_id",
    "forced_bos_token_id", "forced_eos_token_id", "begin_suppress_tokens", "suppress_tokens",
    "task_specific_params", "output_attentions", "output_hidden_states", "return_dict",
    "tokenizer_class", "prefix", "finetuning_task", "id2label", "label2id", "num_labels",
    "_num_labels", "problem_type", "max_length",
    "do_sample", "temperature", "top_k", "top_p", "repetition_penalty", "num_beams",
)  # fmt: skip
# fields that a family knows and that must have these values
PLAIN: Mapping[str, tuple[Any, ...]] = {
    "is_encoder_decoder": (False, None),
    "add_cross_attention": (False, None),
    "use_bidirectional_attention": (False, None),
    "pretraining_tp": (1, None),
    "chunk_size_feed_forward": (0, None),
}
# names that files have beside those of a family's fields, and which field must agree
AGREES = {
    "hidden_act": "hidden_activation",
    "n_ctx": "max_position_embeddings",
    "_sliding_window_pattern": "_sliding_window_pattern",
    "sliding_window_pattern": "_sliding_window_pattern",
}
# older names of settings of rotations, and where `transformers` puts them
ROTATIONS = {
    "rope_theta": "rope_theta",
    "rotary_emb_base": "rope_theta",
    "rotary_pct": "partial_rotary_factor",
    "partial_rotary_factor": "partial_rotary_factor",
    "rope_local_base_freq": "rope_theta",
}
# what rotations of each kind are computed from
KINDS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_max_position_embeddings"),
    "yarn": (
        "factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow",
        "mscale", "mscale_all_dim", "truncate",
    ),
    "longrope": (
        "factor", "original_max_position_embeddings", "attention_factor", "short_factor",
        "long_factor",
    ),
    "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
}  # fmt: skip
OF_ALL = ("rope_type", "type", "rope_theta", "partial_rotary_factor")


@contextmanager
def said(what: str) -> Iterator[None]:
    """Turn whatever `transformers` raises into a sentence: it has no errors of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BadModel:
        raise
    except Exception as problem:
        reason = " ".join(f"{problem}".split())
        raise BadModel(f"{what} cannot be opened by transformers: {reason:.300}") from problem


@contextmanager
def empty_weights() -> Iterator[None]:
    """Make models without drawing their weights, which are filled in later."""
    from transformers.initialization import no_init_weights  # pyright: ignore[reportMissingImports]

    with no_init_weights():
        yield


def config_of(settings: Mapping[str, Any]) -> Any:
    """Return the config of `transformers` for what config.json declares. Raises `BadModel` for a
    family or a setting that is not known, and for one that is not computed."""
    from transformers import CONFIG_MAPPING  # pyright: ignore[reportMissingImports]

    family = settings.get("model_type")
    if not isinstance(family, str) or family not in CONFIG_MAPPING:
        raise BadModel(f"the family {family!r:.40} is not one that transformers has: model_type")
    if "quantization_config" in settings:
        raise BadModel("quantization_config must not be given: expected weights as they are")
    with said("config.json"):
        config = CONFIG_MAPPING[family].from_dict(dict(settings))
    fields = {field.name for field in dataclasses.fields(config)} | {*config.attribute_map}
    # what transformers derives from the other settings may be declared, too
    known_settings = {name: value for name, value in settings.items() if name in fields}
    derived_config = CONFIG_MAPPING[family].from_dict(known_settings)
    beside = fields | {*FREE, *ROTATIONS, "rope_scaling", "rope_parameters"}
    for name, value in settings.items():
        agrees = name in AGREES and getattr(config, AGREES[name], None) == value
        agrees = agrees or getattr(derived_config, name, None) == value
        if name not in beside and not agrees and value not in (None, False, [], {}):
            raise BadModel(
                f"{name[:80]} is not a setting of the family {family}, and what it declares would "
                f"not be computed, got {value!r:.60}"
            )
        if name in PLAIN and value not in PLAIN[name]:
            raise BadModel(f"{name} must be {PLAIN[name][0]} in config.json, got {value!r:.40}")
    _check_rotations(settings, config)
    return config


def _check_rotations(settings: Mapping[str, Any], config: Any) -> None:
    """Refuse rotations that are declared and not computed, or declared twice in two ways."""
    computed = getattr(config, "rope_parameters", None) or {}
    of_layers = [each for each in computed.values() if isinstance(each, dict)] or [computed]
    for rotations in of_layers:
        kind = rotations.get("rope_type", "default")
        known = {*OF_ALL, *KINDS.get(kind, ())}
        strange = [name for name, value in rotations.items() if name not in known and value]
        if kind not in KINDS or strange:
            raise BadModel(
                f"rotations of the kind {kind!r:.20} with {listed_or_none(strange)} are not known, "
                f"got {rotations!r:.120}"
            )
    for name in ("rope_scaling", "rope_parameters"):
        nested = settings.get(name) or {}
        if not isinstance(nested, dict):
            raise BadModel(f"{name} must hold settings by name, got {nested!r:.40}")
        for each in [value for value in nested.values() if isinstance(value, dict)] or [nested]:
            for key, value in each.items():
                short = "rope_type" if key == "type" else key
                _check_one(f"{name}.{key}", short, value, of_layers)
    for name, key in ROTATIONS.items():
        if settings.get(name) is not None:
            _check_one(name, key, settings[name], of_layers)


def _check_one(name: str, key: str, value: Any, computed: list[dict[str, Any]]) -> None:
    if not any(rotations.get(key) == value for rotations in computed):
        raise BadModel(
            f"{name} in config.json is not what would be computed: it declares {value!r:.40}, and "
            f"the model has {[rotations.get(key) for rotations in computed]!r:.80}"
        )


def check_rotated(network: Any) -> None:
    """Refuse a model that turns another part of each head than is declared."""
    rotations = getattr(network.config, "rope_parameters", None) or {}
    share = rotations.get("partial_rotary_factor")
    turned = {2 * len(each) for name, each in network.named_buffers() if name.endswith("inv_freq")}
    width = getattr(network.config, "head_dim", None)
    if share and turned and width and turned != {int(width * share)}:
        raise BadModel(
            f"partial_rotary_factor is {share} in config.json, and the family "
            f"{network.config.model_type} turns {sorted(turned)} of {width} dimensions"
        )


def listed_or_none(names: list[str]) -> str:
    """Return names for a sentence."""
    return ", ".join(names) or "nothing more"
