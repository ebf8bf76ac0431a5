"""Reads a run of the experiment on update rules."""

from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.in_context_regression.rules import RULES, Rule
from icl_core.papers.gdssm.states import window


def rules_of(run: Run) -> list[Rule]:
    """Return the rules of a run, in order."""
    return [RULES[id] for id in run.names("rules")]


def place(run: Run, id: str) -> int:
    """Return the place of a rule among those of a run."""
    return run.names("rules").index(id)


def over_one_step(run: Run) -> np.ndarray:
    """Return what each rule loses after all pairs over the loss of one step of gradient descent on
    tasks that do not drift, [rules]; exact, or for least squares a mean over prompts."""
    return run["tokens/share"][:-1, -1] / run["baseline/one"]


def two_over_one_step(run: Run) -> float:
    """Return the loss of two steps of gradient descent over that of one."""
    return float(run["baseline/two"][0] / run["baseline/one"][0])


def batches_over_one_step(run: Run) -> np.ndarray:
    """Return what batches of 1, 2, … N pairs lose over the loss of one step on all, [N]."""
    return run["batches/share"] / run["baseline/one"]


def trained_over_one_step(run: Run) -> np.ndarray:
    """Return the same of the trained rules, [rules, seeds]: what the rule loses times trained over
    constructed on the same tasks, which removes most of the tasks' noise."""
    ratio = run["evaluated/trained"] / run["evaluated/constructed"][:, None]
    return over_one_step(run)[:, None] * ratio


def trained_at_step(run: Run, view: Any) -> np.ndarray:
    """Return `trained_over_one_step` at the step that the view shows, [rules, seeds]: the curves on
    other tasks, brought to the same end."""
    nearest = int(np.abs(run["curve/step"] - run.step(view)).argmin())
    curves = np.stack([run[f"curve/{id}"] for id in run.names("rules")])  # (rules, seeds, points)
    return trained_over_one_step(run) * curves[..., nearest] / curves[..., -1]


def weights_at(run: Run, id: str, snapshot: int) -> window.Weights:
    """Return the weights of a rule at a snapshot, [seeds, ...] each."""
    index = place(run, id)
    return {
        name: torch.tensor(run[f"snapshot/{name}"][snapshot, index])
        for name in window.names(RULES[id])
    }


def written_at(run: Run, id: str, snapshot: int) -> dict[str, np.ndarray]:
    """Return what the weights of a rule amount to at a snapshot (`window.as_written`), numpy."""
    written = window.as_written(RULES[id], weights_at(run, id, snapshot))
    return {name: tensor.numpy() for name, tensor in written.items()}


def tuned_of(run: Run, id: str) -> dict[str, float]:
    """Return the best settings of a rule at the drift of the run."""
    index = place(run, id)
    return {name: float(run[f"tuned/{name}"][index]) for name in (*RULES[id].settings, "gain")}


def farthest(run: Run, id: str) -> np.ndarray:
    """Return how far the farthest of the nine trained coefficients of a rule is from its
    construction, normalised, [seeds]."""
    written = written_at(run, id, last_snapshot(run))["window"]
    return np.abs(written - np.eye(3)).max((1, 2))


def trained_decay(run: Run, id: str) -> np.ndarray:
    """Return the decay of a rule that has one at the end of its training, [seeds]."""
    return written_at(run, id, last_snapshot(run))["decay"]


def recent_over(run: Run, first: str, second: str, drifting: str) -> float:
    """Return what one recent rule loses over what another loses, where W drifts by a half."""
    share = run[f"recent/{drifting}"][:, run["recent/at"].tolist().index(0.5)]
    ids = run.names("recent")
    return float(share[ids.index(first)] / share[ids.index(second)])


def layer_loss(run: Run, id: str) -> np.ndarray:
    """Return what a layer loses trained, over tasks of the test set, [seeds]."""
    return run["layers/trained"][run.names("layers").index(id)]


def layer_shares(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of all layers as shares of predicting zero, [layers] of the constructions,
    over prompts, and [layers, seeds] trained: by what they lose over these on the same tasks."""
    share = run["layers/share"]
    return share, share[:, None] * run["layers/trained"] / run["layers/constructed"][:, None]


def layer_share(run: Run, id: str) -> float:
    """Return what the construction of a layer loses, as a share of predicting zero."""
    return float(run["layers/share"][run.names("layers").index(id)])


def channels_over_gated(run: Run) -> np.ndarray:
    """Return what KDA loses over the gated delta rule where half the columns drift, both trained,
    [seeds]."""
    return layer_loss(run, "kda-half") / layer_loss(run, "gated-half")


def found_both_pairs(run: Run) -> np.ndarray:
    """Return which trainings of DeltaProduct with two pairs come within 2 % of the construction, or
    below it, [seeds]."""
    index = run.names("layers").index("product-two")
    return run["layers/trained"][index] <= 1.02 * run["layers/constructed"][index]


def trained_channels(run: Run) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for every seed, the decays of KDA trained where half the columns drift: of those that
    drift, and of those that stay."""
    drifting = (run.config.f + 1) // 2
    return [(row[:drifting], row[drifting:]) for row in run["layers/kda-half/decays"]]


def last_snapshot(run: Run) -> int:
    """Return the index of the last snapshot."""
    return len(run["snapshot/step"]) - 1
