"""Train a transformer at every sequence length with both optimisers, and record when its induction
head has formed; with one occurrence of what is asked, the model of Theorem 3's proof on sequences
that ask for one answer, at their end."""

from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.birth.length.settings import (
    OPTIMISERS,
    Config,
    lengths_of,
    occurrences,
    training,
)
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared import settings as simplified_settings
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.full import head_scores, train
from icl_core.papers.birth.shared.full import probes as full_probes
from icl_core.papers.birth.shared.full import settings as full_settings
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import initialise
from icl_core.papers.birth.shared.proof_model import (
    MATRICES,
    Drawn,
    as_batch,
    forward,
    sample,
    sample_repeated,
    tables,
)
from icl_core.papers.birth.shared.task import Batch, make_task
from icl_core.papers.birth.shared.train import begun, held_out, problem, task_of
from icl_core.training import loop, phases
from icl_core.training.run_grid import RunGrid

HELD_OUT = 1024  # sequences at each evaluation


def draw_sequences(config: Config, T: int, batch: int, generator: torch.Generator) -> Drawn:
    """Return `batch` fresh sequences of T tokens: those of Theorem 3 where one trigger has come
    once."""
    times = occurrences(config, T)
    if times == config.K == 1:
        return sample(config.N, T, batch, generator)
    return sample_repeated(config.N, T, config.K, times, batch, generator)


def single_query_problem(config: Config, optimiser: str, T: int, seed: int) -> loop.Problem:
    """Return the training of W_O2, W_K2 and W_K1 together, from N(0, 1/d) vectors and matrices.

    It is that of an optimiser of `OPTIMISERS` at length T, the `seed`-th. Its evaluations measure
    the accuracy on held-out sequences, and the recall of W_K2 and of W_K1's early positions.
    """
    number = (config.seed + seed) % 100
    of_weights = torch.Generator().manual_seed(number)
    weights = initialise(config.N, config.d, T, of_weights, "paper").to(device.current_device())
    generator = torch.Generator().manual_seed(10_000 + number)
    held_out = draw_sequences(config, T, HELD_OUT, torch.Generator().manual_seed(2**31 + 17))
    task = make_task(N=config.N, K=1, T=T)

    def step(index: int) -> tuple[dict[str, torch.Tensor], loop.Measures]:
        sequences = draw_sequences(config, T, config.batch, generator)
        matrices = {name: getattr(weights, name).detach().requires_grad_() for name in MATRICES}
        logits, _ = forward(tables(weights.with_(**matrices)), sequences.tokens)  # (batch, N)
        loss = F.cross_entropy(logits, sequences.answers)
        gradients = torch.autograd.grad(loss, list(matrices.values()))
        by_name = dict(zip(matrices, gradients, strict=True))
        return by_name, {"in_context_loss": float(loss.detach())}

    @torch.no_grad()
    def watch(index: int) -> dict[str, float]:
        logits, _ = forward(tables(weights), held_out.tokens)  # (HELD_OUT, N)
        recalls = probes.recalls(weights, task)
        return {
            "accuracy": float(hits(logits, held_out.answers).double().mean()),
            "W_K2": recalls["W_K2"],
            "W_K1": recalls["W_K1_early"],
        }

    parameters = {name: getattr(weights, name) for name in MATRICES}
    make_optimiser = partial(_optimiser, config, optimiser)
    return loop.Problem(parameters, step, watch, make_optimiser, (generator,))


def _optimiser(config: Config, name: str, parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    """Return SGD with momentum, or AdamW without decay, at the rate of the settings."""
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=config.proof_sgd_rate, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=config.proof_adamw_rate, weight_decay=0.0)


# steps between evaluations at first, and how many of these
EVERY = 4
DENSE = 100
WATCHED = 128  # held-out sequences at each evaluation
# by id: accuracy in context, and the recalls of the matrices
MEASURES = ("accuracy", "W_K2", "W_K1")


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train at every length, with both optimisers and every seed. Return:

    curve/<measure>_<optimiser>  [seeds, lengths, evaluations] beside `curve/step` [evaluations]
    task/lengths                 [lengths]
    task/even                    [lengths], `even_share` of held-out sequences
    names/measures, names/optimisers

    Raises `Diverged` and `Cancelled`.
    """
    plan = _grid(config).phases(
        config.steps,
        partial(_train, config),
        label=lambda seed, T, optimiser: f"{OPTIMISERS[optimiser]}, T = {T}, seed {seed + 1}",
    )
    results = phases.run(plan, progress, partial(_curves, config), "in_context_loss")
    even = [even_share(_sequences(config, T)) for T in lengths_of(config)]
    return {**_curves(config, results), "task/even": np.array(even)}


def _sequences(config: Config, T: int) -> Batch:
    """Return WATCHED held-out sequences of T tokens, on the CPU."""
    if config.in_the_papers_task:
        return held_out(task_of(training(config, "sgd", T, 0)), WATCHED, "cpu")
    generator = torch.Generator().manual_seed(2**31 + 17)
    return as_batch(draw_sequences(config, T, WATCHED, generator))


def _grid(config: Config) -> RunGrid:
    """Return the trainings: both optimisers at every length with the first seed, then the next."""
    return RunGrid(
        lambda seed, T, optimiser: f"{optimiser} {T} {seed}",
        {"seed": range(config.seeds), "T": lengths_of(config), "optimiser": list(OPTIMISERS)},
    )


def _train(
    whole: Config, resumed: Tensors, report: phases.Report, *, seed: int, T: int, optimiser: str
) -> dict[str, np.ndarray]:
    """Train at one point of the grid and return the curves."""
    trained = _problem(whole, optimiser, T, seed)
    evaluations = loop.evaluations(whole.steps, EVERY, DENSE)
    return loop.train(trained, whole.steps, evaluations, resumed, report, keep=False).curves()


def _problem(whole: Config, optimiser: str, T: int, seed: int) -> loop.Problem:
    """Return one training, of the model that the settings ask for: that of Theorem 3's proof, the
    full transformer or the simplified one."""
    if not whole.in_the_papers_task:
        return single_query_problem(whole, optimiser, T, seed)
    config = training(whole, optimiser, T, seed)
    if isinstance(config, full_settings.Config):
        return _full(config)
    return _simplified(config)


def _simplified(config: simplified_settings.Config) -> loop.Problem:
    """Return the training of the simplified transformer, evaluated by MEASURES."""
    weights, generator = begun(config)
    task = task_of(config)
    batch = held_out(task, WATCHED)

    def watch(step: int) -> dict[str, float]:
        accuracy = evaluate(weights, batch, positions="in_context")["accuracy"]
        return _measures(accuracy, probes.recalls(weights, task))

    return problem(config, weights, generator, watch)


def _full(config: full_settings.Config) -> loop.Problem:
    """Return the training of the full transformer, evaluated by MEASURES."""
    weights, generator = train.begun(config)
    task = task_of(config)
    batch = held_out(task, WATCHED)

    def watch(step: int) -> dict[str, float]:
        accuracy = head_scores.evaluate(weights, batch, config.heads)["accuracy"]
        return _measures(accuracy, full_probes.recalls(weights, task, config.heads))

    return train.problem(config, weights, generator, watch)


def _measures(accuracy: float, recalls: dict[str, float]) -> dict[str, float]:
    """Return MEASURES; W_K1's recall is that of the early positions."""
    return {"accuracy": accuracy, "W_K2": recalls["W_K2"], "W_K1": recalls["W_K1_early"]}


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return all curves so far, [seeds, lengths, evaluations]; evaluations not reached are NaN."""
    grid = _grid(config)
    evaluations = loop.evaluations(config.steps, EVERY, DENSE)
    curves: dict[str, np.ndarray] = {}
    for measure in MEASURES:
        for optimiser in OPTIMISERS:
            curves[f"curve/{measure}_{optimiser}"] = grid.curve(
                results, f"curve/{measure}", len(evaluations), optimiser=optimiser
            )
    return {
        **curves,
        "task/lengths": np.array(lengths_of(config)),
        "curve/step": np.array(evaluations),
        "names/measures": names(MEASURES),
        "names/optimisers": names(OPTIMISERS),
    }


def even_share(batch: Batch) -> float:
    """Return the share of attention that falls on what followed the trigger before, where attention
    is spread evenly over all positions so far: the mean over in-context positions."""
    inputs = batch.inputs  # (batch, T)
    # the token before each key; no token has the number -1
    before = torch.nn.functional.pad(inputs[:, :-1], (1, 0), value=-1)  # (batch, T)
    follows = (inputs[:, :, None] == before[:, None, :]).tril()  # (batch, T, T): queries, keys
    keys = torch.arange(1, inputs.shape[1] + 1)  # (T,)
    shares = follows.sum(-1) / keys  # (batch, T)
    return float(shares[batch.in_context].mean())
