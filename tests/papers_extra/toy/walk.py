"""A linear student learns a linear teacher by stochastic gradient descent, one fresh batch a step.

Watch the loss fall to zero; raise the step size until it no longer does.
"""

import time
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
import torch

from icl_core.experiment import Claim, Diverged, Drawing, Experiment, Metric, Panel, Preset, Progress, Run, Tensors
from icl_core.knobs import settings, slider

BATCH = 16
SNAPSHOTS = 5

RECOVERED = Claim(
    id="toy.recovered",
    label="teacher found",
    kind="paper",
    text="The student's weights come to point where the teacher's do.",
    source="Section 1",
    near=1.0,
    tolerance=0.02,
)
EXACT = Claim(
    id="toy.exact",
    label="no loss left",
    kind="paper",
    text="The loss falls to zero.",
    source="Section 2",
    at_most=0.0,
)


@settings
class Config:
    """What is trained."""

    d: int = slider("inputs d", 1, 64, default=8, help="Number of weights to find.")
    steps: int = slider("training steps", 10, 1_000_000, default=300, log=True)
    rate: float = slider("step size η", 0.001, 10.0, default=0.1, log=True)
    seeds: int = slider("seeds", 1, 16, default=1)
    seed: int = slider("first seed", 0, 1000, default=0)
    delay: float = slider("pause per step (ms)", 0.0, 1000.0, default=0.0, group="testing")


@settings
class View:
    """What is drawn."""

    moment: int = slider("training step shown", 0, SNAPSHOTS - 1, default=SNAPSHOTS - 1)
    seed_shown: int = slider("seed shown", 0, 15, default=0)


@dataclass
class Training:
    """All that a training needs to go on from a step. Each seed has its own generator: more seeds change no other."""

    config: Config
    generators: list[torch.Generator]
    teacher: torch.Tensor  # [seeds, d]
    weights: torch.Tensor  # [seeds, d]
    step: int = 0
    losses: list[np.ndarray] = field(default_factory=list)  # [seeds] each
    snapshots: list[np.ndarray] = field(default_factory=list)  # [seeds, d] each

    def save(self) -> Tensors:
        """The state after `step` steps, as arrays that go to disk and back without loss."""
        return {
            "step": np.array(self.step),
            "weights": self.weights.numpy(),
            "losses": np.array(self.losses, np.float32).reshape(-1, self.config.seeds),
            "snapshots": np.array(self.snapshots, np.float32).reshape(-1, self.config.seeds, self.config.d),
            "generators": np.stack([generator.get_state().numpy() for generator in self.generators]),
        }

    def restore(self, saved: Tensors) -> None:
        """Go on from what `save` gave."""
        self.step, self.weights = int(saved["step"]), torch.tensor(saved["weights"])
        self.losses, self.snapshots = list(saved["losses"]), list(saved["snapshots"])
        for generator, state in zip(self.generators, saved["generators"], strict=True):
            generator.set_state(torch.tensor(state))

    def curves(self) -> Tensors:
        """The losses so far: [seeds, steps]."""
        return {"curve/loss": np.array(self.losses, np.float32).reshape(-1, self.config.seeds).T}

    def advance(self) -> None:
        """One step on a fresh batch."""
        x = torch.stack([torch.randn(BATCH, self.config.d, generator=generator) for generator in self.generators])
        error = torch.einsum("sbd,sd->sb", x, self.weights - self.teacher)
        self.losses.append((error**2).mean(1).numpy())
        if not np.isfinite(self.losses[-1]).all():
            raise Diverged(f"the training diverged at step {self.step}: the loss is no longer finite")
        self.weights = self.weights - self.config.rate * torch.einsum("sb,sbd->sd", error, x) / BATCH
        self.step += 1


def run(config: Config, progress: Progress) -> Tensors:
    """Train all seeds at once."""
    training = _start(config)
    saved = progress.resume()
    if saved is not None:
        training.restore(saved)
    moments = _moments(config.steps)
    while True:
        loss = float(training.losses[-1].mean()) if training.losses else float("nan")
        progress.report(training.step, config.steps, loss, training.curves, training.save)
        if training.step in moments:
            training.snapshots.append(training.weights.numpy().copy())
        if training.step == config.steps:
            break
        training.advance()
        time.sleep(config.delay / 1000)
    return {
        **training.curves(),
        "snapshot/weights": np.stack(training.snapshots),  # [moments, seeds, d]
        "snapshot/step": np.array(moments),
        "final/teacher": training.teacher.numpy(),
    }


def _start(config: Config) -> Training:
    generators = [torch.Generator().manual_seed(config.seed + index) for index in range(config.seeds)]
    teacher = torch.stack([torch.randn(config.d, generator=generator) for generator in generators])
    return Training(config, generators, teacher, torch.zeros_like(teacher))


def _moments(steps: int) -> list[int]:
    return np.linspace(0, steps, SNAPSHOTS).round().astype(int).tolist()


def metrics(run: Run) -> list[Metric]:
    """Cosine of the final weights with the teacher's, and the last loss."""
    weights, teacher = run["snapshot/weights"][-1], run["final/teacher"]
    norms = np.linalg.norm(weights, axis=1) * np.linalg.norm(teacher, axis=1)
    cosines = (weights * teacher).sum(1) / np.maximum(norms, 1e-12)
    return [
        Metric(RECOVERED, float(cosines.mean())),
        Metric(EXACT, float(run["curve/loss"][:, -1].mean())),
    ]


def draw_loss(run: Run, view: View) -> Panel:
    """The loss over training, of a run that may still be going."""
    figure = go.Figure([go.Scatter(y=curve, mode="lines") for curve in run["curve/loss"]])
    return Panel("The loss falls", "Squared error on the fresh batch of each step, a line a seed.", figure)


def draw_weights(run: Run, view: View) -> Panel:
    """The weights at the moment shown beside the teacher's."""
    seed = min(view.seed_shown, run.config.seeds - 1)
    bars = {"student": run["snapshot/weights"][view.moment][seed], "teacher": run["final/teacher"][seed]}
    figure = go.Figure([go.Bar(y=values, name=name) for name, values in bars.items()])
    return Panel("The student meets the teacher", f"Weights at step {steps(run)[view.moment]}.", figure)


def headline(run: Run, view: View) -> str:
    """One sentence."""
    return f"After {run.config.steps} steps the loss is {run['curve/loss'][:, -1].mean():.2g}."


def cost(config: Config) -> float:
    """Giga-operations; the pause is counted as work, so that the estimate of time sees it."""
    return config.steps * (6e-9 * BATCH * config.d * config.seeds + 1e-4 + config.delay / 1000)


def steps(run: Run) -> list[int]:
    """The training steps of the snapshots."""
    return run["snapshot/step"].tolist()


EXPERIMENT = Experiment(
    name="walk",
    title="Learning a line",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    metrics=metrics,
    drawings=(
        Drawing("loss", draw_loss, live=True, moment=False),
        Drawing("weights", draw_weights, knobs=("seed_shown",)),
    ),
    presets=(
        Preset("classroom", "In class", Config(), "Eight inputs.", seeds=2),
        Preset("paper", "As in the paper", Config(d=16, steps=600), "Sixteen inputs.", group="paper"),
        Preset("slow", "One that takes a while", Config(steps=3000, delay=10.0), group="testing", shipped=False),
    ),
    headline=headline,
    cost=cost,
)
