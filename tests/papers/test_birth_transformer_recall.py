"""The probes of the full transformer: a planted memory is recalled, and of the simplified model they are its own."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.experiment import Run
from icl_core.papers.birth.shared import model as simplified
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.task import make_task
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer import EXPERIMENT
from icl_core.papers.birth.transformer.draw import curves
from icl_core.papers.birth.transformer.read_run import final_weights
from icl_core.papers.birth.transformer.recall import PROBES, recalls
from tests.cells import shipped
from tests.papers.test_birth_transformer import as_full, setting

N, T, D = 16, 32, 64
TASK = make_task(N=N, K=3, T=T)


def drawn(embeddings: str = "orthonormal") -> simplified.Weights:
    return simplified.initialise(N, D, T, torch.Generator().manual_seed(0), embeddings=embeddings)


def test_a_planted_memory_is_recalled():
    built = as_full(construct(drawn(), TASK).to(torch.float64))
    assert recalls(built, TASK, 1) == {f"recall_{name}": 1.0 for name in PROBES}
    for name, forgotten in (("W_K1", {"W_K1", "W_K1_early"}), ("W_K2", {"W_K2"}), ("W_O2", {"W_O2"})):
        found = recalls({**built, name: torch.randn(D, D, dtype=torch.float64)}, TASK, 1)
        for probe in PROBES:
            assert (found[f"recall_{probe}"] < 0.5) == (probe in forgotten), (name, probe)


@pytest.mark.parametrize("triggers", ["random", "fixed"])
def test_of_the_simplified_model_they_are_its_own(triggers):
    task = make_task(N=N, K=3, T=T, triggers=triggers)
    weights = construct(drawn("random"), task).to(torch.float64)
    noise = torch.Generator().manual_seed(1)
    for name in ("W_K1", "W_K2", "W_O2"):  # half forgotten
        W = weights[name]
        more = torch.randn(D, D, generator=noise, dtype=torch.float64) * W.std() * 3
        weights = replace(weights, **{name: W + more})
    expected, found = probes.recalls(weights, task), recalls(as_full(weights), task, 1)
    for name in PROBES:
        assert found[f"recall_{name}"] == expected[name], name
    assert min(found.values()) > 0 and min(found.values()) < 1


def test_of_several_heads_the_one_that_recalls_most_counts():
    """A second head, which stores nothing, takes nothing away; wherever it stands."""
    built = as_full(construct(drawn(), TASK).to(torch.float64))
    for first in (True, False):
        wide = {name: beside(name, each, first) for name, each in built.items()}
        assert recalls(wide, TASK, 2) == {f"recall_{name}": 1.0 for name in PROBES}


def beside(name: str, W: torch.Tensor, first: bool) -> torch.Tensor:
    """A weight with as many dimensions more, which hold nothing but a head of their own."""
    if name[:2] not in ("W_", "P") or name.startswith(("W_in", "W_out")):
        return W
    noise = 1e-3 * torch.randn(D, D, dtype=torch.float64)
    if name in ("W_E", "P", "W_U"):
        return torch.cat([W, torch.zeros_like(W)], 1)
    rows, none = (W, noise) if first else (noise, W), torch.zeros(D, D, dtype=torch.float64)
    if name.startswith("W_O"):
        return torch.cat([torch.cat(rows, 1), torch.cat([none, none], 1)])
    return torch.cat([torch.cat([each, none], 1) for each in rows])


def test_under_layer_norm_the_length_of_an_embedding_does_not_matter():
    weights, _ = setting(layer_norm=True)
    task, grow = make_task(N=20, K=3, T=24), torch.linspace(0.5, 3, 20)[:, None]
    again = recalls({**weights, "W_E": weights["W_E"] * grow, "P": weights["P"] * 3}, task, 2)
    assert again == recalls(weights, task, 2)


def test_there_are_probes_of_two_layers_alone():
    for layers in (1, 3):
        assert recalls(setting(layers)[0], make_task(N=20, K=3, T=24), 2) == {}


def test_the_panel_shows_what_a_run_has_recorded_and_else_the_end():
    run, view = shipped("birth.transformer", "fixed"), EXPERIMENT.view()
    last, steps = recalls(final_weights(run), task_of(run.config), run.config.heads), run["curve/step"]
    bare = Run(run.config, {name: each for name, each in run.tensors.items() if "recall" not in name})
    told = curves.recall(bare, view)
    assert told.data is not None and "W_K² 100%" in told.title and "chance" in told.caption
    assert told.data["W_O²"].dropna().tolist() == pytest.approx([last["recall_W_O2"]])
    recorded = {f"curve/{name}": np.linspace(0, value, len(steps))[None] for name, value in last.items()}
    whole = curves.recall(Run(run.config, {**bare.tensors, **recorded}), view)
    assert whole.title == told.title and whole.data is not None
    np.testing.assert_allclose(whole.data["W_K²"], recorded["curve/recall_W_K2"][0])
