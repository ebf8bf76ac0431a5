"""The rates that are tried with every model of the comparison: all in one pass, from the same weights, on the same
tasks. The best one then trains all seeds."""

import numpy as np
import torch
from torch import Tensor

import icl_core.papers.gdssm.comparison.train as train
from icl_core.experiment import Tensors
from icl_core.papers.gdssm.comparison.models import Learner, learner
from icl_core.papers.gdssm.comparison.settings import RATES, Config
from icl_core.papers.gdssm.shared.task import Tasks
from icl_core.training import loop
from icl_core.training.phases import Report


def tune(config: Config, name: str, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """`loss` [rates] after a short training of the first seed at each of `RATES`, infinite where it diverged."""
    each = learner(config, name)
    weights = train.initial(each, [config.seed] * len(RATES))  # (rates, ...)
    loop.train(problem(config, each, weights), config.tuning, [], [], resumed, report)
    return {"loss": train.evaluate(each, weights, train.held_out(config, train.TUNED_ON))}


def problem(config: Config, each: Learner, weights: dict[str, Tensor]) -> loop.Problem:
    """What the loop trains: a rate is a group of the optimiser, its parameters a row of `weights`."""
    generator = train.generator(config)
    return loop.Problem(
        parameters=_rows(weights),
        gradient=lambda step: _gradient(each, weights, train.tasks(config, config.batch, generator)),
        evaluate=lambda step: {},
        optimiser=lambda rows: torch.optim.Adam(_groups(rows), fused=True),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.tuning, train.WARM_UP),
    )


def _rows(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Views of the tensors, one rate after the other."""
    return {f"{name} at {rate:g}": tensor[i] for i, rate in enumerate(RATES) for name, tensor in tensors.items()}


def _groups(rows: list[Tensor]) -> list[dict[str, object]]:
    each = len(rows) // len(RATES)
    return [{"params": rows[i * each : (i + 1) * each], "lr": rate} for i, rate in enumerate(RATES)]


def _gradient(each: Learner, weights: dict[str, Tensor], batch: Tasks) -> tuple[dict[str, Tensor], dict[str, float]]:
    """The gradients of all rates and the lowest loss. A rate that diverges must not end the others: its weights become
    NaN, which they stay, and its gradient zero."""
    found, measures = train.gradient(each, weights, batch)
    kept = torch.from_numpy(measures["loss"] <= train.CEILING).to(batch.x.device)  # neither inf nor NaN is: (rates,)
    for one in found.values():
        kept &= one.reshape(len(one), -1).isfinite().all(1)
    if not kept.all():
        for name, one in found.items():
            weights[name][~kept], one[~kept] = torch.nan, 0.0
    losses = measures["loss"][kept.cpu().numpy()]
    return _rows(found), {"loss": float(losses.min()) if len(losses) else float("nan")}
