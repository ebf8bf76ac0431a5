"""Language models without their packages: the planted induction head is found, and files that
cannot be read are refused with a sentence."""

import json
import struct

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
from icl_core.papers.birth.pretrained.readers import checks, gguf_file
from icl_core.papers.birth.pretrained.readers import folder as folder_reader
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.llama import Llama
from icl_core.papers.birth.pretrained.readers.model import Change, forward
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, role


def repeats(seed: int = 0) -> torch.Tensor:
    return texts.sequences(LetterTokens(), 4, 24, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_planted_head_is_found_and_no_other(seed):
    model = planted(seed)
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


def test_without_its_head_the_second_half_costs_what_the_first_does():
    model = planted()
    inputs = repeats()
    outcome = forward(model, inputs, keep=True)
    whole = texts.losses(outcome.logits, inputs)
    without = texts.losses_without(model, inputs, outcome, [INDUCTION_HEAD], None)
    others = texts.losses_without(model, inputs, outcome, [(2, 1), (3, 1)], None)
    assert whole.second < 1 < 3.5 < min(whole.first, without.second)
    assert others.second < 1


def test_changes_reach_the_logits_and_only_those_layers():
    model = planted()
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
    model = Llama({}, layers=0, heads=1, d_H=8, T=30, base=100.0, epsilon=1e-5)

    def score(t: int, s: int) -> float:
        query = model._turned(q, torch.tensor([t]))
        return float(query @ model._turned(k, torch.tensor([s])).T)

    assert score(9, 4) == pytest.approx(score(25, 20), abs=1e-5)
    assert score(9, 4) != pytest.approx(score(9, 5), abs=1e-2)
    assert score(0, 0) == pytest.approx(float(q @ k.T), abs=1e-6)


def test_single_vectors_are_what_a_pass_makes_of_them():
    """Scores of two tokens are those of the map, and what heads write adds up."""
    model = planted()
    outcome = forward(model, repeats()[:1], keep=True)
    r = model.read(2, outcome.streams[1][0])  # (T, d)
    queries, _, _ = model.attend(2, r[9:10], 9)
    keys = torch.cat([model.attend(2, r[at : at + 1], at)[1] for at in range(10)])
    scores = torch.einsum("hd,shd->hs", queries[0], keys)
    torch.testing.assert_close(scores.softmax(1), outcome.attention[1][0, :, 9, :10])
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(3, 4, 64, generator=generator)
    alone = [model.write(2, z * (torch.arange(4) == head)[:, None]) for head in range(4)]
    torch.testing.assert_close(sum(alone), model.write(2, z))
    x, y = torch.randn(2, 5, 256, generator=generator)
    parts = model.read_part(1, x) + model.read_part(1, y)
    torch.testing.assert_close(parts, model.read_part(1, x + y))
    scale = (model.read(1, x) / model.read_part(1, x)).mean(1, keepdim=True)
    torch.testing.assert_close(scale * model.read_part(1, x), model.read(1, x))


# files that cannot be read

SIZES = {"model.embed_tokens.weight": (20, 16), "model.norm.weight": (16,)}


@pytest.fixture
def folder(tmp_path):
    """A folder with two tensors and no tokens."""
    write(tmp_path)
    return tmp_path


def write(folder, name="model.safetensors", **changed):
    """Write weights; `changed` tensors in place of theirs, None to leave one out."""
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    tensors = {name: torch.ones(size) for name, size in SIZES.items()} | changed
    whole = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(whole, folder / name)


def refused(folder, match):
    """Refused with a sentence before any package of models is asked."""
    with pytest.raises(BadModel, match=match):
        folder_reader.read(folder)


def test_a_dtype_that_is_not_read_is_named(folder):
    write(folder, **{"model.norm.weight": torch.ones(16, dtype=torch.int64)})
    refused(folder, "model.norm.weight of model.safetensors must be one of F32, F16, BF16, got I64")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_file_that_is_cut_off_is_refused(folder, share):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refused(folder, "damaged or cut off")


def test_a_list_of_tensors_that_lies_is_refused(folder):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    for at in range(8, 8 + length, 3):
        path.write_bytes(content[:at] + b"9" + content[at + 1 :])
        with pytest.raises(BadModel):
            tensors = folder_reader.tensors_of(folder)
            assert {name: tensor.shape for name, tensor in tensors.items()} != SIZES
            raise BadModel("another list is another model")
    path.write_bytes(struct.pack("<Q", 2**60) + content[8:])
    refused(folder, "damaged or cut off")


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
    refused(folder, "must name files of its folder")


def test_a_name_in_two_files_and_two_kinds_of_files_are_refused(folder):
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": dict.fromkeys(SIZES, "a.safetensors")}))
    refused(folder, "model.safetensors.index.json in .*, and there are both")
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    assert folder_reader.tensors_of(folder).keys() == SIZES.keys()
    by_name = {"model.embed_tokens.weight": "a.safetensors", "model.norm.weight": "b.safetensors"}
    index.write_text(json.dumps({"weight_map": by_name}))
    write(folder, "b.safetensors", **{"model.embed_tokens.weight": None})
    refused(folder, "model.norm.weight is in a.safetensors and in b.safetensors")
    write(folder, "a.safetensors", **{"model.norm.weight": None})
    write(folder, "b.safetensors", **{"model.embed_tokens.weight": None, "more": torch.ones(3)})
    refused(folder, "more is in b.safetensors, and .* has it in None")
    write(folder, "b.safetensors", **dict.fromkeys(SIZES), other=torch.ones(3))
    index.write_text(json.dumps({"weight_map": by_name | {"other": "b.safetensors"}}))
    refused(folder, "names tensors that no file holds: model.norm.weight")


def test_what_is_too_large_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(checks.device, "release", lambda: 2**20)
    refused(folder, "of memory, and 0.0 GiB are free")


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
