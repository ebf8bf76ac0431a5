"""The shortest complete example of a paper, which the tests use: copy this folder."""

from icl_core.contract.experiment import Paper

PAPER = Paper(
    name="toy",
    title="A line through noisy points",
    authors="N. N.",
    year=1805,
    found="Stochastic gradient descent finds the weights of a linear teacher.",
    introduction="A linear student sees fresh examples of a linear teacher and comes to agree "
    "with it.",
    experiments={"walk": 1},
    documents={"points": "points"},
    glossary=(("rate", "η", "step size of the descent"),),
)
