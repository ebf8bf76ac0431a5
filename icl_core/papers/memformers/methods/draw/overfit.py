"""Loss on the prompts that a model was trained on, beside fresh ones (Figures 5 and 6)."""

import numpy as np

from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw.losses import over_layers, tabled, window, written
from icl_core.papers.memformers.shared.load_run import end, log_of

WIDE = 0.3  # between both log-losses: the batch has been learned


def overfit_panel(run: Run, view: View) -> Panel:
    """Draw training and fresh loss by depth, for the trained model and for CGD."""
    x = run["depth/layers"]
    zero = float(np.log(run.config.d))
    logs = {name: log_of(run[key]) for name, key in _lines(run).items()}
    kinds = {
        name: "trained" if name.startswith("trained") else "conjugate gradient" for name in logs
    }
    dashes = {name: "solid" if "fresh" in name else "dot" for name in logs}
    series = [
        Curve(name, x, y, kinds[name], dashes[name], markers=True) for name, y in logs.items()
    ]
    fresh = [y for name, y in logs.items() if "fresh" in name]
    figure = over_layers(series, "log-loss", window([*fresh, [zero]], [*logs.values()]), zero)
    return Panel(
        _title(run), _caption(run), figure, data=tabled("layers", x, series), note=_note(run)
    )


def _lines(run: Run) -> dict[str, str]:
    batch = "prompts in training" if run.config.batches == "fresh" else "its own batch"
    own = {"trained, fresh prompts": "evaluated/loss", f"trained, {batch}": "evaluated/train"}
    classical = {"CGD, fresh prompts": "baseline/cg", "CGD, that batch": "baseline/cg_train"}
    return {name: key for name, key in (own | classical).items() if key in run.tensors}


def _title(run: Run) -> str:
    own = end(run, "evaluated/train")
    fresh = end(run, "evaluated/loss")
    where = "the training prompts" if run.config.batches == "fresh" else "its own batch"
    numbers = f"Log-loss {written(own)} on {where}, {written(fresh)} on fresh ones"
    if not np.isfinite(fresh - own):
        return numbers
    if fresh - own < WIDE and fresh >= np.log(run.config.d):
        return f"{numbers}: no better than predicting zero"
    if fresh - own < WIDE:
        return f"{numbers}: the model has learned the task"
    if run.config.batches == "fresh":
        return f"{numbers}: rare prompts, which the last steps did not have, rule the mean"
    worse = ", and is worse than predicting zero elsewhere" if fresh > np.log(run.config.d) else ""
    return f"{numbers}: the model has learned its prompts by heart{worse}"


def _caption(run: Run) -> str:
    text = (
        "Full lines are fresh prompts, dotted ones those of the training. Had the model learned "
        "the task, and not its prompts by heart, the two blue lines would be one. Predicting zero "
        "gives log d."
    )
    if run.config.batches == "fresh":
        return (
            "Full lines are the test set, the dotted line the prompts of the last training steps. "
            "No prompt comes twice, so that none can be learned by heart: where the blue lines "
            "part, the larger test set has rare prompts with very large errors. Predicting zero "
            "gives log d."
        )
    if "baseline/cg_train" not in run.tensors:
        return text
    ahead = end(run, "evaluated/train") < end(run, "baseline/cg_train")
    if ahead and end(run, "evaluated/loss") > end(run, "baseline/cg"):
        return (
            f"{text} On its batch the model is ahead of CGD; on fresh prompts CGD is ahead, which "
            "learns nothing."
        )
    return text


def _note(run: Run) -> str:
    if run.config.batches == "fresh":
        return (
            "Each training step has fresh prompts. The dotted line averages the last tenth of the "
            "training."
        )
    changing = run.config.batches == "resampled"
    kept = "the last of those that change every 100 steps" if changing else "kept throughout"
    prompts = f"{run.config.batch:,} prompt{'s' * (run.config.batch > 1)}"
    each = "each with" if run.config.batch > 1 else "with"
    return f"One batch of {prompts}, {kept}, {each} one w* and one query."
