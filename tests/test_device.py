"""Where trainings run, and that the GPU computes what the CPU does."""

import os

import pytest
import torch

from icl_core.machine import device
from icl_core.papers.birth.shared.gradient import loss_and_gradient
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.task import make_task, sample


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    monkeypatch.setattr(device, "_chosen", "")
    device.current_device.cache_clear()
    yield
    device.current_device.cache_clear()


@pytest.fixture
def three_gpus(monkeypatch):
    """As far as questions go; nothing is computed."""
    monkeypatch.delenv("ICL_DEVICE", raising=False)
    monkeypatch.delenv("ICL_PRECISION", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)


def test_a_worker_chooses_its_gpu_for_itself_alone(three_gpus):
    assert device.current_device() == torch.device("cuda") and device.workers() == 3
    device.choose(4)
    assert device.current_device() == torch.device("cuda:1") and device.workers() == 3
    assert "ICL_DEVICE" not in os.environ  # its children choose for themselves


def test_the_environments_gpu_is_the_only_one(three_gpus, monkeypatch):
    monkeypatch.setenv("ICL_DEVICE", "cuda:1")
    device.choose(2)
    assert device.current_device() == torch.device("cuda:1") and device.workers() == 1


@pytest.mark.parametrize("rows", [16, 64, 256])
def test_products_are_exact_on_a_cpu_unless_asked_otherwise(monkeypatch, rows):
    """Where the processor has bfloat16 tiles "medium" is not."""
    monkeypatch.delenv("ICL_PRECISION", raising=False)
    monkeypatch.setenv("ICL_DEVICE", "cpu")
    generator = torch.Generator().manual_seed(1)
    one, other = torch.randn(2, rows, rows, generator=generator)
    expected = one.double() @ other.double()
    torch.set_float32_matmul_precision(device.precision())
    error = ((one @ other).double() - expected).abs().max() / expected.abs().max()
    assert error < 1e-5
    monkeypatch.setenv("ICL_PRECISION", "medium")
    assert device.precision() == "medium"


def test_products_are_exact_on_a_gpu_unless_asked_otherwise(three_gpus, monkeypatch):
    assert device.precision() == "highest"
    monkeypatch.setenv("ICL_PRECISION", "high")
    assert device.precision() == "high"


@pytest.mark.parametrize("name", ["gpu", "cuda:99"])
def test_an_unknown_device_is_refused_with_those_that_are_here(monkeypatch, name):
    monkeypatch.setenv("ICL_DEVICE", name)
    with pytest.raises(ValueError, match=r"ICL_DEVICE must name a device that is here \(cpu"):
        device.current_device()


def test_what_is_set_to_nothing_is_not_set(three_gpus, monkeypatch):
    monkeypatch.setenv("ICL_DEVICE", "")
    monkeypatch.setenv("ICL_PRECISION", "")
    device.choose(1)
    assert device.current_device() == torch.device("cuda:1") and device.workers() == 3
    assert device.precision() == "highest"


def test_an_unknown_precision_is_refused(monkeypatch):
    monkeypatch.setenv("ICL_PRECISION", "low")
    with pytest.raises(
        ValueError, match="ICL_PRECISION must be one of medium, high, highest, got 'low'"
    ):
        device.set_threads(1)


def test_what_does_not_fit_the_memory_is_refused_with_both_sizes(monkeypatch):
    monkeypatch.setattr(device, "memory", lambda: 2**30)
    with pytest.raises(
        ValueError, match=r"batch 9 must fit the memory of .*, 1\.0 GiB; got an estimated 2\.0 GiB"
    ):
        device.check_memory(2**31, "batch 9")
    device.check_memory(2**30, "batch 9")


def test_a_config_that_does_not_fit_is_refused(monkeypatch):
    from icl_core.papers.birth.shared.settings import Config

    monkeypatch.setattr(device, "memory", lambda: 2**20)
    with pytest.raises(ValueError, match="batch 128, T 64, d 128 must fit the memory"):
        Config()


@pytest.mark.gpu
def test_the_gpu_gives_the_cpus_gradient():
    task = make_task(K=5, T=64)
    weights = initialise(65, 64, 64, torch.Generator().manual_seed(0), with_F=True)
    batch = sample(task, 16, torch.Generator().manual_seed(1))
    reference, _ = loss_and_gradient(weights, batch, "all")
    same_batch = sample(task, 16, torch.Generator().manual_seed(1), "cuda")
    computed, _ = loss_and_gradient(weights.to("cuda"), same_batch, "all")
    for name, gradient in reference.items():
        assert torch.allclose(computed[name].cpu(), gradient, atol=1e-5), name
