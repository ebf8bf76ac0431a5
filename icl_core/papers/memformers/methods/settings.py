"""The settings of the experiment on learned first-order methods: what is trained, what is drawn of
it, and presets, the classroom's and one for each figure."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, toggle
from icl_core.contract.seeds import ROWS
from icl_core.papers.memformers.methods.authors_settings import (
    AS_TEXT,
    AUTHORS_TRAINING,
    FEW_PROMPTS,
    IN_THE_END,
)
from icl_core.papers.memformers.shared.settings import (
    MODEL,
    READINGS,
    REPEATS,
    TRAINING,
    Model,
)
from icl_core.papers.memformers.shared.variants import VARIANTS

BESIDE = {
    "linear": "a linear transformer",
    "free": "Γ free for every pair of layers",
    "one head": "one head",
    "coordinates": "the same in the other coordinates",
    "all": "linear, CGD-like, LFOM, Γ shared",
    "protocols": "linear, and both under four protocols (clipping × new batches)",
    "none": "nothing",
}


@settings
class Config(Model):
    """What is trained; Sections 2 to 4. One model for every depth from 1 to `layers`, and one
    beside it."""

    MAIN = ("d", "n", "layers", "condition", "seeds")
    FIRST = ("variant", "preconditioner", "layers", "heads", "beside")

    beside: str = choice("train beside it", BESIDE, default="linear", group=MODEL)
    seeds: int = slider(
        "seeds",
        1,
        120,
        default=1,
        group=REPEATS,
        help="on a batch of few prompts each has prompts of its own",
    )
    first_steps: int = slider(
        "steps of A alone, first",
        0,
        2000,
        default=0,
        step=10,
        group=TRAINING,
        help="the authors' first phase: without memory, a new batch every 100 steps",
    )

    def check(self) -> None:
        """Refuse four protocols of a model without memory, and what any model refuses."""
        if self.beside == "protocols" and VARIANTS[self.variant].memory == "none":
            name = VARIANTS[self.variant].label
            raise BadSetting(f"model must have a memory to compare protocols, got {name}")
        super().check()


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = slider(
        "seed shown", 1, 120, default=1, at_most=ROWS, help="whose model the maps show"
    )
    depth: int = slider("layers of the model shown", 1, 10, default=10, at_most="layers")
    overlay: str = choice(
        "methods",
        {"main": "trained, CGD, floor", "all": "every method", "trained": "trained only"},
        default="main",
    )
    average: str = choice(
        "over prompts",
        {"mean": "mean", "median": "median, the typical prompt"},
        default="mean",
        help="beyond five layers a few rare prompts decide the mean",
    )
    single_seeds: bool = toggle("single seeds", default=False)
    unit: str = choice(
        "coefficients", {"step": "of the step", "sum": "summed up from w₀"}, default="step"
    )
    prompt: int = slider("prompt", 0, 99, default=0)
    first_axis: int = slider("eigenvector across", 1, 20, default=4)
    second_axis: int = slider("eigenvector up", 1, 20, default=1)
    after: int = slider("guesses shown up to layer", 0, 10, default=10)
    layer: int = slider("layer", 1, 10, default=1)
    reading: str = choice("layer by layer", READINGS, default="attention")


LFOM = Config()
AUTHORS = Config(**AUTHORS_TRAINING)
OWN = replace(AUTHORS, batches="authors")  # on the authors' own prompts
FEW = Config(**{**FEW_PROMPTS, "seeds": 1}, beside="none")
BATCHES_OF_FEW = 40  # seeds of its presets: each has prompts of its own
TEN = replace(FEW, batch=10)

# name, title, config, what to see, group, seeds
ROWS = (
    (
        "lfom",
        "A Memformer learns a method",
        LFOM,
        "Watch the blue dot fall to the dotted floor, the best that fixed steps with one matrix "
        "can do.",
        "Classroom",
        5,
    ),
    (
        "all",
        "Every variant, trained to the end",
        replace(LFOM, beside="all"),
        "Three variants, with memory and without, meet on one floor. Only sharing Γ costs.",
        "Classroom",
        5,
    ),
    (
        "coordinates",
        "Original against whitened coordinates",
        replace(LFOM, coordinates="original", beside="coordinates"),
        "The same model on the same prompts: see which coordinates arrive first.",
        "Classroom",
        5,
    ),
    (
        "scalar",
        "A multiple of I for each layer",
        replace(LFOM, variant="cgd", preconditioner="scalar"),
        "Without matrices to learn, a Memformer stays behind conjugate gradient.",
        "Classroom",
        5,
    ),
    (
        "figure 1",
        "CGD-like, A = aI",
        replace(OWN, variant="cgd", preconditioner="averaged"),
        "The authors' protocol and prompts: memory gains a little. Their five runs share one "
        "batch, turned. With A = aI a turn changes hardly anything: five times the same run.",
        "Figures",
        5,
    ),
    (
        "figure 2",
        "CGD-like, preconditioned",
        replace(OWN, variant="cgd"),
        "The authors' protocol and prompts: with memory training is faster; both models end far "
        "above the floor.",
        "Figures",
        5,
    ),
    (
        "figure 2, five batches",
        "CGD-like, preconditioned, on five batches",
        replace(AUTHORS, batches="fixed", variant="cgd"),
        "Whether conjugate gradient is ahead at four layers depends on the 1000 prompts in the "
        "training batch.",
        "Figures",
        5,
    ),
    (
        "figure 3",
        "LFOM, one Γ for every token",
        replace(OWN, variant="token shared"),
        "The authors' protocol and prompts. Figures 12 to 14 show a like model, whose Γ weighs "
        "older layers alone.",
        "Figures",
        5,
    ),
    (
        "figure 4",
        "GD++, covariates move",
        replace(OWN, variant="gd++ entry", first_steps=900),
        "Far ahead of conjugate gradient on its own batch, worse than predicting zero on fresh "
        "prompts.",
        "Figures",
        3,
    ),
    (
        "figure 5",
        "A batch of one prompt",
        replace(FEW, batch=1),
        "Perfect on its prompt; on others hardly better than predicting zero. The caption says "
        "LFOM; the code is CGD-like.",
        "Figures",
        BATCHES_OF_FEW,
    ),
    (
        "figure 6",
        "A batch of ten prompts",
        TEN,
        "Conjugate gradient is ahead on most tens of prompts. The paper's ten are one of the few "
        "where it is not.",
        "Figures",
        BATCHES_OF_FEW,
    ),
    (
        "figure 6, their ten",
        "The authors' own ten prompts",
        replace(
            OWN,
            variant="cgd",
            preconditioner="averaged",
            batch=10,
            first_steps=900,
            beside="none",
        ),
        "On these ten prompts the model is ahead of conjugate gradient from two layers on. The "
        "caption says LFOM; the code is CGD-like.",
        "Figures",
        5,
    ),
    (
        "figure 6, full A",
        "A batch of ten prompts, full A",
        replace(TEN, preconditioner="full"),
        "With matrices to learn, the model knows ten prompts by heart.",
        "Figures",
        5,
    ),
    (
        "figure 7",
        "Five heads against one, 200 steps",
        replace(TEN, heads=5, beside="one head", steps=200),
        "Five heads are one head with the sum of their matrices, which moves up to five times as "
        "fast. The caption says LFOM; the code is CGD-like.",
        "Figures",
        BATCHES_OF_FEW,
    ),
    (
        "figure 7, in the end",
        "Five heads against one, 3000 steps",
        replace(TEN, heads=5, beside="one head", steps=3000),
        "Trained longer, one head comes nearly as far as five. Forty batches did not decide it.",
        "Figures",
        IN_THE_END["seeds"],
    ),
    (
        "figures 12 to 14",
        "LFOM, Γ on older layers alone",
        replace(OWN, variant="token older"),
        "Beside Nesterov and momentum the paper shows another model than in Figure 3, tested on "
        "its own batch: on fresh prompts it is behind.",
        "Figures",
        5,
    ),
    (
        "as the text says",
        "As the text says, not the notebooks",
        Config(**{**AS_TEXT, "seeds": 1}),
        "The text draws new batches and clips gradients; the notebooks do neither, and memory is "
        "ahead there. Which of the two takes its lead away?",
        "Paper's setting",
        AS_TEXT["seeds"],
    ),
    (
        "figure 15",
        "Five layers, d = 5",
        replace(AUTHORS, variant="token shared", layers=5, beside="none"),
        "Conjugate gradient is exact after five steps; a fixed method never is.",
        "Figures",
        5,
    ),
    (
        "figures 16 and 17",
        "Seven layers, d = 10",
        replace(AUTHORS, variant="token shared", d=10, layers=7, beside="none"),
        "Ahead of conjugate gradient on its own batch, far behind it on fresh prompts.",
        "Figures",
        3,
    ),
    (
        "shared",
        "One Γ for all layers",
        replace(LFOM, variant="shared", beside="free"),
        "This is heavy ball with β = 1: worse than a Γ for every pair of layers.",
        "Beyond the paper",
        5,
    ),
    (
        "gd++",
        "GD++ on fresh prompts",
        replace(LFOM, variant="gd++", beside="none"),
        'Ahead layer for layer; "Every method" shows what a layer of it costs.',
        "Beyond the paper",
        2,
    ),
    (
        "ten layers",
        "Ten layers",
        replace(LFOM, layers=10, beside="none"),
        "Beyond five layers a few rare prompts decide the mean.",
        "Beyond the paper",
        1,
    ),
    (
        "seven layers",
        "Seven layers, d = 10, fresh prompts",
        replace(LFOM, d=10, layers=7, beside="none"),
        "Trained on fresh prompts, fixed steps do stay ahead of conjugate gradient.",
        "Beyond the paper",
        3,
    ),
    (
        "ten layers, d = 10",
        "Ten layers, d = 10",
        replace(LFOM, d=10, layers=10, beside="none"),
        "The paper calls more than seven layers impractical. A thousand steps are enough for "
        "seven; for ten they are not.",
        "Beyond the paper",
        3,
    ),
    (
        "noise",
        "Noise in the labels",
        replace(LFOM, noise=2.0),
        "Conjugate gradient turns back up: it fits the noise. With memory, fixed steps come close "
        "to ridge regression; without, not quite.",
        "Beyond the paper",
        3,
    ),
    (
        "underdetermined",
        "Three examples in five dimensions",
        replace(LFOM, n=3, layers=3, beside="none"),
        "Fewer examples than unknowns: even conjugate gradient cannot be exact.",
        "Beyond the paper",
        2,
    ),
)

PRESETS = tuple(Preset(*row) for row in ROWS)
