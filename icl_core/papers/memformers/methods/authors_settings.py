"""The settings that claims speak of and presets begin with: of the authors' code, of each figure,
of the paper's text, and of a training to the end."""

from typing import Any

TASK = {"d": 5, "n": 20, "spectrum": "paper"}
FRESH = {
    "batches": "fresh",
    **TASK,
    "layers": range(4, 11),
    "steps": range(1000, 10_001),
}  # trained to the end
# the training of the authors' code: one batch of 1000 prompts for all rotations, Adam at 0.01 as
# torch sets it
AUTHORS_TRAINING: dict[str, Any] = {
    "batches": "common",
    "learning_rate": 0.01,
    "schedule": "constant",
    "beta_1": 0.9,
    "beta_2": 0.999,
    "objective": "mean",
    "coordinates": "authors",
    "initial": 1e-4,
    "clip": 0.0,
    "first_steps": 0,
}
AUTHORS = {
    **AUTHORS_TRAINING,
    "batch": 1000,
    "steps": 1000,
    "layers": 4,
    "sigma2": 1.0,
    "seeds": 5,
    **TASK,
}
EITHER = {**AUTHORS, "batches": ("common", "authors")}  # on our prompts or on theirs
# Their training on a few prompts: A = aI. Here every seed has prompts of its own, so that the
# spread is that of batches, and there are 40 of them.
FEW_PROMPTS = {
    **AUTHORS,
    "batches": "fixed",
    "variant": "cgd",
    "preconditioner": "scalar",
    "seeds": 40,
}
# Figure 7's five heads beside one, trained longer. Forty batches did not decide it.
IN_THE_END = {
    **FEW_PROMPTS,
    "batch": 10,
    "steps": 3000,
    "heads": 5,
    "beside": "one head",
    "seeds": 120,
}
# Figure 4's: a Γ_j for every entry of Z, which begins where 900 steps without memory have come
FOURTH = {
    **EITHER,
    "variant": "gd++ entry",
    "preconditioner": "full",
    "first_steps": 900,
    "seeds": range(3, 6),
}
# Figure 16's
SEVEN = {
    **AUTHORS,
    "variant": "token shared",
    "preconditioner": "full",
    "d": 10,
    "layers": 7,
    "seeds": range(3, 6),
}
# The text names batch size, resampling and clipping; all else is as in the notebooks. Five seeds do
# not decide what memory gains there.
CLIP = 0.01  # Section 3.3
AS_TEXT: dict[str, Any] = {
    **AUTHORS,
    "batches": "resampled",
    "clip": CLIP,
    "variant": "cgd",
    "beside": "protocols",
    "seeds": 10,
}
