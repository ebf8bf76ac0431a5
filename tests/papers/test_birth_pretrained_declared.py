"""What a model's files declare is computed, or the files are refused by its name: tiny models of
Llama's shape with random weights against a pass of our own in double precision. Skipped without
tests/requirements-pretrained.txt."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

transformers = pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")
tokenizers = pytest.importorskip("tokenizers")

from papers.gguf_names import interleaved, name_in_gguf  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from icl_core import registry  # noqa: E402
from icl_core.contract.experiment import CannotDraw, Run  # noqa: E402
from icl_core.contract.knobs import NotHere  # noqa: E402
from icl_core.papers.birth.pretrained.load_run import token_labels  # noqa: E402
from icl_core.papers.birth.pretrained.readers import checks, folder, gguf_file  # noqa: E402
from icl_core.papers.birth.pretrained.readers.checks import BadModel  # noqa: E402
from icl_core.papers.birth.pretrained.readers.model import forward  # noqa: E402
from icl_core.papers.birth.pretrained.run import compute  # noqa: E402
from icl_core.papers.birth.pretrained.settings import Config, View  # noqa: E402
from tests.recorder import Recorder  # noqa: E402

N = 40
D = 16
D_H = 8
HEADS = 2
LAYERS = 2
FREQUENCIES = 10_000.0 ** (-np.arange(D_H // 2) / (D_H // 2))
INPUTS = [0, 5, 9, 33, 5, 9, 33, 7, 5, 9, 33, 12, 38, 5]
SETTINGS = {
    "model_type": "llama", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": 1, "hidden_size": D, "intermediate_size": 24, "vocab_size": N,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10_000.0,
    "tie_word_embeddings": True, "bos_token_id": 0, "hidden_act": "silu",
}  # fmt: skip


def tensors(seed: int = 0) -> dict[str, torch.Tensor]:
    """Random weights whose positions matter."""
    inside = {
        "input_layernorm": (D,), "self_attn.q_proj": (D, D), "self_attn.k_proj": (D_H, D),
        "self_attn.v_proj": (D_H, D), "self_attn.o_proj": (D, D),
        "post_attention_layernorm": (D,), "mlp.gate_proj": (24, D), "mlp.up_proj": (24, D),
        "mlp.down_proj": (D, 24),
    }  # fmt: skip
    sizes: dict[str, tuple[int, ...]] = {"embed_tokens": (N, D), "norm": (D,)}
    for layer in range(LAYERS):
        sizes |= {f"layers.{layer}.{name}": size for name, size in inside.items()}
    generator = torch.Generator().manual_seed(seed)
    return {
        f"model.{name}.weight": 0.5 * torch.randn(size, generator=generator) + (len(size) == 1)
        for name, size in sizes.items()
    }


def loss(weights: dict[str, torch.Tensor], frequencies: np.ndarray = FREQUENCIES) -> float:
    """The mean loss of the inputs, in double precision, read off the formulas."""
    W = {name: weight.double().numpy() for name, weight in weights.items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * W[f"model.{name}.weight"]

    def turned(vectors: np.ndarray) -> np.ndarray:
        angles = np.arange(len(vectors))[:, None] * frequencies
        planes = vectors[:, : D_H // 2] + 1j * vectors[:, D_H // 2 :]
        planes = planes * np.exp(1j * angles)
        return np.concatenate([planes.real, planes.imag], 1)

    x = W["model.embed_tokens.weight"][INPUTS]
    for layer in range(LAYERS):
        part = f"layers.{layer}"
        r = norm(x, f"{part}.input_layernorm")
        q, k, v, o = (W[f"model.{part}.self_attn.{name}_proj.weight"] for name in "qkvo")
        z = []
        for head in range(HEADS):
            rows = slice(head * D_H, (head + 1) * D_H)
            scores = turned(r @ q[rows].T) @ turned(r @ k.T).T / D_H**0.5
            scores[np.triu_indices(len(scores), 1)] = -np.inf
            maps = np.exp(scores - scores.max(1, keepdims=True))
            z.append(maps / maps.sum(1, keepdims=True) @ (r @ v.T))
        x = x + np.concatenate(z, 1) @ o.T
        r = norm(x, f"{part}.post_attention_layernorm")
        gate, up, down = (
            W[f"model.{part}.mlp.{name}_proj.weight"] for name in ("gate", "up", "down")
        )
        gate = r @ gate.T
        x = x + (gate / (1 + np.exp(-gate)) * (r @ up.T)) @ down.T
    logits = norm(x, "norm") @ W.get("lm_head.weight", W["model.embed_tokens.weight"]).T
    logits -= logits.max(1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(1, keepdims=True))
    return float(-logits[range(len(INPUTS) - 1), INPUTS[1:]].mean())


def computed(path: Path) -> float:
    """The same of the model that is read of a path."""
    model, _ = gguf_file.read(path) if path.is_file() else folder.read(path)
    ids = torch.tensor(INPUTS)
    return float(F.cross_entropy(forward(model, ids[None]).logits[0, :-1], ids[1:]))


def tokenizer() -> Any:
    """A tokeniser of N single bytes."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())[: N - 1]
    vocabulary = {letter: at for at, letter in enumerate(["<s>", *alphabet])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def written(path: Path, settings: dict | None = None, weights: dict | None = None) -> Path:
    """A folder with a model; settings of None are left out."""
    merged = SETTINGS | (settings or {})
    kept = {name: value for name, value in merged.items() if value is not None}
    (path / "config.json").write_text(json.dumps(kept))
    save_file(tensors() if weights is None else weights, path / "model.safetensors")
    tokenizer().save(str(path / "tokenizer.json"))
    return path


def gguf_written(path: Path, weights: dict | None = None, tokens: list | None = None, **entries):
    """The same as a GGUF file with more entries of the metadata."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(64)
    writer.add_embedding_length(D)
    writer.add_feed_forward_length(24)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(D_H)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    every = tokens or list(dict(sorted(tokenizer().get_vocab().items(), key=lambda item: item[1])))
    writer.add_token_list(every)
    kinds = [3 if token == "<s>" else 4 if token == "<X>" else 1 for token in every]
    writer.add_token_types(kinds)
    writer.add_token_merges([])
    writer.add_bos_token_id(0)
    for name, value in entries.items():
        kind = {float: "FLOAT32", int: "UINT32", str: "STRING"}[type(value)]
        key = f"llama.{name.replace('__', '.')}"
        writer.kv_data[0][key] = gguf.GGUFValue(value, gguf.GGUFValueType[kind])
    for name, weight in (tensors() if weights is None else weights).items():
        values = weight.numpy()
        if ".q_proj." in name or ".k_proj." in name:
            values = interleaved(values, len(values) // D_H)
        known = name.startswith("model.") or name.startswith("lm_head.")
        writer.add_tensor(name_in_gguf(name) if known else name, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip


def of_llama3() -> np.ndarray:
    """Frequencies as the Llama 3.1 report scales them: slow ones by the factor, quick ones not, and
    between them in part."""
    waves = 2 * np.pi / FREQUENCIES
    smooth = (32 / waves - 1.0) / (4.0 - 1.0)
    mixed = (1 - smooth) * FREQUENCIES / 8.0 + smooth * FREQUENCIES
    return np.where(waves < 32 / 4, FREQUENCIES, np.where(waves > 32, FREQUENCIES / 8.0, mixed))


@pytest.mark.parametrize(
    ("settings", "frequencies"),
    [
        ({}, FREQUENCIES),
        ({"rope_scaling": {"rope_type": "default"}}, FREQUENCIES),
        ({"rope_scaling": {"type": "linear", "factor": 4.0}}, FREQUENCIES / 4),
        ({"rope_scaling": {"rope_type": "linear", "factor": 4.0}}, FREQUENCIES / 4),
        (
            {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
            100.0 ** (-np.arange(4) / 4),
        ),
        ({"rope_scaling": LLAMA3}, of_llama3()),
        ({"rope_interleaved": False, "sliding_window": None}, FREQUENCIES),
    ],
)
def test_settings_that_are_computed(tmp_path, settings, frequencies):
    expected = loss(tensors(), frequencies)
    assert computed(written(tmp_path, settings)) == pytest.approx(expected, abs=1e-5)


def test_scalings_differ():
    values = [loss(tensors(), each) for each in (FREQUENCIES, FREQUENCIES / 4, of_llama3())]
    assert min(np.diff(sorted(values))) > 1e-3


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"model_type": "no such"}, "the family 'no such' is not one that transformers has"),
        ({"model_type": None}, "the family None is not one"),
        ({"model_type": "t5"}, "cannot be opened|is not a setting|has no list"),
        ({"hidden_size": 18}, "files hold|cannot be opened"),
        ({"hidden_size": -1}, "cannot be opened|layers must be"),
        ({"hidden_size": 10**9}, "and the files hold"),
        ({"num_hidden_layers": 3}, "and the files hold"),
        ({"num_hidden_layers": 1}, "unknown: .*layers.1|no place in the model: .*layers.1"),
        ({"num_hidden_layers": 10**7}, "layers must be 1 to 1000, got 10000000"),
        ({"num_key_value_heads": 3}, "files hold|cannot be opened"),
        ({"rope_scaling": {"factor": 8.0}}, "factor are not known"),
        (
            {"rope_scaling": {"rope_type": "su", "factor": 8.0}},
            "'su' .* not known|cannot be opened",
        ),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [2, 2]}}, "mrope|cannot be opened"),
        (
            {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
            "rope_theta in config",
        ),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"rotary_pct": 0.25}, "rotary_pct in config.json is not what would be computed"),
        ({"attention_bias": True}, "and the files hold"),
        ({"hidden_act": "none of these"}, "cannot be opened by transformers"),
        ({"rms_norm_eps": "small"}, "cannot be opened by transformers"),
        ({"sliding_window": 8}, "sliding_window is not a setting of the family llama"),
        ({"attn_logit_softcapping": 30.0}, "attn_logit_softcapping is not a setting"),
        ({"quantization_config": {"bits": 4}}, "quantization_config must not be given"),
        ({"pretraining_tp": 2}, "pretraining_tp must be 1"),
    ],
)
def test_settings_that_are_not_computed_are_named(tmp_path, settings, match):
    with pytest.raises(BadModel, match=match):
        folder.read(written(tmp_path, settings))


def test_a_head_of_its_own_is_used_where_the_settings_do_not_say_tied(tmp_path):
    own = tensors() | {"lm_head.weight": tensors(5)["model.embed_tokens.weight"]}
    assert abs(loss(own) - loss(tensors())) > 0.1
    path = written(tmp_path, {"tie_word_embeddings": False}, own)
    assert computed(path) == pytest.approx(loss(own), abs=1e-5)
    with pytest.raises(BadModel, match="tie_word_embeddings says"):
        folder.read(written(tmp_path, {}, own))
    same = tensors() | {"lm_head.weight": tensors()["model.embed_tokens.weight"].clone()}
    assert computed(written(tmp_path, {}, same)) == pytest.approx(loss(tensors()), abs=1e-5)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"model.norm.weight": None}, "and the files hold|missing"),
        ({"more": torch.ones(3)}, "unknown: more"),
        ({"model.norm.weight": torch.ones(D - 1)}, "files hold|model.norm.weight"),
        ({"model.norm.weight": torch.ones(D + 1)}, "model.norm.weight"),
        ({"model.norm.weight": torch.tensor([1.0] * (D - 1) + [torch.nan])}, "finite numbers"),
        (
            {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(D_H // 2)},
            "inv_freq holds frequencies that are not those of config.json",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(tmp_path, changed, match):
    merged = tensors() | changed
    whole = {name: tensor for name, tensor in merged.items() if tensor is not None}
    with pytest.raises(BadModel, match=match):
        folder.read(written(tmp_path, {}, whole))


def test_frequencies_that_follow_from_the_settings_are_no_reason_to_refuse(tmp_path):
    held = torch.tensor(FREQUENCIES, dtype=torch.float32)
    more = tensors() | {"model.layers.0.self_attn.rotary_emb.inv_freq": held}
    assert computed(written(tmp_path, {}, more)) == pytest.approx(loss(tensors()), abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_of_half_precision_are_read_as_they_are(tmp_path, dtype):
    half = {name: weight.to(dtype) for name, weight in tensors().items()}
    expected = loss({name: weight.float() for name, weight in half.items()})
    assert computed(written(tmp_path, {}, half)) == pytest.approx(expected, abs=1e-5)


def test_two_shards_are_one_model_and_a_stale_tensor_is_refused(tmp_path):
    path = written(tmp_path)
    (path / "model.safetensors").unlink()
    names = list(tensors())
    files = {name: f"{'ab'[at % 2]}.safetensors" for at, name in enumerate(names)}
    index = {"metadata": {}, "weight_map": files}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    for each in ("a", "b"):
        held = {name: W for name, W in tensors().items() if files[name] == f"{each}.safetensors"}
        save_file(held, path / f"{each}.safetensors")
    assert computed(path) == pytest.approx(loss(tensors()), abs=1e-5)
    stale = tensors(1)[names[0]]
    held = {name: W for name, W in tensors().items() if files[name] == "b.safetensors"}
    save_file(held | {names[0]: stale}, path / "b.safetensors")
    with pytest.raises(BadModel, match=f"a tensor must be in one file, and {names[0]} is in"):
        folder.read(path)
    (path / "b.safetensors").unlink()
    with pytest.raises(BadModel, match=r"there is none at 'b.safetensors'"):
        folder.read(path)


def test_what_does_not_fit_the_memory_is_refused_before_it_is_made(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.setattr(checks.device, "release", lambda: 2**20)
    with pytest.raises(BadModel, match=r"of memory, and 0.0 GiB are free"):
        folder.read(tmp_path)


# GGUF


def test_a_gguf_file_is_the_same_model(tmp_path):
    path = gguf_written(tmp_path / "a.gguf", rope__freq_base=10_000.0)
    assert computed(path) == pytest.approx(loss(tensors()), abs=1e-5)
    own = tensors() | {"lm_head.weight": tensors(5)["model.embed_tokens.weight"]}
    path = gguf_written(tmp_path / "b.gguf", own)
    assert computed(path) == pytest.approx(loss(own), abs=1e-5)
    path = gguf_written(tmp_path / "c.gguf", rope__freq_base=100.0, rope__scaling__type="none")
    expected = loss(tensors(), 100.0 ** (-np.arange(4) / 4))
    assert computed(path) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ({"rope__scaling__factor": 4.0}, "llama.rope.scaling.factor is not known"),
        ({"rope__scale_linear": 4.0}, "llama.rope.scale_linear is not known"),
        ({"rope__scaling__type": "linear"}, "llama.rope.scaling.type must be 'none'"),
        ({"attention__sliding_window": 8}, "sliding_window must be None, .* got 8"),
        ({"attention__value_length": 4}, "value_length must be 8"),
        ({"expert_count": 8}, "expert_count must be 0"),
        ({"logit_scale": 2.0}, "llama.logit_scale is not known of a model of the family llama"),
    ],
)
def test_an_entry_that_is_not_computed_is_named(tmp_path, entries, match):
    with pytest.raises(BadModel, match=match):
        gguf_file.read(gguf_written(tmp_path / "a.gguf", **entries))


def test_a_tensor_that_is_not_computed_is_named(tmp_path):
    more = tensors() | {"rope_freqs.weight": torch.tensor([1.0, 2.0, 8.0, 8.0])}
    with pytest.raises(BadModel, match=r"unknown: rope_freqs.weight"):
        gguf_file.read(gguf_written(tmp_path / "a.gguf", more))


def test_user_defined_tokens_are_whole_and_special_ones_stay_text(tmp_path):
    letters = [f"{chr(65 + at)}" for at in range(26)] + ["<", ">", "Ġ", "s"]
    tokens = ["<s>", *letters, "<X>", *[chr(97 + at) for at in range(18)][: N - 32]]
    assert len({*tokens}) == N
    path = gguf_written(tmp_path / "a.gguf", tokens=tokens)
    _, read = gguf_file.read(path)
    assert read.encode("A<X>B") == [1, tokens.index("<X>"), 2]
    assert [read.decode(token) for token in read.encode("A<X>B")] == ["A", "<X>", "B"]
    assert read.encode("<s>") == [tokens.index(letter) for letter in "<s>"]
    assert tokens.index("<X>") not in read.ordinary and 0 not in read.ordinary


# tokens of a folder


def test_a_text_is_read_whole_and_nothing_is_added_to_it(tmp_path):
    path = written(tmp_path)
    cut = tokenizer()
    cut.enable_truncation(3)
    cut.enable_padding(length=20)
    cut.save(str(path / "tokenizer.json"))
    _, tokens = folder.read(path)
    text = '!"#!"#!"#!"#'
    assert len(tokens.encode(text)) == 12
    assert "".join(tokens.decode(token) for token in tokens.encode(text)) == text


def test_pieces_of_sentencepiece_keep_their_spaces_and_bytes(tmp_path):
    path = written(tmp_path)
    texts = ["<unk>", "<s>", "<0x0A>", "<0xC3>", "<0xA9>", "▁", "a", "b", "▁a", "▁b"]
    model = tokenizers.models.BPE(
        {text: at for at, text in enumerate(texts)}, [("▁", "a"), ("▁", "b")],
        unk_token="<unk>", byte_fallback=True, fuse_unk=True,
    )  # fmt: skip
    pieces = tokenizers.Tokenizer(model)
    pieces.add_special_tokens(["<unk>", "<s>"])
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    pieces.save(str(path / "tokenizer.json"))
    _, tokens = folder.read(path)
    assert tokens.encode(" a b") == [8, 9] and tokens.encode("ab") == [8, 7]
    assert tokens.encode("aé\n") == [8, 3, 4, 2]
    labels = token_labels([tokens.decode(token) for token in range(len(texts))], 10)
    assert labels[6] == "a" and labels[8] == "␣a" and labels[5] == "␣"
    assert len({*labels}) == len(labels)
    assert tokens.ordinary == [5, 6, 7, 8, 9]  # bytes stand for no text of their own
    assert tokens.decode(N - 1) == f"<{N - 1}>"  # a row of the embedding that is no token
    with pytest.raises(BadModel, match="no tokens for some characters of 'q': it would read"):
        tokens.encode("q")


def test_added_tokens_are_shown_as_they_are(tmp_path):
    path = written(tmp_path)
    added = tokenizer()
    added.model = tokenizers.models.BPE({"<s>": 0, "a": 1, "Ã": 2}, [])
    added.add_tokens(["▸é"])
    added.save(str(path / "tokenizer.json"))
    _, tokens = folder.read(path)
    assert tokens.decode(3) == "▸é" and tokens.encode("a▸é") == [1, 3]
    assert tokens.decode(2) == "<0xC3>"  # half of a character


# a model of any name in the folder ICL_MODELS


def test_a_model_of_any_name_is_measured_and_kept_under_what_it_is(tmp_path, monkeypatch):
    """One with random weights, without a pair of heads, and without tokens for the sentence: what
    needs neither is shown."""
    monkeypatch.setenv("ICL_MODELS", str(tmp_path))
    (tmp_path / "mine").mkdir()
    written(tmp_path / "mine")
    gguf_written(tmp_path / "other.gguf")
    small = partial(Config, model="local", length=8, sequences=1, asked=20)
    config = small(named="mine")
    assert config.size == small(named="other").size == (config.size.millions, N, LAYERS, HEADS)
    assert config.content and config.content != small(named="other").content
    run = Run(config, compute(config, Recorder()))
    refusals = {}
    for drawing in registry.experiment("birth.pretrained").drawings:
        if drawing.applies(config):
            try:
                assert drawing.panel(run, View()).title
            except CannotDraw as problem:
                refusals[drawing.name] = str(problem)
    assert {"losses", "lens", "one", "heads", "without", "tokens", "table"}.isdisjoint(refusals)
    for name, problem in refusals.items():
        is_own = name.startswith("own_")
        assert ("no tokens for the text" if is_own else "there is no pair") in problem
    written(tmp_path / "mine", {}, tensors(3))
    with pytest.raises(BadModel, match=f"the digest {config.content}, and the folder holds"):
        compute(config, Recorder())
    assert small(named="mine").content != config.content
    for name in ("", "..", "no such", "mine/../other", "/etc"):
        with pytest.raises(NotHere, match=r"not on this computer\. Name by ICL_MODELS a folder"):
            small(named=name)


SMALL = {"hidden_size": 32, "vocab_size": N}
OTHERWISE = {
    "mamba": {"num_hidden_layers": 2, "state_size": 4, **SMALL},
    "lfm2": {
        **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
        **{"layer_types": ["conv", "full_attention"], "intermediate_size": 64, **SMALL},
    },
    "bloom": {"n_layer": 2, "n_head": 4, **SMALL},
    "falcon": {"num_hidden_layers": 2, "num_attention_heads": 4, **SMALL},
    "gpt_neo": {
        **{"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], **SMALL},
        **{"intermediate_size": 64, "bos_token_id": 0, "eos_token_id": 0},
    },
}


@pytest.mark.parametrize("family", OTHERWISE)
@torch.no_grad()
def test_a_folder_of_a_family_that_attends_otherwise_is_opened_without_those_maps(family, tmp_path):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(family, **OTHERWISE[family])
    network = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    network.save_pretrained(tmp_path)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    assert folder.facts(tmp_path).layers == 2
    model, _ = folder.read(tmp_path)
    assert model.shape.without_maps == ((1,) if family == "lfm2" else (1, 2))
    ids = torch.tensor(INPUTS)[None]
    torch.testing.assert_close(
        forward(model, ids).logits, network(ids).logits, atol=1e-5, rtol=1e-4
    )
