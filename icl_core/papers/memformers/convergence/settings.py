"""The settings of the experiment on convergence to Σ⁻¹: what is trained and what is drawn of it."""

from dataclasses import replace

from icl_core import device, knobs
from icl_core.experiment import Run
from icl_core.knobs import choice, settings, slider, text
from icl_core.papers.memformers.shared.settings import BATCHES, COORDINATES, TASK, TRAINING, memory, would_fit
from icl_core.papers.memformers.shared.settings import Config as Model
from icl_core.papers.memformers.shared.task import SPECTRA, eigenvalues_of

MODEL, REPEATS = "the model", "repetition"


@settings
class Config:
    """What is trained; Appendix D. The paper's size is three layers and batches of 20,000."""

    variant: str = choice(
        "model", {"linear": "linear transformer, no memory", "lfom": "LFOM Memformer"}, default="linear", group=MODEL
    )
    layers: int = slider("layers L", 1, 6, default=3, group=MODEL)
    d: int = slider("dimension d", 2, 20, default=5, group=TASK)
    n: int = slider("examples in a prompt, n", 2, 100, default=20, group=TASK, help="below d: underdetermined")
    spectrum: str = choice("eigenvalues of Σ", SPECTRA, default="paper", group=TASK)
    condition: float = slider(
        "condition number", 1.0, 10_000.0, default=16.0, log=True, group=TASK, help="if the spectrum is shaped here"
    )
    decay: float = slider("decay", 0.2, 5.0, default=1.0, log=True, group=TASK, help="above 1: most stay near 1")
    own: str = text("own eigenvalues", 200, default="1, 1, 1/4, 1/16, 1", group=TASK, help="d numbers above zero")
    sigma2: float = slider("variance σ²", 0.01, 100.0, default=1.0, log=True, group=TASK)
    batches: str = choice("batches", BATCHES, default="fresh", group=TRAINING)
    batch: int = slider("prompts a batch", 1, 20_000, default=1000, log=True, group=TRAINING)
    steps: int = slider("steps", 10, 10_000, default=3000, step=10, group=TRAINING)
    rate: float = slider("learning rate", 0.001, 1.0, default=0.1, log=True, group=TRAINING)
    schedule: str = choice("its course", {"cosine": "cosine", "constant": "constant"}, default="cosine", group=TRAINING)
    objective: str = choice(
        "minimised", {"log": "log of the batch mean", "mean": "batch mean"}, default="log", group=TRAINING
    )
    clip: float = slider("clip gradients at (0: not)", 0.0, 10.0, default=10.0, group=TRAINING)
    coordinates: str = choice("learned in coordinates", COORDINATES, default="original", group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds, each with its own U", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a spectrum that is none, and what does not fit the memory."""
        eigenvalues_of(self)
        model = model_of(self)
        device.check_memory(memory(model), f"batch {self.batch}, d {self.d}, n {self.n}{would_fit(model)}")


def model_of(config: Config) -> Model:
    """The same setting as one of the experiment on methods: a full A, one head, nothing beside it."""
    return replace(Model(beside="none"), **knobs.values(config))


def as_model(run: Run) -> Run:
    """The run as one of the experiment on methods, whose drawings it shares."""
    return Run(model_of(run.config), run.tensors, run.info, run.digest, run.finished)


@settings
class View:
    """What is drawn of the preconditioners."""

    snapshot: int = slider("training step", 0, 31, default=31, was="snapshot")
    layer: int = slider("layer", 1, 6, default=1)
    seed_shown: int = slider("seed shown", 1, 5, default=1, at_most="seeds")
