"""Read a run: the settings of its learners, and what each of them does with the prompt that is
shown."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.in_context_regression.home import Prompts, error, sample
from icl_core.in_context_regression.recent_learners import EVERY, OF_CHANNELS
from icl_core.in_context_regression.untrained import (
    Learner,
    Settings,
    least_squares,
    posterior_covariance,
    sums,
    weights,
)
from icl_core.papers.learners.prompt.run import OF_RECENT, SETTINGS
from icl_core.papers.learners.prompt.settings import MEMBERS, View
from icl_core.papers.learners.shared import references
from icl_core.papers.learners.shared.typed_points import pairs

STREAM = 3  # of the seeds of the prompts that are shown; others tune and test


@dataclass(frozen=True, eq=False)
class Shown:
    """The prompt that is shown, and what every learner does with it.

    x, y        its pairs, [pairs, d] and [pairs]
    w           w*; of a visitor's own pairs their least-squares weights
    query       one more x, [d]
    own         whether the pairs are a visitor's own
    learned     ŵ by the id of the learner, [pairs + 1, d], after 0, 1, … pairs
    errors      their errors over that of zero on prompts of home, [pairs + 1]
    S, b        [pairs + 1, d, d] and [pairs + 1, d]
    posterior   the covariance of w* given the pairs, [pairs + 1, d, d]
    """

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    query: np.ndarray
    own: bool
    learned: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    S: np.ndarray
    b: np.ndarray
    posterior: np.ndarray


def learners_of(run: Run) -> list[Learner]:
    """Return the learners of a run, in order."""
    return [EVERY[id] for id in run.names("learners")]


def place(run: Run, id: str) -> int:
    """Return the place of a learner among those of a run."""
    return run.names("learners").index(id)


def members(run: Run, view: View) -> list[Learner]:
    """Return the learners of the group that the view shows, in the order of the group: what comes
    last is drawn over the others."""
    ids = run.names("learners")
    return [EVERY[id] for id in MEMBERS[view.group] if id in ids]


def settings_of(run: Run, id: str) -> Settings:
    """Return the tuned settings of a learner, those of every channel as tensors [d]."""
    row = place(run, id)
    settings: dict[str, float | torch.Tensor] = {}
    for name in (*SETTINGS, *OF_RECENT, *OF_CHANNELS):
        stored = run.tensors.get(f"tuned/{name}")
        if stored is not None and not np.isnan(stored[row]).any():
            settings[name] = torch.tensor(stored[row]) if stored.ndim > 1 else float(stored[row])
    return settings


def share_left(run: Run, id: str) -> float:
    """Return the share that a learner leaves after all pairs, as a mean over prompts of home."""
    return float(run["lengths/share"][place(run, id), -1])


def best_on_average(run: Run) -> Learner:
    """Return who leaves least on average."""
    return min(learners_of(run), key=lambda learner: share_left(run, learner.id))


def shown(run: Run, view: View) -> Shown:
    """Return the prompt that the view asks for, read by every learner. Raises `CannotDraw` if a
    visitor's own pairs have another number of features."""
    return _shown(run, view.prompt, view.scale, view.points)


def pairs_read(run: Run, view: View) -> int:
    """Return how many pairs of the prompt have been read: its length may differ from that of home,
    and the clock then moves in proportion."""
    count = len(shown(run, view).x)
    return round(run.step(view) / run.config.n * count)


def error_here(run: Run, view: View, id: str) -> float:
    """Return what a learner leaves of the prompt that is shown, after the pairs read."""
    return float(shown(run, view).errors[id][pairs_read(run, view)])


def worst_here(run: Run, view: View) -> Learner:
    """Return who leaves most of the prompt after the pairs read, of the learners that are shown."""
    return max(members(run, view), key=lambda learner: error_here(run, view, learner.id))


def nearest(run: Run, view: View) -> Learner:
    """Return whose weights after the pairs read are nearest to w*, of the learners that are
    shown."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    return min(
        members(run, view),
        key=lambda learner: float(np.linalg.norm(prompt.learned[learner.id][read] - prompt.w)),
    )


@lru_cache(maxsize=16)
def _shown(run: Run, number: int, scale: float, text: str) -> Shown:
    home = run.config.home
    steps = run.config.steps
    typed = pairs(text)
    drawn = sample(home, 1, references.stream(STREAM, 1000 * run.config.seed + number))
    prompt = _typed(typed, drawn) if typed else _scaled(drawn, scale)
    learned = {
        learner.id: weights(learner, prompt, settings_of(run, learner.id), home, steps)[..., 0]
        for learner in learners_of(run)
    }
    S, b = sums(prompt.x, prompt.y[:, None], home.n)  # [lengths, d, d, 1], [lengths, 1, d, 1]
    posterior = posterior_covariance(S[..., 0].permute(1, 2, 0), home).permute(2, 0, 1)
    errors = {
        id: error(values[..., None], prompt)[:, 0].numpy() / home.label_variance()
        for id, values in learned.items()
    }
    return Shown(
        x=prompt.x[..., 0].numpy(),
        y=prompt.y[:, 0].numpy(),
        w=prompt.w[:, 0].numpy(),
        query=prompt.query[:, 0].numpy(),
        own=bool(typed),
        learned={id: values.numpy() for id, values in learned.items()},
        errors=errors,
        S=S[..., 0].numpy(),
        b=b[:, 0, :, 0].numpy(),
        posterior=posterior.numpy(),
    )


def _scaled(drawn: Prompts, scale: float) -> Prompts:
    """Return prompts with larger covariates, whose labels keep w* and the noise."""
    clean = (drawn.x * drawn.w).sum(1)  # [n, prompts]
    return replace(
        drawn,
        x=scale * drawn.x,
        y=drawn.y + (scale - 1) * clean,
        covariance=scale**2 * drawn.covariance,
        query=scale * drawn.query,
    )


def _typed(typed: list[tuple[tuple[float, ...], float]], drawn: Prompts) -> Prompts:
    """Return a visitor's pairs as a prompt, whose w* is what fits them best."""
    d = len(drawn.w)
    if len(typed[0][0]) != d:
        raise CannotDraw(
            f"Each of your pairs must have {d} features here, got {len(typed[0][0])}. Change d, or "
            "the pairs."
        )
    x = torch.tensor([features for features, _ in typed], dtype=torch.float64)[..., None]
    y = torch.tensor([label for _, label in typed], dtype=torch.float64)[:, None]
    S, b = sums(x, y[:, None], len(typed), every=False)
    best = least_squares(S[0], b[0].transpose(0, 1))[:, 0]
    return replace(drawn, x=x, y=y, w=best)
