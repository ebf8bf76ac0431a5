"""Several seeds at once: what each learns is what it would learn alone."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from icl_core.training import several_seeds
from icl_core.training.weights import Weights

# of two seeds
PARAMETERS = {"w": torch.tensor([[1.0, 2.0], [3.0, -1.0]]), "b": torch.tensor([0.5, -2.0])}


def losses(w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return w.pow(3).sum(1) * b


def test_a_seeds_gradient_is_that_of_its_own_loss():
    leaves = several_seeds.leaves(PARAMETERS)
    gradients = several_seeds.gradients(losses(**leaves), leaves)
    for seed in range(2):
        alone = {
            name: tensor[seed : seed + 1].clone().requires_grad_()
            for name, tensor in PARAMETERS.items()
        }
        losses(**alone).sum().backward()
        for name, tensor in alone.items():
            assert tensor.grad is not None
            assert torch.equal(gradients[name][seed : seed + 1], tensor.grad), name
    assert not PARAMETERS["w"].requires_grad


def test_slopes_take_the_place_of_the_losses_own():
    leaves = several_seeds.leaves(PARAMETERS)
    cubes = leaves["w"].pow(3)
    slopes = leaves["b"].detach()[:, None].expand_as(cubes)
    gradients = several_seeds.gradients(cubes, leaves, slopes)
    again = several_seeds.leaves(PARAMETERS)
    assert torch.equal(gradients["w"], several_seeds.gradients(losses(**again), again)["w"])
    assert torch.equal(gradients["b"], torch.zeros(2))  # what the losses do not hold


def test_each_seed_is_clipped_by_its_own_length():
    gradients = {"w": torch.tensor([[3.0, 0.0], [0.3, 0.0]]), "b": torch.tensor([4.0, 0.4])}
    clipped = several_seeds.clipped(gradients, 1.0)
    assert torch.allclose(clipped["w"], torch.tensor([[0.6, 0.0], [0.3, 0.0]]))
    assert torch.allclose(clipped["b"], torch.tensor([0.8, 0.4]))


@pytest.mark.parametrize("shape", [(2,), (3, 2), (3, 4, 2)])
def test_padding_is_nan_behind_what_there_is(shape):
    padded = several_seeds.padded(np.ones(shape, np.float32), 5)
    assert padded.shape == (*shape[:-1], 5) and padded.dtype == np.float32
    assert (padded[..., :2] == 1).all() and np.isnan(padded[..., 2:]).all()


@dataclass(frozen=True, eq=False)
class Some(Weights):
    a: torch.Tensor
    b: torch.Tensor | None = None


def test_weights_by_name_leave_out_what_a_model_does_not_have():
    one = Some(torch.ones(2))
    assert list(one.tensors()) == ["a"] and one.tensors()["a"] is one.a
    both = one.with_(b=torch.zeros(1)).to(torch.float64)
    assert list(both.tensors()) == ["a", "b"]
    assert both.b is not None and both.b.dtype == torch.float64
    assert one.b is None and one.a.dtype == torch.float32
