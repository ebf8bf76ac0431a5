"""Train both kinds of head at every depth, and then gates on prompts of the mixture."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.memformers.mixture import evaluation, protocol
from icl_core.papers.memformers.mixture.heads import KINDS, training_phase
from icl_core.papers.memformers.mixture.settings import Config
from icl_core.papers.memformers.mixture.test_time import METHODS, adapted, references
from icl_core.training import phases


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train both kinds of head at every depth K, then learn gates on prompts of the mixture.

    Return `curve/<kind>/<row>` [seeds, evaluations] of the deepest heads, and what
    `evaluation.results` or `of_tokens` list. The trainings are no `run_grid`: what is stacked over
    depths is not what the phases return, but what is adapted from it at test time. Raises
    `Diverged` and `Cancelled`.
    """
    if config.prompts == "components":
        return of_components(config, progress)
    return of_tokens(config, progress)


def of_components(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train on prompts of one component each, as the authors' code does."""
    results = phases.run(protocol.plan(config), progress, partial(_curves, config))
    return {**_curves(config, results), **evaluation.results(config, results)}


def of_tokens(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train on prompts whose tokens are of all components. Return, for each id in `names/methods`,
    a kind of `names/kinds` and what is done with its heads:

    evaluated/<id>   [seeds, K]
    error/<id>       the standard error of its logarithm, where it learns or is drawn
    gate/<id>        [seeds, K, H]
    learning/<id>    [seeds, steps] of the deepest
    shape/<id>       [seeds, points] of the deepest, over `shape/at`

    and evaluated/<kind>/head, evaluated/<kind>/head_scalar [seeds, K, H], of each head alone;
    density/S [H + 1, bins] over density/at; baseline/* [K]; curve/<kind>/<row>, the mixture's row
    last.
    """
    depths = range(1, config.layers + 1)
    plan = []
    for depth in reversed(depths):
        plan += [training_phase(config, kind, depth) for kind in KINDS]
    results = phases.run(plan, progress, partial(_curves, config))
    by_depth = [adapted(config, results, depth) for depth in depths]
    of_deepest = {
        name: array
        for name, array in by_depth[-1].items()
        if name.split("/")[0] in ("learning", "shape")
    }
    stacked = {
        name: np.stack([tensors[name] for tensors in by_depth], 1)  # (seeds, K, …)
        for name in by_depth[0]
        if name not in of_deepest
    }
    return {
        "depth/layers": np.array(depths),
        "names/methods": names(METHODS),
        **_curves(config, results),
        **stacked,
        **of_deepest,
        **references(config),
    }


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return `curve/<kind>/<row>` [seeds, evaluations] of the deepest models."""
    curves = {"names/kinds": names(KINDS)}
    for kind in KINDS:
        part = results.get(f"{kind} {config.layers}", {})
        if "curve/loss" in part:
            losses = part["curve/loss"]  # (seeds, rows, evaluations)
            curves["curve/step"] = part["curve/step"]
            for row in range(losses.shape[1]):
                curves[f"curve/{kind}/{row}"] = losses[:, row]
    return curves
