"""Every prompt has a noise of its own, and nobody says how much. The best method would take long
steps where there is none and short ones where there is much. Does a model find that by remembering
past gradients, as the Memformer does, or by letting attention work on all of a token, labels and
covariates alike?

A Memformer of this form cannot adapt to the noise of a prompt, however it is trained; whether
memory helps a model that has products of labels is not tested here.

Play the noise from none to more than the labels themselves. Watch what each model leaves, what its
layers amount to as steps along gradients, and what it keeps of weak directions beside ridge that
knows the noise.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.papers.learners.memory import claims, draw
from icl_core.papers.learners.memory.metrics import measure, share
from icl_core.papers.learners.memory.models import MEMFORMER
from icl_core.papers.learners.memory.settings import BATCH, LEVELS, PRESETS, TESTED_ON, Config, View
from icl_core.papers.learners.memory.story import STORY
from icl_core.papers.learners.memory.train import NAMES, compute

CALLS = 0.1  # giga-operations that the many small calls of a step amount to
BAYES = 2.8e6  # operations of Bayes on a prompt


def headline(run: Run, view: View) -> str:
    """Return what you see: what both kinds of model leave at the noise shown."""
    level = run.snapshot_at(view)
    attention, memformer, ridge = (
        number_text(share(run, id, level), 3) for id in ("all", MEMFORMER, "knowing")
    )
    return (
        f"At a noise of {run.step(view)}% attention leaves {attention} of the error of predicting "
        f"zero, the Memformer {memformer}, ridge that knows the noise {ridge}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations, as many as the time amounts to that was measured: of every step
    the products of all models' matrices, forward and back, and the calls that they take; at the
    end the same on the test prompts, and Bayes."""
    a_prompt = len(NAMES) * config.seeds * config.layers * (config.d + 1) ** 3
    trained = config.steps * (450 * BATCH * a_prompt / 1e9 + CALLS)
    tested = (LEVELS + 4) * TESTED_ON * (236 * a_prompt + BAYES) / 1e9
    return trained + tested


EXPERIMENT = Experiment(
    name="memory",
    title="Does it need its memory?",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("errors", draw.errors, wide=True, seeds=MEAN_OF_SEEDS),
        Drawing("kept", draw.kept, seeds=MEAN_OF_SEEDS),
        Drawing("triangles", draw.triangles, wide=True, seeds=MEAN_OF_SEEDS),
        Drawing("products", draw.products, seeds=MEAN_OF_SEEDS),
        Drawing(
            "coefficients", draw.coefficients, (), "Coefficients", moving=False, wide=True,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)  # fmt: skip
