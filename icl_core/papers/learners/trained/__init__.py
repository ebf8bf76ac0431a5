"""Twelve models of two papers learn the same thing from the same prompts: linear transformers that
take steps, with a memory and without; the GD-SSM; S5, Mamba, Griffin and the gated delta network;
transformers with a softmax and without. All are measured by one ruler, on one distribution.

Play the training, and watch each model's implied weights, the derivative of its answer by the
query, move from zero to what it makes of a prompt. Then ask what it has become: which method
answers as it does, and is it linear in the query at all? Each paper declares its models; a model
added there is here too.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.papers.learners.trained import claims
from icl_core.papers.learners.trained.draw import constructed, drawers, own_pairs, stage
from icl_core.papers.learners.trained.load_run import learners_of, share_of
from icl_core.papers.learners.trained.metrics import measure
from icl_core.papers.learners.trained.settings import PRESETS, Config, View
from icl_core.papers.learners.trained.story import STORY
from icl_core.papers.learners.trained.train import compute

CERTIFICATES = "Certificates"
OWN = "Your own pairs"
LIKE = "What it acts like"
BESIDE = "Trained beside constructed"
A_STEP = 0.3  # giga-operations that the many small calls of a step of all models amount to
WIDTH = 400  # operations a token, prompt and feature squared


def headline(run: Run, view: View) -> str:
    """Return what you see: who leaves least at the step shown."""
    shares = run["snapshot/share"][run.snapshot_at(view)]
    best = int(shares.argmin())
    name = learners_of(run)[best].short
    least = number_text(float(shares[best]), 3)
    bayes = number_text(share_of(run, "Bayes"), 3)
    return (
        f"After {run.step(view):,} steps {name} leaves least, {least} of the error of predicting "
        f"zero; Bayes leaves {bayes}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: of every learner and step the tokens of a batch, forward and
    back, and the calls that they take."""
    tokens = config.batch * (2 * config.n + 1)
    width = 2 * config.d + config.n + 1
    a_step = tokens * width**2 * WIDTH / 1e9
    return config.steps * (A_STEP + a_step)


EXPERIMENT = Experiment(
    name="trained",
    title="Twelve trained learners",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("errors", stage.errors, wide=True),
        Drawing("plane", stage.weights, ("prompt",)),
        Drawing("bend", stage.bend, wide=True),
        Drawing("constructed", constructed.errors, (), BESIDE, moving=False),
        Drawing("constructions", constructed.table, (), BESIDE, moving=False, wide=True),
        Drawing("acts like", drawers.acts_like, (), LIKE, wide=True),
        Drawing("certificate", drawers.certificate, (), CERTIFICATES, moving=False, wide=True),
        Drawing("own pairs", own_pairs.pairs, ("prompt", "points"), OWN, moving=False),
        Drawing("own plane", own_pairs.weights, ("prompt", "points"), OWN, moving=False),
        Drawing(
            "own answers",
            own_pairs.answers,
            ("prompt", "points", "query"),
            OWN,
            moving=False,
            wide=True,
        ),
        Drawing("training", drawers.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
