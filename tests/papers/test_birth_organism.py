"""A model organism: GPT-2's layout gives the run's logits, and its JSON what its probes say."""

import json

import numpy as np
import pytest
import torch

from icl_core import library
from icl_core.command import cli
from icl_core.contract.run import Run
from icl_core.papers.birth.pretrained.run import compute
from icl_core.papers.birth.pretrained.settings import Config
from icl_core.papers.birth.pretrained.sources import open_model
from icl_core.papers.birth.shared.full.model import forward, initialise
from icl_core.papers.birth.shared.full.probes import recalls
from icl_core.papers.birth.shared.task import sample
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.load_run import final_weights, last_heads
from icl_core.papers.birth.transformer.organism import gpt2_tensors, organism
from icl_core.share.export import write_organism
from tests.cells import shipped
from tests.recorder import Recorder

PRESET = "figure 11"


@pytest.fixture(scope="module")
def run() -> Run:
    return shipped("birth.transformer", PRESET)


def gpt2_logits(settings, weights, inputs):
    """The logits of the model of `transformers` with these settings and these weights, all of
    them and no others."""
    transformers = pytest.importorskip("transformers")
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config.from_dict(settings)).eval()
    head = {"lm_head.weight": weights["lm_head.weight"]}
    names = {f"transformer.{name}": weight for name, weight in weights.items() if name not in head}
    model.load_state_dict(names | head)
    with torch.no_grad():
        return model(inputs).logits


def test_gpt2_gives_the_logits_of_a_trained_run(run):
    exported = organism(run)
    assert exported.config["eos_token_id"] is None  # not GPT-2's 50256, which no token here has
    inputs = sample(task_of(run.config), 2, torch.Generator().manual_seed(0)).inputs
    weights = {name: torch.from_numpy(array) for name, array in exported.tensors.items()}
    logits = gpt2_logits(dict(exported.config), weights, inputs)
    with torch.no_grad():
        expected = forward(final_weights(run), inputs, run.config.heads).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("mlp", [True, False])
def test_gpt2_gives_the_logits_of_any_shape(mlp):
    """Gains and biases of layer norm are drawn, so that none is in another's place."""
    generator = torch.Generator().manual_seed(1)
    weights = initialise(20, 16, 12, 3, generator, mlp=mlp, layer_norm=True)
    for name, tensor in weights.items():
        if name.startswith(("gain_", "bias_")):
            weights[name] = tensor + 0.3 * torch.randn(16, generator=generator)
    settings = {"model_type": "gpt2", "n_layer": 3, "n_head": 4, "n_embd": 16, "vocab_size": 20}
    settings |= {"n_positions": 12, "activation_function": "relu", "tie_word_embeddings": False}
    tensors = {name: torch.from_numpy(array) for name, array in gpt2_tensors(weights).items()}
    inputs = torch.randint(20, (3, 12), generator=generator)
    logits = gpt2_logits(settings, tensors, inputs)
    torch.testing.assert_close(logits, forward(weights, inputs, 4).logits, rtol=0, atol=1e-5)


def test_what_is_known_is_what_the_runs_probes_say(run):
    facts = json.loads(json.dumps(organism(run).known, allow_nan=False))
    task = task_of(run.config)
    measured = recalls(final_weights(run), task, run.config.heads)
    assert facts["matrices"].keys() == {"W_O2", "W_K2", "W_K1"}
    for name, matrix in facts["matrices"].items():
        assert matrix["recall"] == measured[name]
        shares = [pair["recalled"] for pair in matrix["pairs"]]
        assert sum(shares) / len(shares) == pytest.approx(measured[name])
        # the curve was measured before the weights were rounded to half precision
        assert measured[name] == pytest.approx(run[f"curve/recall_{name}"][0, -1], abs=0.02)
        if matrix["half_from_step"] is not None:
            after = run["curve/step"] >= matrix["half_from_step"]
            assert (run[f"curve/recall_{name}"][0, after] >= 0.5).all()
    assert [head["role"] for head in facts["heads"]] == [head.role for head in last_heads(run)]
    assert all(head["from_step"] in run.snapshot_steps for head in facts["heads"])


def test_the_command_writes_four_files(tmp_path):
    words = ["organism", "birth.transformer", "--preset", PRESET, "--out", str(tmp_path / "new")]
    assert cli.main(words) == 0
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"model.safetensors", "config.json", "tokenizer.json", "organism.json"}
    tokens = json.loads((tmp_path / "new/tokenizer.json").read_text(encoding="utf-8"))
    facts = json.loads((tmp_path / "new/organism.json").read_text(encoding="utf-8"))
    assert list(tokens["model"]["vocab"]) == facts["characters"]


def test_what_cannot_be_exported_is_refused_before_it_is_trained(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(library, "load", None)
    for experiment, message in (
        ("birth.transformer", "layer_norm must be true for an export"),
        ("gdssm.layer", "must be one whose model can be exported, birth.transformer"),
    ):
        assert cli.main(["organism", experiment, "--out", str(tmp_path / "new")]) != 0
        assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_experiment_on_language_models_reads_what_is_exported(run, tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    write_organism("birth.transformer", run, tmp_path / "gpt2")
    monkeypatch.setenv("ICL_MODELS", str(tmp_path))
    model, tokens = open_model("gpt2")
    characters = run.names("characters")
    for token in tokens.ordinary[:5]:
        assert tokens.decode(token) == characters[token]
    assert tokens.encode("the") == [characters.index(letter) for letter in "the"]
    config = Config(model="gpt2", length=8, sequences=1, asked=20)
    measured = compute(config, Recorder())
    assert np.isfinite(measured["repeated/loss"]).all()
    assert measured["heads/scores"].shape[-2:] == (model.shape.layers, model.shape.heads)
