"""A model that is trained on prompts of few tasks may know these tasks and nothing else; with many
it has to read each task off its prompt. One layer of linear attention, ŷ = ⟨x, Γ b⟩ with
b = 1/n ∑ y x, is so simple that what it learns from k tasks is known exactly.

Play the number of tasks from one to 1,024. The matrix Γ begins as a memory of one task, grows in
rank with every further one, and ends as a multiple of the identity, which is one step of gradient
descent. Watch what is left of tasks that it has never seen.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.papers.learners.diversity import claims, draw
from icl_core.papers.learners.diversity.metrics import measure
from icl_core.papers.learners.diversity.run import compute
from icl_core.papers.learners.diversity.settings import MOST, PRESETS, PROMPTS, Config, View
from icl_core.papers.learners.diversity.story import STORY


def headline(run: Run, view: View) -> str:
    """Return what you see: what is left of trained and of fresh tasks."""
    place = run.snapshot_at(view)
    count = run.step(view)
    trained, fresh = (
        number_text(float(run[f"curve/optimum_{where}"][:, place].mean()), 2)
        for where in ("trained", "fresh")
    )
    tasks, these = ("task", "it") if count == 1 else ("tasks", "these")
    return (
        f"Trained on {count:,} {tasks} the layer leaves {trained} of the error on {these}, {fresh} "
        "on fresh ones."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: of every number of tasks and seed the squares of all features of
    all prompts, their inverse, and the fit of all tasks to a prompt."""
    squares = 2 * config.prompts * config.d**4
    inverse = 30 * config.d**6
    memory = 4 * PROMPTS * MOST / 4 * config.n * config.d
    return config.seeds * len(config.counts) * (squares + inverse + memory + 2e7) / 1e9


EXPERIMENT = Experiment(
    name="diversity",
    title="How many tasks until it learns to learn?",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("errors", draw.errors, seeds=MEAN_OF_SEEDS),
        Drawing("matrix", draw.matrix, ("seed_shown",), wide=True),
        Drawing("singular values", draw.singular_values, seeds=MEAN_OF_SEEDS),
        Drawing("span", draw.span, seeds=MEAN_OF_SEEDS),
        Drawing("memory", draw.memory, (), "By heart", moving=False, seeds=MEAN_OF_SEEDS),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
