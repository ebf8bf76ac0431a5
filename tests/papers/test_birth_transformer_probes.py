"""The probes of the full transformer: a planted memory is recalled, and of the simplified model
they are its own."""

from dataclasses import replace

import pytest
import torch

from icl_core.papers.birth.shared import model as simplified
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.full.probes import recalls
from icl_core.papers.birth.shared.task import make_task
from tests.papers.test_birth_transformer import as_full, setting

N = 16
T = 32
D = 64
PROBES = ("W_O2", "W_K2", "W_K1", "W_K1_early")
TASK = make_task(N=N, K=3, T=T)


def random_weights(embeddings: str = "orthonormal") -> simplified.Weights:
    return simplified.initialise(N, D, T, torch.Generator().manual_seed(0), embeddings=embeddings)


def recall_of(weights: dict[str, torch.Tensor], heads: int) -> dict[str, float]:
    recall = recalls(weights, TASK, heads)
    return {name: recall[name] for name in PROBES}


def test_a_planted_memory_is_recalled():
    built = as_full(construct(random_weights(), TASK).to(torch.float64))
    assert recall_of(built, 1) == dict.fromkeys(PROBES, 1.0)
    noise = torch.Generator().manual_seed(1)
    for name in ("W_K1", "W_K2", "W_O2"):
        W = torch.randn(D, D, generator=noise, dtype=torch.float64)
        for probe, share in recall_of({**built, name: W}, 1).items():
            forgotten = probe.removesuffix("_early") == name
            assert (share < 0.5) if forgotten else (share == 1.0), (name, probe)


@pytest.mark.parametrize("triggers", ["random", "fixed"])
def test_of_the_simplified_model_they_are_its_own(triggers):
    task = make_task(N=N, K=3, T=T, triggers=triggers)
    weights = construct(random_weights("random"), task).to(torch.float64)
    noise = torch.Generator().manual_seed(1)
    for name in ("W_K1", "W_K2", "W_O2"):  # half forgotten
        W = weights[name]
        more = torch.randn(D, D, generator=noise, dtype=torch.float64) * W.std() * 3
        weights = replace(weights, **{name: W + more})
    expected = probes.recalls(weights, task)
    computed = recalls(as_full(weights), task, 1)
    assert {name: computed[name] for name in PROBES} == {name: expected[name] for name in PROBES}
    assert computed["kl_W_F"] == pytest.approx(expected["kl_W_F"])
    assert 0 < min(computed[name] for name in PROBES) < 1


def test_of_several_heads_the_one_that_recalls_most_counts():
    """A second head, which stores nothing, takes nothing away; wherever it stands."""
    built = as_full(construct(random_weights(), TASK).to(torch.float64))
    for first in (True, False):
        wide = {
            name: beside(name, W, first)
            for name, W in built.items()
            if name[:3] not in ("W_i", "W_o")
        }
        assert recall_of(wide, 2) == dict.fromkeys(PROBES, 1.0)


def beside(name: str, W: torch.Tensor, first: bool) -> torch.Tensor:
    """A weight with as many dimensions more, which hold nothing but a head of their own."""
    generator = torch.Generator().manual_seed(len(name))
    noise = 1e-3 * torch.randn(D, D, generator=generator, dtype=torch.float64)
    if name in ("W_E", "P", "W_U"):
        return torch.cat([W, torch.zeros_like(W)], 1)
    heads = (W, noise) if first else (noise, W)
    zeros = torch.zeros(D, D, dtype=torch.float64)
    if name.startswith("W_O"):
        return torch.cat([torch.cat(heads, 1), torch.cat([zeros, zeros], 1)])
    return torch.cat([torch.cat([head, zeros], 1) for head in heads])


def test_there_are_probes_of_two_layers_alone():
    for layers in (1, 3):
        assert recalls(setting(layers)[0], make_task(N=20, K=3, T=24), 2) == {}
