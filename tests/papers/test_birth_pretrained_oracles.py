"""Files of language models as other packages write them: what is read of a folder and of a GGUF
file against `transformers`, and the page of Llama's shape, too. Skipped without
tests/requirements-pretrained.txt."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

transformers = pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")
tokenizers = pytest.importorskip("tokenizers")

from papers.gguf_names import interleaved, name_in_gguf  # noqa: E402

from icl_core.papers.birth.pretrained.readers import folder, gguf_file  # noqa: E402
from icl_core.papers.birth.pretrained.readers.checks import BadModel  # noqa: E402
from icl_core.papers.birth.pretrained.readers.llama import Llama  # noqa: E402
from icl_core.papers.birth.pretrained.readers.model import forward  # noqa: E402

N = 96
SETTINGS = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {
        "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "rope_theta": 5000.0,
        "max_position_embeddings": 64,
    }),
    "llama, tied": ("LlamaConfig", "LlamaForCausalLM", {
        "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "head_dim": 12,
        "num_attention_heads": 2, "num_key_value_heads": 2, "tie_word_embeddings": True,
    }),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {
        "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 64,
    }),
    "gpt2, relu, untied": ("GPT2Config", "GPT2LMHeadModel", {
        "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "n_inner": 40,
        "activation_function": "relu", "tie_word_embeddings": False,
    }),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
        "num_attention_heads": 4, "max_position_embeddings": 64,
    }),
    "gpt_neox, in turn": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 2, "use_parallel_residual": False,
    }),
}  # fmt: skip


def tokenizer_json(path: Path) -> None:
    """Write a tokeniser of N single characters."""
    vocabulary = {chr(32 + token): token for token in range(N)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.decoder = tokenizers.decoders.Fuse()
    tokenizer.save(str(path / "tokenizer.json"))


def saved(name: str, path: Path, **more):
    """Return a tiny random model as `transformers` computes it, saved in a folder."""
    config_class, model_class, settings = SETTINGS[name]
    config = getattr(transformers, config_class)(
        vocab_size=N, bos_token_id=0, eos_token_id=0, attn_implementation="eager", **settings
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = getattr(transformers, model_class)(config).eval()
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.parameters():  # biases are zero and scores tiny at first
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    model.save_pretrained(path, **more)
    tokenizer_json(path)
    return model


def inputs() -> torch.Tensor:
    return torch.randint(N, (2, 40), generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("name", SETTINGS)
def test_logits_maps_and_streams_equal_those_of_transformers(name, tmp_path):
    model = saved(name, tmp_path)
    reader, tokens = folder.read(tmp_path)
    with torch.no_grad():
        expected = model(inputs(), output_attentions=True, output_hidden_states=True)
        outcome = forward(reader, inputs(), keep=True)
    assert expected.logits.std() > 0.5
    torch.testing.assert_close(outcome.logits, expected.logits, atol=1e-4, rtol=0)
    for ours, theirs in zip(outcome.attention, expected.attentions, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    # theirs of the last layer is under the norm already
    for ours, theirs in zip(outcome.streams[:-1], expected.hidden_states[:-1], strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)
    assert tokens.encode("a b") == [65, 0, 66] and tokens.decode(65) == "a"


def test_the_page_of_llamas_shape_is_that_model(tmp_path):
    model = saved("llama", tmp_path)
    config = model.config
    page = Llama(model.state_dict(), 3, 6, 8, 64, 5000.0, config.rms_norm_eps)
    with torch.no_grad():
        expected = model(inputs(), output_attentions=True)
        outcome = forward(page, inputs(), keep=True)
    torch.testing.assert_close(outcome.logits, expected.logits, atol=1e-4, rtol=0)
    for ours, theirs in zip(outcome.attention, expected.attentions, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_shards_are_one_model(tmp_path):
    model = saved("llama", tmp_path, max_shard_size="40KB")
    assert not (tmp_path / "model.safetensors").exists()
    reader, _ = folder.read(tmp_path)
    with torch.no_grad():
        expected = model(inputs()).logits
    torch.testing.assert_close(forward(reader, inputs()).logits, expected, atol=1e-4, rtol=0)


def gguf_of(model, path: Path, architecture: str = "llama") -> None:
    """Write a Llama model of `transformers` as GGUF, as llama.cpp's converter does: rows of queries
    and keys with the planes of rotation side by side."""
    config = model.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(5000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    by_bytes = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())[: N - 1]
    writer.add_token_list([*by_bytes, "!!"])
    writer.add_token_types([3, *[1] * (N - 1)])
    writer.add_token_merges(["! !"])
    writer.add_bos_token_id(0)
    for name, tensor in model.state_dict().items():
        values = tensor.numpy()
        if ".q_proj." in name or ".k_proj." in name:
            heads = config.num_attention_heads
            heads = heads if ".q_proj." in name else config.num_key_value_heads
            values = interleaved(values, heads)
        writer.add_tensor(name_in_gguf(name), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def gguf_path(tmp_path):
    """A GGUF file, and the model of `transformers` in it."""
    model = saved("llama", tmp_path)
    path = tmp_path / "model.gguf"
    gguf_of(model, path)
    return path, model


def test_a_gguf_file_holds_the_same_model(gguf_path):
    path, model = gguf_path
    reader, tokens = gguf_file.read(path)
    with torch.no_grad():
        expected = model(inputs()).logits
    torch.testing.assert_close(forward(reader, inputs()).logits, expected, atol=1e-4, rtol=0)
    assert tokens.decode(tokens.encode("a!!")[1]) == "!!"
    with pytest.raises(BadModel, match="has no tokens for some characters"):
        tokens.encode("\x00")


def test_a_gguf_file_that_is_cut_off_or_changed_is_refused(gguf_path):
    path, _ = gguf_path
    content = path.read_bytes()
    size = len(content)
    for length in (4, 20, 100, size // 4, size // 2, size - 100):
        path.write_bytes(content[:length])
        with pytest.raises(BadModel, match=r"GGUF|cut off|damaged"):
            gguf_file.read(path)
    path.write_bytes(content[:-64] + np.full(16, np.nan, np.float32).tobytes())
    with pytest.raises(BadModel, match="must hold finite numbers"):
        gguf_file.read(path)
    for at in range(24, 1500, 37):  # a byte anywhere in the metadata: read, or a sentence
        path.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
        try:
            gguf_file.read(path)
        except BadModel as problem:
            assert str(problem)


def test_an_unknown_architecture_in_gguf_is_named_with_the_known(tmp_path):
    path = tmp_path / "other.gguf"
    gguf_of(saved("llama", tmp_path), path, "other")
    with pytest.raises(BadModel, match=r"'other' is not known in GGUF; known: .*llama"):
        gguf_file.read(path)


def test_special_tokens_that_are_typed_stay_text(tmp_path):
    saved("llama", tmp_path)
    vocabulary = {chr(33 + token): token for token in range(N - 2)} | {"<|end|>": N - 2}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.add_special_tokens(["<|end|>"])
    tokenizer.decoder = tokenizers.decoders.Fuse()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    _, tokens = folder.read(tmp_path)
    ids = tokens.encode("<|end|>")
    assert len(ids) == 7 and N - 2 not in ids
    assert N - 2 not in tokens.ordinary


def test_a_folder_without_tokens_is_refused(tmp_path):
    saved("gpt2", tmp_path)
    for content in (None, "", "{}", json.dumps([1])):
        (tmp_path / "tokenizer.json").unlink(missing_ok=True)
        if content is not None:
            (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(BadModel, match=r"expected tokenizer\.json"):
            folder.read(tmp_path)
