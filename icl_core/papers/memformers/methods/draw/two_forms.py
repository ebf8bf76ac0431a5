"""One layer of the forward pass both ways (Lemma 2.1): as attention over tokens, and as an
iteration in w."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.learners import gram
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.token_form import forward, takes_whitened
from icl_core.papers.memformers.shared.variants import VARIANTS

BOTH = ("tokens", "in w", "gap")


@dataclass(frozen=True, eq=False)
class Forms:
    """A prompt in one layer: who attends to whom, and what is left of every token's
    label after it."""

    attention: (
        np.ndarray
    )  # [n + 1, n + 1]; a row is a token and shows where it looks, NaN at the query
    labels: np.ndarray  # [n + 1] as attention leaves them
    residuals: np.ndarray | None  # [n + 1] y − <x, w>; None where tokens have no w in common
    given: np.ndarray  # [n] the labels in the prompt
    truth: float  # the query's label

    @property
    def gap(self) -> np.ndarray:
        return np.zeros(0) if self.residuals is None else self.labels - self.residuals


def forms(run: Run, view: View) -> Panel:
    """The chosen layer's attention, or the labels that it leaves beside those that the iteration in
    w leaves."""
    depth, snapshot = load_run.depth_of(run, view), run.snapshot_at(view)
    layer = min(view.layer, depth)
    found = _read(run, view, depth, layer, snapshot)
    both = view.reading == "difference" and found.residuals is not None
    last = len(run.snapshot_steps) - 1
    figure, table = (
        _labels(found) if both else _attention(found, _read(run, view, depth, layer, last))
    )
    return Panel(
        _title(found, layer, depth),
        _caption(run, found, both),
        figure,
        data=table,
        note=f"Prompt {view.prompt}, training step {load_run.step_of(run, depth, snapshot)}: the "
        f"model predicts {written(-float(found.labels[-1]))} for the query; its true label is "
        f"{written(found.truth)}.",
    )


def _read(run: Run, view: View, depth: int, layer: int, snapshot: int) -> Forms:
    config = replace(run.config, layers=depth)
    # in double precision: where eigenvalues are far apart, rounding would else be seen
    root = load_run.covariance_of(run, view.seed_shown).root[None]
    parameters = {
        n: each.double()
        for n, each in load_run.parameters_at(run, view.seed_shown, depth, snapshot).items()
    }
    U, target, query = (each.double() for each in load_run.prompt_of(run, view.prompt))
    noise = load_run.label_noise_of(run, view.prompt).double()
    white = torch.cat([U, query[:, None]], 1)  # [d, n + 1]
    X = white if takes_whitened(config) else root[0] @ white
    y = target @ U + noise
    passage = forward(parameters, config, root, X[None], y[None])
    attention = passage.attention[layer - 1, 0].T.clone()
    attention[:, -1] = torch.nan  # M: no token attends to the query
    residuals = None
    if VARIANTS[config.variant].has_one_w:
        pull = (U @ noise / config.n)[None, :, None, None]
        batch = Batch(gram(U[..., None])[None], target[None, :, None, None], noise=pull)
        w = load_run.iterates(parameters, config, root, batch)[layer, :, 0]  # [d], whitened
        residuals = (torch.cat([y, y.new_zeros(1)]) - w @ white).numpy()
    labels = passage.labels[layer, 0].numpy()
    return Forms(attention.numpy(), labels, residuals, y.numpy(), float(target @ query))


def _tokens(found: Forms) -> list[str]:
    return [*(str(token + 1) for token in range(len(found.given))), "q"]


def _attention(found: Forms, last: Forms) -> tuple[Figure, pd.DataFrame]:
    names, limit = (
        _tokens(found),
        figures.largest_magnitude(found.attention, last.attention),
    )  # one scale for the whole training
    figure = figures.heatmap(
        found.attention,
        names,
        names,
        "attention",
        limit=limit,
        row_title="attending",
        column_title="attended to",
    )
    return figure, pd.DataFrame(
        {"token": names} | dict(zip(names, found.attention.T.round(5), strict=True))
    )


def _labels(found: Forms) -> tuple[Figure, pd.DataFrame]:
    """On the scale of the prompt's own labels, in which every layer can be compared."""
    residuals = found.labels if found.residuals is None else found.residuals
    each, limit, name = (
        (found.labels, residuals, found.gap),
        figures.largest_magnitude(found.given),
        "what is left of the label",
    )
    figure = figures.heatmap(
        np.stack(each), BOTH, _tokens(found), name, limit=limit, column_title="token"
    )
    figure.update_yaxes(
        tickvals=[0, 1, 2], ticktext=BOTH
    )  # all three, however many tokens there are
    columns = dict(zip(("tokens", "iteration in w", "difference"), each, strict=True))
    return figure, pd.DataFrame({"token": _tokens(found), **columns})


def _title(found: Forms, layer: int, depth: int) -> str:
    if found.residuals is None:
        left = np.abs(found.labels[:-1]).mean() / np.abs(found.given).mean()
        return f"Layer {layer} of {depth} leaves {left:.0%} of the examples' labels"
    largest = float(np.abs(found.gap).max())
    said = "agree exactly" if largest == 0 else f"agree to {largest:.0e}".replace("e-0", "e-")
    return f"Layer {layer} of {depth}: tokens and iteration {said}"


def _caption(run: Run, found: Forms, both: bool) -> str:
    if both:
        return (
            "What is left of each token's label after this layer: in the first row by attention "
            "over tokens, in the second as y − ⟨x, w⟩ with the guess w, in the third their "
            "difference, which is rounding. As w comes closer to the true weights, the examples "
            "fade. The query q starts at 0 and ends at minus its prediction."
        )
    variant = VARIANTS[run.config.variant]
    what = "The covariates move" if variant.moves_covariates else "Γ differs from token to token"
    why = "" if variant.has_one_w else f" {what} here, so no single w explains every token's label."
    return (
        "Each row is a token: it shows which labels the token takes, and with which sign, −⟨x, A "
        "x'⟩. Examples that are alike in the directions that A counts weigh most. All of a row "
        "together is the step A ∇R(w), as the token's x sees it. The query q is the last row; no "
        "token attends to it." + why + (" Heads are summed." if run.config.heads > 1 else "")
    )
