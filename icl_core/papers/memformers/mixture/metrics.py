"""Measures the claims on a finished run of heads on a Gaussian mixture."""

from dataclasses import replace

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.figures import number_text
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.mixture.settings import mixture_of


def measure(run: Run) -> list[Metric]:
    """Return how both kinds of head compare with gates and with Γ learned too, on the same fresh
    prompts; and what gates pick."""
    linear = _last(run, "linear/gated")  # [seeds]
    gated = _last(run, "lfom/gated")
    if run.config.prompts == "tokens":
        heads = _last(run, "lfom/head_scalar") - _last(run, "linear/head_scalar")  # [seeds, H]
        return [
            Metric.over_seeds(claims.TOKENS_ALIKE, gated - linear),
            Metric(claims.SAME_HEADS, float(np.abs(heads.mean(0)).max())),
        ]
    kinds = run.names("kinds")
    one_hot = max(float(np.abs(_above(run, "one_hot", kind)).max()) for kind in kinds)
    metrics = [
        Metric.over_seeds(claims.LINEAR_WINS, gated - linear),
        Metric.over_seeds(claims.OVERCOME, _last(run, "lfom/adapted") - linear),
        _overfits(run),
        _turns(run, gated - linear),
        Metric(claims.ONE_HOT, one_hot),
        _picks(run),
    ]
    if claims.AS_PRINTED.is_at(run.config):
        metrics.append(_off_printed(run))
    return metrics


def _off_printed(run: Run) -> Metric:
    """Return how far the printed points are from the mean over seeds on the prompts met, in
    standard deviations over seeds: at the worst."""
    worst = []
    for method, printed in claims.PRINTED.items():
        logs = np.log(run[f"own/{method}"])  # [seeds, K]
        if len(logs) > 2:
            gap = np.abs(logs.mean(0) - printed) / np.hypot(logs.std(0, ddof=1), 0.01)
            worst.append(float(gap.max()))
    return Metric(claims.AS_PRINTED, max(worst, default=None))


def _overfits(run: Run) -> Metric:
    """Return how far heads with Γ are above those without, each on its own component, where they
    are farthest."""
    above = by_component(run)  # [seeds, M]
    ratios = np.exp(above.mean(0))
    names = mixture_of(run.config).names
    phrases = [
        f"{number_text(ratio, 1)} times on {name}"
        for name, ratio in zip(names, ratios.tolist(), strict=True)
    ]
    reason = (
        "With Γ the error on the own component, as a multiple of that without: "
        f"{', '.join(phrases)}."
    )
    metric = Metric.over_seeds(claims.OVERFITS, above[:, above.mean(0).argmax()])
    return replace(metric, reason=reason) if metric.claim.slack(above.mean(0).max()) < 0 else metric


def by_component(run: Run) -> np.ndarray:
    """Return how far heads with memory are above those without, each alone on its own component, in
    log-loss on fresh prompts: [seeds, M]."""
    return np.log(run["head/lfom"][:, -1]) - np.log(run["head/linear"][:, -1])


def _turns(run: Run, apart: np.ndarray) -> Metric:
    """Return how far the Memformer is above the linear transformer, `apart` [seeds], with what it
    is seed by seed and one layer less."""
    seeds = ", ".join(number_text(each, 2) for each in apart.tolist())
    reason = f"Seed by seed it is {seeds}"
    if run.config.layers > 1:
        fewer = np.log(run["evaluated/lfom/gated"]) - np.log(run["evaluated/linear/gated"])
        mean = number_text(float(fewer[:, -2].mean()), 2)
        reason += f"; with one layer less, {mean} in the mean"
    metric = Metric.over_seeds(claims.TURNS, apart)
    return replace(metric, reason=f"{reason}.") if claims.TURNS.is_at(run.config) else metric


def _picks(run: Run) -> Metric:
    """Return gates learned for one component against its head, of the kind and component where they
    are worst; and why they are worse: what each head does of a whole step there."""
    kinds = run.names("kinds")
    above = {kind: _above(run, "picked", kind) for kind in kinds}  # [seeds, M]
    kind = max(kinds, key=lambda each: above[each].mean(0).max())
    component = int(above[kind].mean(0).argmax())
    metric = Metric.over_seeds(claims.PICKS, above[kind][:, component])
    if metric.value is None or claims.PICKS.slack(metric.value) >= 0:
        return metric
    names = mixture_of(run.config).names
    shares = picked_shares(run, kind)[:, component].mean(0)  # [H]
    most = int(np.abs(shares).argmax())
    reason = (
        f"For {names[component]} the head of {names[most]} takes {number_text(shares[most], 2)} of "
        f"a whole step and the head at home {number_text(shares[component], 2)}. In one dimension "
        "a head is another one at another scale, and Adam moves all gates alike, so that the head "
        "whose unit gate is the longest step gets there first."
    )
    return replace(metric, reason=reason)


def picked_shares(run: Run, kind: str) -> np.ndarray:
    """Return g_h E_m x² / E_h x² of the gates learned for each component m alone, [seeds, M, H]:
    the share of a whole step that each head takes there."""
    second = np.array([each.second for each in mixture_of(run.config).components])
    return run[f"pick/{kind}"] * second[:, None] / second


def _above(run: Run, what: str, kind: str) -> np.ndarray:
    """Return how far something of the deepest heads is above the head at home, in log-loss:
    [seeds, M]."""
    losses = run[f"{what}/{kind}"]
    deepest = losses if what == "picked" else losses[:, -1]
    return np.log(deepest) - np.log(run[f"head/{kind}"][:, -1])


def _last(run: Run, method: str) -> np.ndarray:
    """Return the log-loss of the deepest models."""
    return np.log(run[f"evaluated/{method}"][:, -1])
