"""Measures the claims on update rules."""

import torch

from icl_core.contract.experiment import Metric, Run
from icl_core.in_context_regression import rules
from icl_core.papers.gdssm.states import expected
from icl_core.papers.gdssm.states.claims import (
    BATCH,
    BETTER,
    CLOSED,
    FORGETS,
    GATE,
    GATES_WIN,
    REACHED,
    SCALED,
    WINDOWS,
)
from icl_core.papers.gdssm.states.load_run import (
    farthest,
    place,
    trained_over_one_step,
    tuned_of,
    written_at,
)

PROMPTS = 2**15  # on which a closed form is tried, at most
MOST = 2**21  # numbers of x in them, at most
ONE_MATRIX = tuple(id for id, rule in rules.RULES.items() if len(rule.matrices) == 1)


def measure(run: Run) -> list[Metric]:
    """Measure the claims: of the rules as written, exact or over prompts; of the trained ones, the
    worst seed, or a mean over seeds."""
    trained = trained_over_one_step(run)
    config = run.config
    ratio = run["evaluated/trained"] / run["evaluated/constructed"][:, None] - 1
    single = [place(run, id) for id in ONE_MATRIX]
    share = run["drift/share"][:, run["drift/at"].tolist().index(config.drift)]
    metrics = [
        Metric(BATCH, float(run["imitation/fixed"].min())),
        Metric(SCALED, float(run["imitation/scaled"][-1])),
        Metric(REACHED, float(ratio[single].max())),
        Metric(WINDOWS, max(float(farthest(run, id).max()) for id in run.names("rules"))),
        Metric(GATE, abs(tuned_of(run, "gated")["decay"] - expected.kept(config.drift))),
        Metric(GATES_WIN, float(share[place(run, "gated")] / share[place(run, "unit")])),
        Metric.over_seeds(BETTER, trained[place(run, "delta")]),
    ]
    if config.drift == 0:
        metrics.append(Metric(CLOSED, closed_form_error(config.f, config.N)))
    last = len(run["snapshot/step"]) - 1
    decay = written_at(run, "decayed", last)["decay"]
    return [*metrics, Metric.over_seeds(FORGETS, decay - tuned_of(run, "decayed")["decay"])]


def closed_form_error(f: int, N: int) -> float:
    """Return |loss / (1 − 1 / (f − 1 + κ))ᴺ − 1| of the delta rule, run over prompts."""
    count = min(PROMPTS, MOST // (N * f))
    generator = torch.Generator().manual_seed(2**31 + 43)
    x = 2 * torch.rand(N, f, count, generator=generator, dtype=torch.float64) - 1
    settings = expected.tuned(rules.DELTA, f, N)
    v = rules.coefficients(rules.DELTA, x, settings)
    m, xi = expected.moments(*expected.pairwise(v, x), f, 0.0)
    wanted = (1 - 1 / (f - 1 + expected.KAPPA)) ** N
    return abs((1 - 2 * xi + m) / wanted - 1)
