"""The matrices of a transformer, says this paper, are memories: sums of outer products of nearly
orthogonal vectors. Here you take such memories out of the model and fill them with random pairs,
until they mix them up. How many pairs does a matrix hold? What becomes of them in two factors, in
several heads, under layer norm, in an MLP? And which pairs does gradient descent learn first?

Move the number of pairs under “View” and watch which outputs win. Then play the training: each dot
is a pair.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.birth.laboratory import claims
from icl_core.papers.birth.laboratory.draw import (
    capacity,
    inner_products,
    learning,
    one_memory,
    parameterisations,
)
from icl_core.papers.birth.laboratory.load_run import at
from icl_core.papers.birth.laboratory.metrics import measure
from icl_core.papers.birth.laboratory.run import compute
from icl_core.papers.birth.laboratory.settings import PRESETS, Config, View
from icl_core.papers.birth.laboratory.story import CAPACITY, FORMS, LEARNED, STORY, VECTORS


def headline(run: Run, view: View) -> str:
    """Return one sentence: how many of the pairs one matrix recalls, and how many another has
    learned."""
    index = run.snapshot_at(view)
    stored = float(at(run, "capacity/equal", width=view.width, capacity=view.pairs).mean())
    right = run["snapshot/right"][index]
    return (
        f"A matrix of {view.width} × {view.width} numbers recalls {stored:.0%} of {view.pairs:,} "
        f"pairs; gradient descent has learned {int(right.sum())} of {len(right)} by step "
        f"{run.snapshot_steps[index]}."
    )


def cost(config: Config) -> float:
    """Return the work in giga-operations: the sweeps, which take most of it, and three
    trainings."""
    trainings = 3 * (config.steps + 1) * 2 * config.N * config.d * (4 * config.d + 2 * config.N)
    return config.seeds * (60 + trainings / 1e9)


def milestones(run: Run) -> dict[str, float]:
    """Return the first steps at which half of the pairs, and all, are recalled, where they are."""
    shares = run["curve/recall"][0]
    steps = run["curve/step"]
    is_reached = {"half": shares >= 0.5, "all": shares >= 1.0}  # [steps] each
    return {name: float(steps[is_at.argmax()]) for name, is_at in is_reached.items() if is_at.any()}


SEED = ("seed_shown",)
SHOWN = ("width", "pairs")

EXPERIMENT = Experiment(
    name="laboratory",
    title="The memory laboratory",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("near", inner_products.near, ("width",), moving=False, seeds=MEAN_OF_SEEDS),
        Drawing(
            "capacity", capacity.capacity_panel, SHOWN, wide=True, moving=False, seeds=MEAN_OF_SEEDS
        ),
        Drawing("concrete", one_memory.concrete, (*SHOWN, "form", "rank", *SEED), moving=False),
        Drawing(
            "forms",
            parameterisations.forms,
            (*SHOWN, "rank", "taken"),
            moving=False,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("strengths", learning.strengths, SEED),
        Drawing("spread", inner_products.spread, ("width",), VECTORS, moving=False),
        Drawing("norms", inner_products.norms, ("width",), VECTORS, moving=False),
        Drawing("half", capacity.half, ("width",), CAPACITY, moving=False),
        Drawing("zipf", capacity.zipf, SHOWN, CAPACITY, moving=False),
        Drawing("factorised", parameterisations.factorised, (*SHOWN, "rank"), FORMS, moving=False),
        Drawing("heads", parameterisations.heads, (*SHOWN, "taken"), FORMS, moving=False),
        Drawing(
            "sets", parameterisations.sets, ("width", "members", "threshold"), FORMS, moving=False
        ),
        Drawing("norm", parameterisations.norm, SHOWN, FORMS, moving=False),
        Drawing("recall", learning.recall, (), LEARNED),
        Drawing("first", learning.first, (), LEARNED, moving=False),
        Drawing("evened", learning.evened, (), LEARNED, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=milestones,
    story=STORY,
    picture=("capacity",),
)
