"""Settings that several experiments have: the task, and one training of a model on it."""

from typing import Any, ClassVar

from icl_core.contract.knobs import BadSetting, choice, knobs_of, settings, slider, text
from icl_core.in_context_regression import read_eigenvalues
from icl_core.machine import device
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.task import BLOCKS, FEWEST, POOL, SPECTRA
from icl_core.papers.memformers.shared.variants import VARIANTS

# groups of settings
TASK = "the task"
MODEL = "the model"
TRAINING = "the training"
REPEATS = "repetition"

LABELS = {each.id: each.label for each in VARIANTS.values()}
PRECONDITIONERS = {
    "full": "a full matrix for each layer",
    "scalar": "a multiple of I for each layer",
    "averaged": "a multiple of I, a diagonal averaged before each step (authors' code)",
}
BATCHES = {
    "fresh": "fresh prompts every step",
    "fixed": "one fixed batch for each seed",
    "common": "one fixed batch, turned with each seed's U (authors' code)",
    "resampled": "a new batch every 100 steps (the paper)",
    "authors": "the authors' own prompts (torch's seeds 999 and 99)",
}
SCHEDULES = {"cosine": "cosine", "constant": "constant", "halved": "halved every 2,000 steps"}
OBJECTIVES = {"log": "log of the batch mean", "mean": "batch mean"}
COORDINATES = {
    "original": "original, A in units of 1 over the mean eigenvalue of Σ",
    "authors": "original, A as the authors count it",
    "whitened": "whitened, √Σ A √Σ",
}
# What a view may ask of a prompt in one layer.
READINGS = {
    "attention": "attention over tokens",
    "difference": "both forms and their difference",
}
PROTOCOLS = {
    "ours": "log of the mean, a rate that falls to zero (ours)",
    "authors": "the mean, a constant rate, one batch (authors' code)",
}
# what is the same in all of the authors' trainings: Adam as torch has it
AUTHORS_TRAINING: dict[str, Any] = {
    "schedule": "constant",
    "objective": "mean",
    "clip": 0.0,
    "beta_2": 0.999,
}


@settings
class Task:
    """In-context linear regression with covariance Σ; Section 2."""

    d: int = slider("features, d", 2, 20, default=5, group=TASK)
    n: int = slider(
        "examples per prompt, n", 2, 100, default=20, group=TASK, help="below d: underdetermined"
    )
    spectrum: str = choice("eigenvalues of Σ", SPECTRA, default="paper", group=TASK)
    condition: float = slider(
        "condition number",
        1.0,
        10_000.0,
        default=16.0,
        log=True,
        group=TASK,
        help="if the spectrum is shaped here",
    )
    decay: float = slider(
        "decay",
        0.2,
        5.0,
        default=1.0,
        log=True,
        group=TASK,
        help="above 1, most eigenvalues stay near 1",
    )
    own: str = text(
        "own eigenvalues",
        200,
        default="1, 1, 1/4, 1/16, 1",
        group=TASK,
        help="d numbers above zero",
    )


def check_spectrum(config: Task) -> None:
    """Refuse eigenvalues of a visitor's own that are none; all others are by the ranges."""
    if config.spectrum == "own":
        read_eigenvalues(config.own, config.d)


def check_noise(config: "Model") -> None:
    """Refuse noise in the labels where no form of the model has it: with a Γ for every token or
    entry; on the authors' own prompts, which have none; and where S is singular, so that least
    squares has no single solution."""
    variant = VARIANTS[config.variant]
    if config.noise and variant.needs_examples:
        raise BadSetting(f"noise must be 0 for {variant.label}, got {config.noise:g}")
    if config.noise and config.batches == "authors":
        raise BadSetting(f"noise must be 0 on the authors' own prompts, got {config.noise:g}")
    if config.noise and config.n < config.d:
        raise BadSetting(
            f"noise must be 0 with fewer examples than dimensions, got {config.noise:g} with "
            f"n = {config.n}, d = {config.d}"
        )


def task_of(config: Task) -> dict[str, Any]:
    """Return the fields of a config's task."""
    return {name: getattr(config, name) for name in knobs_of(Task)}


@settings
class Training(Task):
    """A task and how a model is trained on it. A subclass adds what the model is: see `Model`."""

    noise: ClassVar[float] = 0.0  # of the labels

    sigma2: float = slider("variance σ²", 0.01, 100.0, default=1.0, log=True, group=TASK)
    layers: int = slider(
        "layers, up to L", 1, 10, default=4, group=MODEL, help="one model for each depth"
    )
    batches: str = choice("batches", BATCHES, default="fresh", group=TRAINING)
    batch: int = slider("prompts per batch", 1, 20_000, default=1000, log=True, group=TRAINING)
    steps: int = slider("steps", 10, 30_000, default=1000, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 0.001, 1.0, default=0.05, log=True, group=TRAINING, was="rate"
    )
    schedule: str = choice("its schedule", SCHEDULES, default="cosine", group=TRAINING)
    beta_1: float = slider("Adam's β₁", 0.0, 0.999, default=0.9, group=TRAINING)
    beta_2: float = slider("Adam's β₂", 0.5, 0.9999, default=0.99, group=TRAINING)
    initial: float = slider(
        "A starts with standard deviation",
        1e-5,
        1.0,
        default=0.1,
        log=True,
        group=TRAINING,
        help="times the root of 5 / d",
    )
    objective: str = choice("minimised", OBJECTIVES, default="log", group=TRAINING)
    clip: float = slider(
        "clip each matrix's gradient at (0: do not)", 0.0, 10.0, default=10.0, group=TRAINING
    )
    coordinates: str = choice(
        "learned in coordinates", COORDINATES, default="whitened", group=TRAINING
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    @property
    def noise_share(self) -> float:
        """Return τ² / n, the variance of the noise that a mean over the examples keeps."""
        return self.noise**2 / self.n

    @property
    def tested(self) -> int:
        """Return how many prompts its models are evaluated on."""
        return test_set.PROMPTS

    def check(self) -> None:
        """Refuse a spectrum that is none, and what does not fit the memory; the refusal names the
        batch that would fit."""
        check_spectrum(self)
        fixed = memory(self, 0)
        needed = memory(self, self.batch)
        fits = self.batch * (device.memory() - fixed) // max(1, needed - fixed)
        would = f" (a batch of {fits} would)" if 0 < fits < self.batch else ""
        device.check_memory(needed, f"batch {self.batch}, d {self.d}, n {self.n}{would}")


@settings
class Model(Training):
    """One training of any model; Sections 2 to 4."""

    variant: str = choice("model", LABELS, default="lfom", group=MODEL)
    preconditioner: str = choice("preconditioner A", PRECONDITIONERS, default="full", group=MODEL)
    heads: int = slider(
        "heads H", 1, 8, default=1, group=MODEL, help="their attention is summed into one register"
    )
    noise: float = slider(
        "noise in the labels τ",
        0.0,
        5.0,
        default=0.0,
        group=TASK,
        added=True,
        help="y = ⟨w*, x⟩ + τ ε; ⟨w*, x⟩ itself has standard deviation √d",
    )

    def check(self) -> None:
        """Refuse heads and noise that a model cannot have, and what any training refuses."""
        variant = VARIANTS[self.variant]
        check_noise(self)
        if self.heads > 1 and (variant.moves_covariates or not variant.preconditioned):
            raise BadSetting(f"heads must be 1 for {variant.label}, got {self.heads}")
        super().check()


def memory(config: Any, prompts: int) -> int:
    """Return the estimated bytes of a training with that many prompts a batch: the pool of them,
    what the slowest form keeps for its gradient, and the test set. Iterations in R^d go through a
    batch in chunks and keep little."""
    examples = config.n * config.d  # numbers of a prompt's examples
    variant = VARIANTS[config.variant]
    by_token = 4 if variant.has_one_w else 6 * config.n
    by_dimension = 12 * config.d if variant.moves_covariates else by_token
    kept = config.layers * config.d * by_dimension
    # the test set in both coordinates, and the examples of a block of it, turned for each seed
    evaluated = config.tested * 2 * config.d**2 + 2**12 * examples * (1 + 2 * config.seeds)
    if config.batches == "fresh":  # a pool, and what is drawn of one however small the batch is
        per_prompt = config.d**2
        if variant.needs_examples or config.noise:
            per_prompt = examples + config.d**2 / BLOCKS
        held = BLOCKS * prompts * config.seeds * per_prompt + min(FEWEST * per_prompt, POOL)
    else:  # a batch, of which the seeds' parts are joined
        held = prompts * config.seeds * max(2 * examples, examples + 2 * config.d**2)
    return int(4 * (held + prompts * config.seeds * kept + evaluated))
