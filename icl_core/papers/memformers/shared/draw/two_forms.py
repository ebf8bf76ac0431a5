"""One layer of the forward pass both ways (Lemma 2.1): as attention over tokens, and as an
iteration in w."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.in_context_regression import gram
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.token_form import forward, takes_whitened
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.shared.words import WORDS

BOTH = ("tokens", "in w", "gap")


@dataclass(frozen=True, eq=False)
class Forms:
    """A prompt in one layer: who attends to whom, and what is left of every token's label after it.

    attention  [n + 1, n + 1]; a row is a token and shows where it looks, NaN at the query
    labels     [n + 1] as attention leaves them
    residuals  [n + 1] y − <x, w>; None where tokens have no w in common
    given      [n] the labels in the prompt
    truth      the query's label
    """

    attention: np.ndarray
    labels: np.ndarray
    residuals: np.ndarray | None
    given: np.ndarray
    truth: float

    @property
    def gap(self) -> np.ndarray:
        """Return the difference between both forms, [n + 1]; empty where there is but one."""
        return np.zeros(0) if self.residuals is None else self.labels - self.residuals


def forms(run: Run, view: Any) -> Panel:
    """Draw the attention of the chosen layer, or the labels that it leaves beside those that the
    iteration in w leaves. The view has a `snapshot`, `seed_shown`, `prompt`, `layer` and
    `reading`."""
    depth = load_run.depth_of(run, view)
    snapshot = run.snapshot_at(view)
    layer = min(view.layer, depth)
    passage = _read(run, view.seed_shown, view.prompt, depth, layer, snapshot)
    both = view.reading == "difference" and passage.residuals is not None
    if both:
        figure, table = _labels(passage)
    else:
        last = _read(run, view.seed_shown, view.prompt, depth, layer, None)
        figure, table = _attention(passage, last)
    variant = VARIANTS[run.config.variant]
    gap = float(np.abs(passage.gap).max(initial=0))
    return WORDS.panel(
        "forms",
        figure=figure,
        data=table,
        layer=layer,
        depth=depth,
        one_w=variant.has_one_w,
        same=gap == 0,
        gap=f"{gap:.0e}".replace("e-0", "e-"),
        left=np.abs(passage.labels[:-1]).mean() / np.abs(passage.given).mean(),
        difference=both,
        moving=variant.moves_covariates,
        several_heads=run.config.heads > 1,
        prompt=view.prompt,
        step=load_run.step_of(run, depth, snapshot),
        predicted=-float(passage.labels[-1]),
        label=passage.truth,
    )


def largest_gap(run: Run, prompts: int) -> float:
    """Return the largest difference between both forms of the trained model of the first seed, over
    its layers and the tokens of some prompts: labels, whose size is about √d."""
    depth = run.config.layers
    gaps = []
    for prompt in range(prompts):
        for layer in range(1, depth + 1):
            passage = _read(run, 1, prompt, depth, layer, None)
            gaps.append(np.abs(passage.gap).max())
    return float(max(gaps))


def _read(run: Run, seed: int, prompt: int, depth: int, layer: int, snapshot: int | None) -> Forms:
    """Return both forms of a prompt in a layer of a seed's model of that depth, at a snapshot or
    (None) finished. In double precision: where eigenvalues are far apart, rounding would else be
    seen."""
    config = replace(run.config, layers=depth)
    root = load_run.covariance_of(run, seed).root[None]  # [1, d, d]
    learned = load_run.parameters_at(run, seed, depth, snapshot)
    parameters = {name: tensor.double() for name, tensor in learned.items()}
    U, target, query = (tensor.double() for tensor in load_run.prompt_of(run, prompt))
    noise = load_run.label_noise_of(run, prompt).double()
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


def _tokens(passage: Forms) -> list[str]:
    return [*(str(token + 1) for token in range(len(passage.given))), "q"]


def _attention(passage: Forms, last: Forms) -> tuple[Figure, pd.DataFrame]:
    """Return the map of attention, on one scale for the whole training, and its numbers."""
    names = _tokens(passage)
    figure = figures.heatmap(
        passage.attention,
        names,
        names,
        "attention",
        limit=figures.largest_magnitude(passage.attention, last.attention),
        row_title="attending",
        column_title="attended to",
    )
    columns = dict(zip(names, passage.attention.T.round(5), strict=True))
    return figure, pd.DataFrame({"token": names, **columns})


def _labels(passage: Forms) -> tuple[Figure, pd.DataFrame]:
    """Return what both forms leave of the labels, on the scale of the prompt's own labels, in which
    every layer can be compared, and the numbers."""
    residuals = passage.labels if passage.residuals is None else passage.residuals
    rows = (passage.labels, residuals, passage.gap)
    figure = figures.heatmap(
        np.stack(rows),
        BOTH,
        _tokens(passage),
        "what is left of the label",
        limit=figures.largest_magnitude(passage.given),
        column_title="token",
    )
    # All three, however many tokens there are.
    figure.update_yaxes(tickvals=[0, 1, 2], ticktext=BOTH)
    columns = dict(zip(("tokens", "iteration in w", "difference"), rows, strict=True))
    return figure, pd.DataFrame({"token": _tokens(passage), **columns})
