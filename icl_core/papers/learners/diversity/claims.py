"""What is known of one layer with k training tasks, and what is found; each written once."""

from functools import partial

from icl_core.contract.experiment import Claim

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
MANY = {"prompts": range(16_384, 65_537)}
LIKE = (
    "Raventós et al. 2023 (arXiv 2306.15063) and Lu et al. 2024 (arXiv 2405.11751) ask this; here"
)

RANK = theory(
    id="rank-is-the-number-of-tasks",
    label="what is left outside of the tasks' span",
    text="With fewer training tasks than features the layer answers nothing outside of their span: "
    "all of a fresh task is left there.",
    source="Γ = C (…)⁻¹ has the rank of C",
    near=1.0,
    tolerance=1e-6,
)
LIMIT = theory(
    id="optimum-becomes-one-step",
    label="Γ with 1,024 tasks, away from its limit",
    text="With ever more training tasks Γ becomes a multiple of the identity, 1 / (1 + (1 + d + "
    "τ²) / n): one step of gradient descent at its best rate.",
    source="C becomes I",
    at={"d": range(2, 21), "n": range(16, 65)},
    near=0.0,
    tolerance=0.1,
)
FITTED = theory(
    id="fitted-is-the-optimum",
    label="fitted layer, over its optimum, on fresh tasks",
    text="Fitted to 16,384 prompts the layer leaves what its optimum leaves, on fresh tasks and "
    "averaged over all numbers of training tasks.",
    source="least squares",
    at=MANY,
    near=1.0,
    tolerance=0.05,
)
GAP = ours(
    id="gap-at-as-many-tasks-as-features",
    label="fresh over trained tasks, k = d",
    text="With as many training tasks as features the layer still leaves at least a third more of "
    "fresh tasks than of trained ones.",
    source=f"{LIKE} in closed form",
    at={"d": 8, "n": 16, "noise": 0.5},
    at_least=4 / 3,
)
MEET = ours(
    id="errors-meet",
    label="fresh over trained tasks, k = 8 d",
    text="With eight times as many training tasks as features the layer leaves at most a tenth "
    "more of fresh tasks than of trained ones.",
    source=f"{LIKE} in closed form",
    at={"d": 8, "n": 16, "noise": 0.5},
    at_most=1.1,
)
MEMORY = ours(
    id="memory-needs-more",
    label="Bayes over trained tasks, over the layer, fresh, k = 8 d",
    text="Bayes over the training tasks, which knows them by heart, leaves at least half as much "
    "again of fresh tasks as the layer does.",
    source=f"{LIKE} on sampled prompts",
    at={"d": 8, "n": 16, "noise": 0.5},
    at_least=1.5,
)
ALL = (RANK, LIMIT, FITTED, GAP, MEET, MEMORY)
