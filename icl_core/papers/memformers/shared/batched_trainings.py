"""Several trainings as one program: runs of a sweep that differ in Σ, learning rate, initial values
or seed alone, and the trainings of one run, of any depth and of several models.

Every model in which all tokens agree on one w is a table of matrices on past gradients
(`variants.table`). The tables of all rows go through the iteration in R^d at once, that of a model
of fewer layers with zeros for the layers it lacks, which leave its error as it is.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged
from icl_core.contract.knobs import knobs_of
from icl_core.papers.memformers.shared import first_order, variants
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.train import (
    Batches,
    Begun,
    begin,
    end,
    evaluations,
    limited,
    name_diverged,
)
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import batched, loop, phases, several_seeds
from icl_core.training.phases import Phase, Together, Wanted

# settings in which the runs of one program may differ: each is a number or a matrix a row
FREE = ("spectrum", "condition", "decay", "own", "sigma2", "initial", "learning_rate", "seed")
# settings that make a model: the trainings of one run may differ in these, too
MODEL = ("variant", "heads", "preconditioner", "coordinates", "layers", "beside")
MOST = 20  # runs at once: beyond it a run costs hardly less


def alike(config: Any) -> Hashable:
    """Return what the runs of one program have in common."""
    return _values(config, FREE)


def most(config: Any) -> int:
    """Return how many runs go together: while all their prompts stay in a core's cache, and come in
    one chunk, as a run's own."""
    rows = first_order.CHUNK // (config.d**2 * config.batch)
    return max(1, min(MOST, rows // config.seeds)) if VARIANTS[config.variant].has_one_w else 1


def _values(config: Any, without: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Return the settings by name, but for those in `without`."""
    return tuple(
        (name, getattr(config, name)) for name in knobs_of(type(config)) if name not in without
    )


def train(
    name: str, configs: Sequence[Any], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """Train those runs of one model `name` that are `wanted`, by index. Yield the index of each as
    it ends, with its results or with the exception that ended it."""
    return _train(dict.fromkeys(wanted, name), dict(enumerate(configs)), wanted)


def at_once(plan: Sequence[Phase], configs: Mapping[str, Any]) -> list[Phase]:
    """Return the plan of a run with those phases marked that are trained as one program: of equal
    steps and prompts, as many at once as `most` allows. `configs` are those of the phases, by name;
    a phase without one is trained alone."""
    groups: dict[Hashable, list[str]] = {}
    for phase in plan:
        config = configs.get(phase.name)
        if config is not None and most(config) > 1:
            shared = _values(config, (*FREE, *MODEL))
            groups.setdefault(shared, []).append(phase.name)
    programs: dict[str, Together] = {}
    for names in groups.values():
        count = most(configs[names[0]])
        for start in range(0, len(names), count):
            together = Together(partial(_train_phases, configs))
            programs |= dict.fromkeys(names[start : start + count], together)
    return [replace(phase, together=programs.get(phase.name)) for phase in plan]


def _train_phases(
    configs: Mapping[str, Any], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """Train those phases of a run that are `wanted`, with the configs by name."""
    names = {index: one.phase.name for index, one in wanted.items()}
    models = {index: name.rpartition(" ")[0] for index, name in names.items()}
    return _train(models, {index: configs[name] for index, name in names.items()}, wanted)


def _train(
    models: Mapping[int, str], configs: Mapping[int, Any], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """Train what is `wanted`, given the name of the model and the config of each, by index."""
    # Deeper models first: then those of one kind and depth are neighbours.
    indices = sorted(wanted, key=lambda index: -configs[index].layers)
    begun = [_begin(configs[index], wanted[index]) for index in indices]
    members = [
        batched.Member(one.problem, wanted[index].resumed, wanted[index].report, _kind(one))
        for index, one in zip(indices, begun, strict=True)
    ]
    config = configs[indices[0]]

    def join(kinds: Sequence[batched.Kind]) -> batched.Whole:
        return _joined([_rows(begun, kind) for kind in kinds])

    ended: dict[int, loop.State] = {}
    for index, outcome in batched.train(members, join, config.steps, evaluations(config)):
        if isinstance(outcome, loop.State):
            ended[index] = outcome
        elif isinstance(outcome, Diverged):
            why = name_diverged(outcome, models[indices[index]], begun[index].config)
            yield indices[index], why
        else:
            yield indices[index], outcome
    for index, state in ended.items():
        yield indices[index], end(begun[index], state)


def _begin(config: Any, wanted: Wanted) -> Begun:
    """Begin a training, from what an earlier phase has trained if there is one."""
    return begin(config, phases.final(wanted.given[0]) if wanted.given else {})


def _kind(begun: Begun) -> Hashable:
    """Return what trainings have in common whose tables are computed at once. Models of one layer
    are apart: a sum over a whole tensor is made in another order than one over a part of it."""
    config = begun.config
    is_single = config.layers == 1
    return config.variant, config.heads, config.preconditioner, config.coordinates, is_single


@dataclass(frozen=True, eq=False)
class _Rows:
    """The trainings of one kind.

    begun       in the order of their rows
    parameters  of all rows, [rows, …] by name, as large as those of the deepest
    config      of the deepest, for as many seeds as each has
    root        Σ^½ of every row, [rows, d, d]
    own_layers  [rows, layers d, 1], 1 for a layer that a row's model has and 0 for others; None if
                all have the same layers
    """

    begun: list[Begun]
    parameters: Parameters
    config: Any
    root: Tensor
    own_layers: Tensor | None

    def table(self, leaves: Parameters) -> Tensor:
        """Return the table of all rows, [rows, layers d, layers d]."""
        table = variants.table_of_runs(leaves, self.config, self.root)
        return table if self.own_layers is None else table * self.own_layers


def _rows(begun: Sequence[Begun], kind: batched.Kind) -> _Rows:
    """Return the rows of a kind, whose members are those of `begun` at its indices."""
    members = [begun[index] for index in kind.indices]
    config = max((member.config for member in members), key=lambda config: config.layers)
    root = torch.cat([member.root for member in members])  # (rows, d, d)
    own_layers = None
    if any(member.config.layers < config.layers for member in members):
        own_layers = root.new_zeros(len(root), config.layers * config.d, 1)
        start = 0
        for member in members:
            stop = start + member.config.seeds
            own_layers[start:stop, : member.config.layers * config.d] = 1
            start = stop
    return _Rows(members, kind.parameters, config, root, own_layers)


def _joined(kinds: Sequence[_Rows]) -> batched.Whole:
    """Return the problem of all rows, on the prompts of their own seeds."""
    begun = list(chain.from_iterable(kind.begun for kind in kinds))
    config = begun[0].config
    layers = max(kind.config.layers for kind in kinds)
    seeds = [member.config.seed for member in begun]
    leaders = [seeds.index(seed) for seed in seeds]  # the prompts depend on the seed alone

    def gradient(step: int) -> tuple[list[Parameters], loop.Measures]:
        batch = _batch({leader: begun[leader].batches for leader in leaders}, leaders, step)
        leaves = [several_seeds.leaves(kind.parameters) for kind in kinds]
        tables = [kind.table(own) for kind, own in zip(kinds, leaves, strict=True)]
        with torch.inference_mode():  # hundreds of views, of which autograd need not keep count
            whole = torch.cat([_padded(table.detach(), layers * config.d) for table in tables])
            loss, slopes = first_order.loss_and_slopes(whole, batch)
            slopes = slopes / loss[:, None, None] if config.objective == "log" else slopes
        slopes = slopes.clone()  # a tensor of autograd
        gradients: list[Parameters] = []
        start = 0
        for kind, own, table in zip(kinds, leaves, tables, strict=True):
            rows, size = table.shape[:2]
            of_table = slopes[start : start + rows, :size, :size]
            gradients.append(_limited(kind, several_seeds.gradients(table, own, of_table)))
            start += rows
        return gradients, {"loss": loss.cpu().numpy()}

    def evaluate(step: int) -> list[loop.Measures]:
        # of that many prompts a row alone fills a core
        return [member.problem.evaluate(step) for member in begun]

    return batched.Whole(gradient, evaluate, leaders)


def _padded(table: Tensor, size: int) -> Tensor:
    """Return a table [rows, own size, own size] as [rows, size, size], with zeros."""
    missing = size - table.shape[1]
    return torch.nn.functional.pad(table, (0, missing, 0, missing)) if missing else table


def _limited(kind: _Rows, gradient: Parameters) -> Parameters:
    """Return the gradient [rows, …] of a kind, clipped as each training's own is."""
    if not kind.config.clip:
        return gradient
    clipped = {name: torch.zeros_like(tensor) for name, tensor in gradient.items()}
    start = 0
    for _, neighbours in groupby(kind.begun, key=lambda member: member.config.layers):
        members = list(neighbours)
        stop = start + sum(member.config.seeds for member in members)
        parameters = members[0].parameters
        # of the rows the part that the parameters of this depth have
        corners = {name: (slice(start, stop), *_extent(parameters[name])) for name in gradient}
        part = {name: tensor[corners[name]] for name, tensor in gradient.items()}
        for name, tensor in limited(part, members[0].config).items():
            clipped[name][corners[name]] = tensor
        start = stop
    return clipped


def _extent(parameter: Tensor) -> tuple[slice, ...]:
    """Return the slices of all axes of a parameter but the seeds."""
    return tuple(slice(length) for length in parameter.shape[1:])


def _batch(of: Mapping[int, Batches], leaders: Sequence[int], step: int) -> Batch:
    """Return the prompts of all rows; once, where they are the same for all."""
    drawn = {leader: batches.at(step) for leader, batches in of.items()}
    first = drawn[leaders[0]]
    if len(drawn) == 1 and len(first.S) == 1:
        return first
    rows = [drawn[leader] for leader in leaders]
    queries = [batch.query for batch in rows if batch.query is not None]
    noises = [batch.noise for batch in rows if batch.noise is not None]
    return Batch(
        torch.cat([batch.S for batch in rows]),
        torch.cat([batch.target for batch in rows]),
        None,
        torch.cat(queries) if queries else None,
        torch.cat(noises) if noises else None,
    )
