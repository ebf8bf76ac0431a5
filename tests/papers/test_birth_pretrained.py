"""Language models without their packages: a constructed induction head is found in each layout, and
files that cannot be read are refused with a sentence."""

import json
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from icl_core.papers.birth.pretrained import texts
from icl_core.papers.birth.pretrained.planted import (
    INDUCTION_HEAD,
    LAYERS,
    PREVIOUS_HEAD,
    LetterTokens,
    planted,
)
from icl_core.papers.birth.pretrained.readers import checks, gguf_file, llama, safetensors_folder
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Change, forward, turned
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, role

LAYOUTS = ("llama", "gpt2", "gpt_neox")


def repeats(seed: int = 0) -> torch.Tensor:
    return texts.sequences(LetterTokens(), 4, 24, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_planted_head_is_found_and_no_other(layout, seed):
    model = planted(layout, seed)
    inputs = repeats(seed)
    outcome = forward(model, inputs, keep=True)
    scores = texts.head_scores(outcome.attention, inputs)
    roles = {
        (layer, head): role(*scores[:, layer - 1, head - 1].tolist())
        for layer in range(1, LAYERS + 1)
        for head in range(1, 5)
    }
    assert [head for head, name in roles.items() if name == PREVIOUS] == [PREVIOUS_HEAD]
    assert [head for head, name in roles.items() if name == INDUCTION] == [INDUCTION_HEAD]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_its_head_the_second_half_costs_what_the_first_does(layout):
    model = planted(layout)
    inputs = repeats()
    outcome = forward(model, inputs, keep=True)
    whole = texts.losses(outcome.logits, inputs)
    without = texts.losses_without(model, inputs, outcome, [INDUCTION_HEAD], None)
    others = texts.losses_without(model, inputs, outcome, [(2, 1), (3, 1)], None)
    assert whole.second < 1 < 3.5 < min(whole.first, without.second)
    assert others.second < 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_changes_reach_the_logits_and_only_those_layers(layout):
    model = planted(layout)
    inputs = repeats()
    plain = forward(model, inputs, keep=True)
    for same in (
        Change(attention=lambda layer, maps: plain.attention[layer - 1]),
        Change(outputs=lambda layer, z: plain.outputs[layer - 1]),
    ):
        torch.testing.assert_close(forward(model, inputs, same).logits, plain.logits)
    begun = model.onward(plain.streams[2], 3)
    torch.testing.assert_close(begun.logits, plain.logits)
    changed = forward(model, inputs, Change(outputs=lambda layer, z: z * (layer < 3)), keep=True)
    torch.testing.assert_close(changed.streams[2], plain.streams[2])
    assert not torch.allclose(changed.logits, plain.logits)


def test_rotations_depend_on_distance_alone():
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(1, 8, generator=generator)
    k = torch.randn(1, 8, generator=generator)

    def score(t: int, s: int) -> float:
        query = turned(q, torch.tensor([t]), 100.0, 4)
        return float(query @ turned(k, torch.tensor([s]), 100.0, 4).T)

    assert score(9, 4) == pytest.approx(score(25, 20), abs=1e-5)
    assert score(9, 4) != pytest.approx(score(9, 5), abs=1e-2)
    assert score(0, 0) == pytest.approx(float(q @ k.T), abs=1e-6)


def test_rows_of_gguf_are_put_in_halves():
    rows = np.arange(8)[:, None]  # two heads of width 4: planes (0, 1), (2, 3)
    assert gguf_file.in_halves(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


# files that cannot be read

SETTINGS = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 20,
    "rms_norm_eps": 1e-5,
}


@pytest.fixture
def folder(tmp_path):
    """A folder with a tiny Llama model, whole but for its tokens."""
    write(tmp_path)
    return tmp_path


def write(folder, settings=None, **changed):
    """Write settings and weights; `changed` tensors in place of theirs, None to leave one out."""
    (folder / "config.json").write_text(json.dumps(SETTINGS | (settings or {})))
    shape = safetensors_folder.shape_of(SETTINGS)
    tensors = {name: torch.ones(size) for name, size in llama.expected(shape).items()}
    tensors |= changed
    whole = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(whole, folder / "model.safetensors")


def refused(folder, match):
    """Refused with a sentence, without a tensor having been read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safetensors_folder, "_weight", lambda *_: pytest.fail("a tensor was read"))
        with pytest.raises(BadModel, match=match):
            safetensors_folder.read(folder)


def test_what_is_whole_lacks_only_its_tokens(folder):
    refused(folder, "expected tokenizer.json|need the package tokenizers")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"model_type": "mamba"}, "'mamba' is not known; known: llama, gpt2, gpt_neox"),
        ({"model_type": None}, "None is not known"),
        ({"hidden_size": 17}, "must have shape"),
        ({"hidden_size": -1}, "hidden_size must be a whole number"),
        ({"hidden_size": 10**9}, "must be 1 to"),
        ({"num_hidden_layers": 3}, "missing: .*layers.2"),
        ({"num_hidden_layers": 1}, "unknown: .*layers.1"),
        ({"num_hidden_layers": 10**7}, "layers must be 1 to 100, got 10000000"),
        ({"num_key_value_heads": 3}, "equal groups"),
        ({"rope_scaling": {"factor": 8.0}}, "rope_scaling must be one of None"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "scaled are not known"),
        ({"attention_bias": True}, "attention_bias must be one of False"),
        ({"hidden_act": "gelu"}, "hidden_act must be one of silu"),
        ({"rms_norm_eps": "small"}, "rms_norm_eps must be a number"),
        ({"rms_norm_eps": float("nan")}, "epsilon must be 0 to 1"),
    ],
)
def test_settings_that_are_not_known_are_named(folder, settings, match):
    write(folder, settings)
    refused(folder, match)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"model.norm.weight": None}, "missing: model.norm.weight"),
        ({"more": torch.ones(3)}, "unknown: more"),
        ({"model.norm.weight": torch.ones(15)}, r"must have shape \(16,\), got \(15,\)"),
        ({"model.norm.weight": torch.ones(16, dtype=torch.int64)}, "one of F32, F16, BF16, got"),
    ],
)
def test_tensors_that_do_not_fit_are_named(folder, changed, match):
    write(folder, **changed)
    refused(folder, match)


def test_a_number_that_is_not_finite_is_refused(folder, monkeypatch):
    write(folder, **{"model.norm.weight": torch.tensor([1.0] * 15 + [torch.nan])})
    monkeypatch.setattr(safetensors_folder, "JsonTokens", lambda *_: None)
    with pytest.raises(BadModel, match=r"model.norm.weight must hold finite numbers"):
        safetensors_folder.read(folder)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_file_that_is_cut_off_is_refused(folder, share):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refused(folder, "cut off|damaged|length of its list")


def test_a_list_of_tensors_that_lies_is_refused(folder):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    for at in range(8, 8 + length, 11):
        path.write_bytes(content[:at] + b"9" + content[at + 1 :])
        with pytest.raises(BadModel):
            safetensors_folder.read(folder)
    path.write_bytes(struct.pack("<Q", 2**60) + content[8:])
    refused(folder, "length of its list, got 1152921504606846976")


def test_pickled_files_are_refused_with_the_way_to_convert_them(folder):
    (folder / "model.safetensors").unlink()
    refused(folder, "expected model.safetensors in")
    torch.save({"a": torch.ones(2)}, folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin is pickled.*Convert it")
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    refused(folder, "model.safetensors is pickled")
    (folder / "model.safetensors").write_bytes(b"\x80\x04\x95abcdefgh")
    refused(folder, "model.safetensors is pickled")


def test_an_index_leads_to_no_other_folder(folder):
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"a": "../elsewhere.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, "must name 1 to 20 files of its folder")


def test_what_is_too_large_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(checks.device, "release", lambda: 2**20)
    refused(folder, "of memory, and 0.0 GiB are free")
    monkeypatch.setattr(checks, "PARAMETERS", 100)
    refused(folder, "may have 0 million parameters")
    monkeypatch.setattr(checks, "FILE", 10)
    refused(folder, "must have at most 0 GiB")


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF" + bytes(19), b"hello" * 9])
def test_what_is_no_gguf_is_refused(tmp_path, content):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(BadModel, match="must begin with GGUF"):
        gguf_file.read(path)


def test_a_gguf_of_another_version_or_with_endless_lists_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    for version, tensors in ((9, 1), (3, 2**50)):
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", version, tensors, 1) + bytes(9))
        with pytest.raises(BadModel, match="version 2 or 3"):
            gguf_file.read(path)
