"""The settings of the experiment on learned first-order methods: what is trained."""

from icl_core import device
from icl_core.knobs import BadSetting, choice, settings, slider, text
from icl_core.papers.memformers.shared.task import BLOCKS, SPECTRA, eigenvalues_of
from icl_core.papers.memformers.shared.variants import VARIANTS

TASK, MODEL, TRAINING, REPEATS = "the task", "the model", "the training", "repetition"
LABELS = {each.id: each.label for each in VARIANTS.values()}
BESIDE = {
    "linear": "a linear transformer",
    "free": "Γ free for every pair of layers",
    "one head": "one head",
    "coordinates": "the same in the other coordinates",
    "all": "linear, CGD-like, LFOM, Γ shared",
    "none": "nothing",
}
BATCHES = {
    "fresh": "fresh prompts every step",
    "fixed": "one fixed batch (authors' code)",
    "resampled": "a new batch every 100 steps (the paper)",
}
COORDINATES = {"original": "original, A", "whitened": "whitened, Σ^½ A Σ^½"}


@settings
class Config:
    """What is trained; Sections 2 to 4. One model for every depth from 1 to `layers`, and one beside it."""

    variant: str = choice("model", LABELS, default="lfom", group=MODEL)
    preconditioner: str = choice(
        "preconditioner A", {"full": "a full matrix a layer", "scalar": "a multiple of I a layer"}, default="full",
        group=MODEL,
    )  # fmt: skip
    layers: int = slider("layers, up to L", 1, 10, default=4, group=MODEL, help="a model of its own for every depth")
    heads: int = slider("heads H", 1, 8, default=1, group=MODEL, help="their attention is summed into one register")
    beside: str = choice("train beside it", BESIDE, default="linear", group=MODEL)
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
    steps: int = slider("steps", 10, 10_000, default=1000, step=10, group=TRAINING)
    rate: float = slider("learning rate", 0.001, 1.0, default=0.05, log=True, group=TRAINING)
    schedule: str = choice("its course", {"cosine": "cosine", "constant": "constant"}, default="cosine", group=TRAINING)
    objective: str = choice(
        "minimised", {"log": "log of the batch mean", "mean": "batch mean"}, default="log", group=TRAINING
    )
    clip: float = slider("clip gradients at (0: not)", 0.0, 10.0, default=10.0, group=TRAINING)
    coordinates: str = choice("learned in coordinates", COORDINATES, default="whitened", group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a spectrum that is none, heads that a model cannot have, and what does not fit the memory."""
        eigenvalues_of(self)
        variant = VARIANTS[self.variant]
        if self.heads > 1 and (variant.moves_covariates or not variant.preconditioned):
            raise BadSetting(f"heads must be 1 for {variant.label}, got {self.heads}")
        device.check_memory(memory(self), f"batch {self.batch}, d {self.d}, n {self.n}{would_fit(self)}")


def memory(config: Config, batch: int | None = None) -> int:
    """Estimated bytes of a training with `batch` prompts: the pool of them, and what the slowest form keeps for its
    gradient. Iterations in R^d go through a batch in chunks and keep little."""
    prompts = config.batch if batch is None else batch
    held = prompts * config.seeds * (BLOCKS if config.batches == "fresh" else 1)
    variant = VARIANTS[config.variant]
    by_token, moving = (4 if variant.has_one_w else 6 * config.n), 12 * config.d
    kept = config.layers * config.d * (moving if variant.moves_covariates else by_token)
    judged = 2**16 * 2 * config.d**2  # prompts that are judged on at the end, in both coordinates
    examples = config.n * config.d if variant.per == "token" or config.batches != "fresh" else 0
    return 4 * (held * (config.d**2 + examples) + prompts * config.seeds * kept + judged)


def would_fit(config: Config) -> str:
    """What to say of a batch that does not fit the memory: which one would."""
    fixed = memory(config, 0)
    fits = config.batch * (device.memory() - fixed) // max(1, memory(config) - fixed)
    return f" (a batch of {fits} would)" if 0 < fits < config.batch else ""
