"""What is found here of the plateau; the paper does not speak of it."""

from functools import partial

from icl_core.contract.experiment import Claim

SETTING = {
    "features": "2, 3, 4",
    "models": "softmax-2",
    "form": "plain",
    "parameters": 2000,
    "seeds": range(3, 6),
}
ours = partial(Claim, kind="ours", source="not in the paper", at=SETTING)

GROWS = ours(
    id="the-plateau-grows",
    label="tasks until zero is left at the largest f, over those at the smallest",
    text=(
        "As the paper trains, a transformer of two layers takes at least twice as many tasks to "
        "leave predicting zero on the most features as on the fewest. (The first of the chosen "
        "models; one that has not left counts with all the tasks that it has seen.)"
    ),
    at_least=2.0,
)
CURRICULUM = ours(
    id="a-curriculum-shortens-the-plateau",
    label="tasks until zero is left at the largest f: curriculum over none",
    text=(
        "On the most features a curriculum at least halves the tasks until predicting zero is "
        "left. (The first of the chosen models.)"
    ),
    at_most=0.5,
)
BOTH = ours(
    id="both-shorten-the-plateau",
    label="tasks until zero is left at the largest f: both over neither",
    text=(
        "With a curriculum and a loss at every x together they are at most half as many. (The "
        "first of the chosen models.)"
    ),
    at_most=0.5,
)
ALL = (GROWS, CURRICULUM, BOTH)
