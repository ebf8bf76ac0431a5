"""What is drawn of a trained first-order method, or asked of it."""

from icl_core.knobs import choice, settings, slider, toggle


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31, was="snapshot")
    seed_shown: int = slider("seed shown", 1, 5, default=1, at_most="seeds")
    depth: int = slider("layers of the model shown", 1, 10, default=10, at_most="layers")
    overlay: str = choice(
        "methods",
        {"main": "trained, CGD, floor", "all": "every method", "trained": "trained only"},
        default="main",
    )
    average: str = choice(
        "over prompts", {"mean": "mean", "median": "median, the typical prompt"}, default="mean",
        help="beyond five layers rare prompts decide the mean",
    )  # fmt: skip
    single_seeds: bool = toggle("single seeds", default=False)
    unit: str = choice("coefficients", {"step": "of the step", "sum": "summed up from w₀"}, default="step")
    prompt: int = slider("prompt", 0, 99, default=0)
    first_axis: int = slider("eigenvector across", 1, 20, default=4)
    second_axis: int = slider("eigenvector up", 1, 20, default=1)
    after: int = slider("iterates shown up to layer", 0, 10, default=10)
    layer: int = slider("layer", 1, 10, default=1)
    reading: str = choice(
        "layer by layer", {"attention": "attention over tokens", "difference": "both forms and their difference"},
        default="attention",
    )  # fmt: skip
