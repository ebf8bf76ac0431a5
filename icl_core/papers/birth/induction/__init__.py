"""A two-layer transformer learns, by training, to look back: when a trigger comes again, it finds the trigger's
earlier occurrence and predicts the character that followed it there. That mechanism is an induction head. It is
spread over three matrices, each an associative memory, and you can watch each of them form.

Play the training, from random weights to the finished mechanism. In "Trained beside constructed" every trained matrix
stands beside the one the paper constructs; in "Graft", put that in and see what the model makes of it.

Try:
- "The order in which memories form": which of the three matrices passes one half first?
- "W_O² frozen to step 300": does anything else learn while the output memory cannot?
- Type a sequence of your own, such as "to be or not to be", and play: when does it know what comes?
"""

from dataclasses import replace

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.birth.induction import claims
from icl_core.papers.birth.induction.draw import attention, compared, curves, grafts, looks, matrices, stage
from icl_core.papers.birth.induction.metrics import accuracy_at, metrics, milestones
from icl_core.papers.birth.induction.settings import PRESETS, Config, View
from icl_core.papers.birth.induction.train import one_layer, opposite, run
from icl_core.papers.birth.shared.diagram import diagram
from icl_core.papers.birth.shared.train import EVALUATED, EVALUATIONS, WATCHED
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """What you see: the model's accuracy at the step shown, beside what it could be."""
    step = run.snapshot_steps[run.snapshot_at(view)]
    accuracy = accuracy_at(run, step)
    repeat, best = (float(run[f"baseline/{name}"][0]) for name in ("repeat", "best_in_context"))
    start = (
        f"After {step} step{'s' * (step != 1)} the model gets {accuracy:.0%} of the context-dependent characters right"
    )
    if accuracy < repeat + 0.05:
        return f"{start}; repeating gets {repeat:.0%}."
    return f"{start} (perfect: 100%)." if run.config.positions == "in_context" else f"{start} (best: {best:.0%})."


def cost(config: Config) -> float:
    """Giga-operations of a run: its trainings, those of the opposite freezing, and one of a single layer."""
    each = _training(config) + (_training(other) if (other := opposite(config)) else 0)
    return (config.seeds * each + (_training(one_layer(config)) if config.layers == 2 else 0)) / 1e9


def _training(config: Config) -> float:
    """Operations of one training and of its evaluations on held-out sequences: forward alone, a third of a step."""
    whole, looks = _per_token(replace(config, positions="all")), len(evaluations(config.steps, *EVALUATIONS))
    looking = (looks * WATCHED * (1.5 if config.positions == "all" else 1) + EVALUATED) * whole / 3
    return config.T * (config.batch * config.steps * _per_token(config) + looking)


def _per_token(config: Config) -> float:
    """Operations for a token of a batch: queries with keys, tokens with matrices, outputs with W_U."""
    counted = 1.0 if config.positions == "all" else 0.3  # the share of positions where layer 2 and the loss are needed
    maps = config.T * config.d * ((4 if config.layers == 2 else 0) + 6 * counted)
    return maps + 16 * config.d**2 + 6 * config.N * config.d * counted


SEQUENCE = ("sequence", "marked")
GRAFT, OWN, BESIDE, CURVES = "Graft", "Your own sequence", "Trained beside constructed", "All curves"

EXPERIMENT = Experiment(
    name="induction",
    title="The induction head",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("first", stage.first, SEQUENCE, applies=lambda config: config.layers == 2),
        Drawing("second", stage.second, SEQUENCE),
        Drawing("accuracy", curves.accuracy, ("measure", "single_seeds"), live=True),
        Drawing("w_k1", stage.w_k1, applies=lambda config: config.layers == 2),
        Drawing("w_k2", stage.w_k2),
        Drawing("w_o2", stage.w_o2),
        Drawing("graft", grafts.draw, ("graft_W_K1", "graft_W_K2", "graft_W_O2", "graft_W_F", "strength"), GRAFT),
        Drawing("attention", attention.draw, (*SEQUENCE, "sample", "length"), OWN, wide=True),
        Drawing("looks", looks.looks, (), OWN),
        Drawing("errors", looks.errors, (), OWN, applies=lambda config: config.layers == 2),
        Drawing("matrix", matrices.draw, ("memory", "raw", "wrong"), BESIDE, wide=True),
        Drawing("spectrum", matrices.spectrum, (), BESIDE),
        Drawing("memories", curves.memories, ("orientation", "weighted"), CURVES, live=True),
        Drawing("losses", curves.losses, (), CURVES, live=True),
        Drawing("rows", compared.rows, (), CURVES, live=True, applies=lambda config: config.layers == 2),
        Drawing("opposite", compared.opposite, (), CURVES, applies=lambda config: opposite(config) is not None),
        Drawing("outputs", compared.outputs, (), CURVES, live=True, applies=lambda config: config.positions == "all"),
        Drawing("feed_forward", curves.feed_forward, (), CURVES, live=True, applies=lambda config: config.feed_forward),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: True,
    diagram=lambda config: diagram(config, "trained", ("matrix", {"memory": "W_F"}), "accuracy"),
)
