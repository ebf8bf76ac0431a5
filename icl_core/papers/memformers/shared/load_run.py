"""Read a finished run: its parameters at a training step and depth, its covariance, one of its
prompts."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run, Tensors
from icl_core.figures import mean_of
from icl_core.in_context_regression import Covariance, covariates
from icl_core.papers.memformers.shared import model
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters, Variant
from icl_core.training import phases

LEAST = 1e-12  # a loss below it is zero to rounding


def depth_of(run: Run, view: Any) -> int:
    """Return the depth that the view asks for; the deepest there is where it asks for more, or does
    not ask."""
    return min(getattr(view, "depth", run.config.layers), run.config.layers)


def parameters_at(run: Run, seed: int, depth: int, snapshot: int | None = None) -> Parameters:
    """Return the parameters of one seed's model of `depth` layers, [1, …] float32, at a snapshot or
    (None) finished.

    Snapshots are of the deepest model alone: a shallower one is always the finished one.
    """
    row = min(seed, run.config.seeds) - 1
    if snapshot is None or depth < run.config.layers or snapshot == len(run.snapshot_steps) - 1:
        names = [name for name in run.tensors if name.startswith(f"final/{depth}/")]
        return {
            name.split("/")[2]: torch.tensor(run[name][row : row + 1]).float() for name in names
        }
    held = [name for name in run.tensors if name.startswith("snapshot/")]
    names = [name.removeprefix("snapshot/") for name in held if name != "snapshot/step"]
    return {name: torch.tensor(run.snapshot(name, snapshot)[row : row + 1]) for name in names}


def preview_of(depth: int, tensors: Tensors) -> dict[str, np.ndarray]:
    """Return a preview of the model of `depth` layers, from the results of its training or from its
    state; nothing where there is no model yet."""
    final = {f"final/{depth}/{name}": array for name, array in phases.final(tensors).items()}
    return {"snapshot/step": tensors["snapshot/step"][-1:], **final} if final else {}


def covariance_of(run: Run, seed: int) -> Covariance:
    """Return the covariance of a seed, from 1; of the last one beyond it."""
    row = min(seed, run.config.seeds) - 1
    eigenvalues = torch.tensor(run["frozen/eigenvalues"]).double()
    return Covariance(eigenvalues, torch.tensor(run["frozen/rotation"][row]).double())


def root_of(run: Run, seed: int) -> Tensor:
    """Return Σ^½ of a seed, [1, d, d] float32."""
    return covariance_of(run, seed).root.float()[None]


def step_of(run: Run, depth: int, snapshot: int) -> int:
    """Return the training step of the parameters that `parameters_at` returns."""
    return run.snapshot_steps[snapshot if depth == run.config.layers else -1]


def knows_covariance(config: Any) -> bool:
    """Return whether a model has matrices A_l, in which it can learn Σ⁻¹."""
    return config.preconditioner == "full" and VARIANTS[config.variant].preconditioned


def tuned(run: Run, name: str, depth: int) -> tuple[float, ...]:
    """Return the best constant settings of "gd", "momentum" or "nesterov" for that depth: a rate,
    and a beta if it has one."""
    return tuple(map(float, np.ravel(run[f"reference/{name}"][depth - 1])))


def constructed(run: Run, depth: int) -> tuple[np.ndarray, bool]:
    """Return the steps a_l of the plain linear transformer that attains the floor, [depth] (NaN
    where the best polynomial's roots are complex); and whether they multiply Σ⁻¹, or the identity
    as for models that cannot know Σ."""
    is_white = knows_covariance(run.config)
    steps = run["reference/floor_steps" if is_white else "reference/floor_scalar_steps"]
    return steps[depth - 1, :depth].astype(float), is_white


def variant_beside(run: Run, name: str) -> Variant | None:
    """Return the variant of what was trained beside the model under that id; None if today's code
    does not know it."""
    ids = {"free": "lfom", "linear-gd++": "gd++ plain"}
    ids |= dict.fromkeys(("one-head", "original", "whitened"), run.config.variant)
    return VARIANTS.get(ids.get(name, name))


def log_of(losses: Any) -> np.ndarray:
    """Return the natural logarithm; NaN for what is not positive and finite."""
    values = np.asarray(losses, dtype=float)
    good = np.isfinite(values) & (values > 0)
    return np.where(good, np.log(np.where(good, values, 1.0)), np.nan)


def log_from_least(losses: Any) -> np.ndarray:
    """Return the natural logarithm; what is zero to rounding counts as 1e-12."""
    return np.log(np.maximum(losses, LEAST))


def end(run: Run, name: str) -> float:
    """Return the log-loss of the deepest model, the mean over seeds."""
    return float(mean_of(log_of(run[name]))[-1])


def step(run: Run) -> np.ndarray:
    """Return the steps of the run's curves; 0 alone where it has none yet."""
    return run.tensors.get("curve/step", np.array([0]))


def curve(run: Run, name: str) -> np.ndarray:
    """Return a curve [seeds, points] of a run that may still be in training, all NaN where it has
    not come to it."""
    return run.tensors.get(name, np.full((run.config.seeds, len(step(run))), np.nan))


def prompt_of(run: Run, index: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return a fresh prompt in whitened coordinates: U [d, n], w* [d] and the query [d]. The same
    for all seeds and runs."""
    generator = torch.Generator().manual_seed(2**31 + 29 + index)
    U = covariates(run.config.d, run.config.n, 1, generator, torch.float32)[..., 0]
    target = torch.randn(run.config.d, generator=generator)
    query = torch.randn(run.config.d, generator=generator)
    return U, target, query


def label_noise_of(run: Run, index: int) -> Tensor:
    """Return the noise τ ε in the labels of the prompt `prompt_of` that index, [n]; 0 without."""
    generator = torch.Generator().manual_seed(2**31 + 43 + index)
    return run.config.noise * torch.randn(run.config.n, generator=generator)


def iterates(parameters: Parameters, config: Any, root: Tensor, batch: Batch) -> Tensor:
    """Return w_0 to w_L of a batch with sampled w*, whitened, of the first seed: [L + 1, d,
    prompts].

    What the first layers do is what the model without the others does. Where tokens disagree on w
    (Γ per token) or move (GD++), it is the w that the query's label speaks of.
    """
    target = batch.target[0, :, 0]
    w = [torch.zeros_like(target)]
    for layers in range(1, config.layers + 1):
        first = first_layers(parameters, config.variant, layers)
        error = model.errors(first, replace(config, layers=layers), root, batch)
        w.append(target - error[0, :, 0])
    return torch.stack(w)


def first_layers(parameters: Parameters, variant: str, layers: int) -> Parameters:
    """Return the parameters of a model's first layers."""
    first = {
        name: value[:, :, :layers] if name == "A" else value[:, :layers]
        for name, value in parameters.items()
    }
    if "Gamma" in first and not VARIANTS[variant].shared:
        first["Gamma"] = first["Gamma"][:, :, :layers]  # over (l, j): columns too
    return first
