"""A series of checkpoints: a planted model whose weights grow from random ones, its heads over
the steps, and files that are not what their names say."""

import hashlib
import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

pytest.importorskip("transformers")

from house import house

from icl_core import registry
from icl_core.contract.experiment import STAGE, Run
from icl_core.papers.birth.pretrained import checkpoints, load_run, texts
from icl_core.papers.birth.pretrained.draw import stage
from icl_core.papers.birth.pretrained.planted import CHARACTERS, LetterTokens, planted
from icl_core.papers.birth.pretrained.readers import folder as folder_reader
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import forward
from icl_core.papers.birth.pretrained.run import compute
from icl_core.papers.birth.pretrained.settings import Config, View
from icl_core.runs.request import Request
from tests.recorder import Recorder

SETTINGS = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 512, "vocab_size": len(CHARACTERS),
    "rms_norm_eps": 1e-5, "rope_theta": 1e6, "tie_word_embeddings": False,
}  # fmt: skip
SHARES = {"step0": 0.0, "step20": 0.5, "step100": 0.85, "checkpoint-1000": 1.0}
SERIES = partial(Config, model="series", length=16, sequences=1)
CONFIG = SERIES()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that ICL_MODELS names, with a series whose weights grow to a planted model's."""
    monkeypatch.setenv("ICL_MODELS", str(tmp_path))
    monkeypatch.setattr(folder_reader.FileTokens, "of_folder", lambda *_: LetterTokens())
    last = planted().weights
    generator = torch.Generator().manual_seed(1)
    first = {name: 0.02 * torch.randn(W.shape, generator=generator) for name, W in last.items()}
    for name, share in SHARES.items():
        path = tmp_path / "series" / name
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(SETTINGS))
        weights = {key: torch.lerp(first[key], last[key], share) for key in last}
        save_file(weights, path / "model.safetensors")
    return tmp_path / "series"


def measured() -> Run:
    return Run(CONFIG, compute(CONFIG, Recorder()))


def test_heads_appear_on_the_clock_of_the_steps(folder):
    run = measured()
    assert run.snapshot_steps == [0, 20, 100, 1000]
    previous = load_run.scores_over_steps(run, "previous")[:, 0, 1]
    induction = load_run.scores_over_steps(run, "followers")[:, 2, 2]
    assert previous[0] < 0.3 and induction[0] < 0.1
    # the last checkpoint is the planted model, measured on the same draws
    inputs = texts.sequences(LetterTokens(), 1, 16, texts.generator_of(0, 0, 0))
    maps = forward(planted(), inputs, keep=True).attention
    expected = texts.head_scores(maps, inputs)
    np.testing.assert_allclose(run["series/scores"][-1, 0], expected, atol=1e-5)
    assert previous[-1] > 0.8 and induction[-1] > 0.8
    steps = load_run.milestones(run)
    assert 0 < steps["previous token"] <= steps["induction"] <= 1000
    first, second = run["series/halves"].mean(1).T
    assert abs(first[0] - second[0]) < 0.5 and second[-1] < 1 < first[-1]
    assert run.names("remarks") == [""] * 4
    headline = registry.experiment("birth.pretrained").headline(run, View(snapshot=0))
    assert headline.startswith("After 0 steps")


def test_the_last_checkpoint_is_the_model_that_was_saved(folder):
    model, tokens = folder_reader.read(folder / "checkpoint-1000")
    ids = torch.tensor([[tokens.start, *tokens.encode("abcabc")]])
    difference = forward(model, ids).logits - forward(planted(), ids).logits
    assert difference.abs().max() < 1e-5


def test_every_drawing_of_a_series_applies_and_draws(folder):
    run = measured()
    experiment = registry.experiment("birth.pretrained")
    drawings = {drawing.name: drawing for drawing in experiment.drawings if drawing.applies(CONFIG)}
    assert 2 <= sum(drawing.place == STAGE for drawing in drawings.values()) <= 6
    for drawing in drawings.values():
        panel = drawing.panel(run, View(snapshot=1))
        assert panel.figure is not None or panel.table is not None
    assert experiment.diagram is not None
    assert {box.opens for box in experiment.diagram(CONFIG).boxes} - {""} <= drawings.keys()


def test_a_run_is_kept_under_what_the_folder_holds(folder, tmp_path, monkeypatch):
    with house(tmp_path / "house", monkeypatch) as runs:
        first = SERIES()
        runs.save("birth.pretrained", first, {"x": np.zeros(2)}, {"metrics": []})
        assert runs.find(Request("birth.pretrained", replace(first))) is not None
        # another folder of the same names and settings
        last = load_file(folder / "checkpoint-1000" / "model.safetensors")
        last["model.embed_tokens.weight"][0, 0] += 1
        other = tmp_path / "other"
        shutil.copytree(folder, other / "series")
        save_file(last, other / "series" / "checkpoint-1000" / "model.safetensors")
        monkeypatch.setenv("ICL_MODELS", str(other))
        second = SERIES()
        assert runs.find(Request("birth.pretrained", second)) is None
        with pytest.raises(BadModel, match=f"digest {first.content}, .* others: {second.content}"):
            compute(first, Recorder())
        # a copy is the same series, under the digest's setting or none, here or gone
        copied = tmp_path / "copied"
        shutil.copytree(folder, copied / "series")
        monkeypatch.setenv("ICL_MODELS", str(copied))
        same = SERIES()
        assert same == first and runs.find(Request("birth.pretrained", same)) is not None
        monkeypatch.delenv("ICL_MODELS")
        assert SERIES().content == ""
        assert runs.find(Request("birth.pretrained", replace(first))) is not None
        # where no series is measured nothing of this is stored
        assert replace(first, model="planted") == Config(length=16, sequences=1)


@pytest.mark.parametrize("changed", ["config.json", "tokenizer.json", "trainer_state.json", "step"])
def test_all_that_decides_a_run_is_in_its_digest(folder, changed):
    before = checkpoints.content_of(folder)
    if changed == "step":
        (folder / "step20").rename(folder / "step21")
    else:
        (folder / "step20" / changed).write_text(json.dumps(SETTINGS | {"n": 7}))
    assert checkpoints.content_of(folder) != before


def test_equal_files_and_steps_that_lie_are_named(folder):
    shutil.copytree(folder / "step20", folder / "step60")  # as in issue 205
    early = load_file(folder / "step100" / "model.safetensors")
    last = load_file(folder / "checkpoint-1000" / "model.safetensors")
    early["model.embed_tokens.weight"] = last["model.embed_tokens.weight"]  # as in issue 206
    save_file(early, folder / "step100" / "model.safetensors")
    (folder / "step0" / "trainer_state.json").write_text(json.dumps({"global_step": 7}))
    run = measured()
    remarks = dict(zip(run.snapshot_steps, run.names("remarks"), strict=True))
    assert remarks[20] == "the same file as step 60" and remarks[60] == "the same file as step 20"
    assert remarks[100].startswith("1 of ") and remarks[100].endswith("tensors as at step 1000")
    assert remarks[0] == "it states step 7"
    panel = stage.files(run, View())
    assert panel.title == "5 of 5 checkpoints are not what their names say"


def test_tensors_that_never_change_are_no_remark():
    frozen = {"frozen": "f"}
    tensors = [frozen | {"moving": str(index)} for index in range(3)]
    assert checkpoints.remarks([0, 1, 2], list("abc"), tensors, [None] * 3) == ["", "", ""]
    constant = checkpoints.tensor_digests({"bias": torch.zeros(4), "gain": torch.ones(4)})
    assert constant == {}


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["step1"], "2 to 40 folders .* got 1"),
        (["model", "notes"], "2 to 40 folders .* got 0"),
        (["step1", "checkpoint-1"], "must be that of one checkpoint"),
        ([f"step{step}" for step in range(41)], "got 41"),
    ],
)
def test_folders_that_hold_no_series_are_refused(tmp_path, names, match):
    for name in names:
        (tmp_path / name).mkdir()
    with pytest.raises(BadModel, match=match):
        checkpoints.listed(tmp_path)


def test_a_checkpoint_of_another_model_is_refused(folder):
    path = folder / "step20"
    (path / "config.json").write_text(json.dumps(SETTINGS | {"num_attention_heads": 2}))
    with pytest.raises(BadModel, match="must be of one model, got step20"):
        measured()


def test_a_folder_called_like_a_file_is_no_part_of_a_checkpoint(folder):
    content = checkpoints.content_of(folder)
    digest = checkpoints.file_digest(folder / "step20")
    for name in ("x.json", "x.safetensors"):
        (folder / "step20" / name).mkdir()
    assert checkpoints.content_of(folder) == content
    assert checkpoints.file_digest(folder / "step20") == digest
    # of several files, each counts
    shutil.copy(folder / "step20" / "model.safetensors", folder / "step20" / "y.safetensors")
    assert checkpoints.file_digest(folder / "step20") != digest


def test_a_file_has_the_digest_of_its_bytes_and_is_no_series(tmp_path):
    for name in ("step1.gguf", "step2.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    first, second = (checkpoints.file_digest(file.path) for file in checkpoints.listed(tmp_path))
    assert first == hashlib.sha256(b"step1.gguf").hexdigest()[: checkpoints.DIGITS] != second
    with pytest.raises(BadModel, match="must be a folder of checkpoints, got the file step1"):
        checkpoints.listed(tmp_path / "step1.gguf")


def test_equal_tensors_in_other_files_are_named():
    tensors = [{"a": "1", "b": "2"}] * 2
    remarks = checkpoints.remarks([1, 2], ["x", "y"], tensors, [None, None])
    assert remarks == ["all tensors as at step 2", "all tensors as at step 1"]


def test_the_clock_reaches_the_last_of_as_many_checkpoints_as_there_may_be():
    assert View(snapshot=checkpoints.MOST - 1).snapshot == checkpoints.MOST - 1
    assert View().snapshot >= checkpoints.MOST - 1
