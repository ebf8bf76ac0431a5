"""What a state may hold of a prompt: rules that update a matrix W with every pair of a key k and a
value v, so that W k comes near v. They are the states of linear attention and of its successors.

A state is a tuple of matrices, first W [..., o, d, prompts]; keys are [..., d, prompts] and values
[..., o, prompts], where leading axes, such as seeds, are optional. Settings are numbers, or tensors
of the leading axes. Every rule is linear in the values.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

State = tuple[Tensor, ...]
Settings = Mapping[str, float | Tensor]
Keys = Float[Tensor, "*rest d prompts"]
Values = Float[Tensor, "*rest o prompts"]
Matrices = Float[Tensor, "*rest o d prompts"]
# rows and columns of what a state may hold, by name: of o, d and the number of earlier pairs held
SHAPES: dict[str, Callable[[int, int, int], tuple[int, int]]] = {
    **dict.fromkeys(("W", "G", "momentum", "began"), lambda o, d, pairs: (o, d)),
    **dict.fromkeys(("H", "P"), lambda o, d, pairs: (d, d)),
    "keys": lambda o, d, pairs: (pairs, d),
    "values": lambda o, d, pairs: (pairs, o),
    "count": lambda o, d, pairs: (1, 1),
}
LEAST = 1e-9  # variance of the noise that the Kalman filter allows for, where kᵀ P k is 0


def _as_it_is(state: State, query: Tensor, settings: Settings) -> Tensor:
    """Return the query where the state's first matrix is W."""
    return query


@dataclass(frozen=True)
class Rule:
    """A rule by which a state changes with every pair.

    id        its name in files
    name      its name for people
    models    models whose state changes by it
    equation  one update, as text
    settings  the numbers that are tuned, by name, in the order of `tuning`
    tuning    how these numbers are set, in words
    update    of the state, a key, a value and the settings to the next state
    matrices  what the state holds, by name, each of the shape in `SHAPES`
    read      of the state, a query and the settings to the vector that the first matrix is
              multiplied with to give W times the query
    objective what an update makes smaller, as text
    """

    id: str
    name: str
    models: str
    equation: str
    settings: tuple[str, ...]
    tuning: str
    update: Callable[[State, Tensor, Tensor, Settings], State]
    matrices: tuple[str, ...] = ("W",)
    read: Callable[[State, Tensor, Settings], Tensor] = _as_it_is
    objective: str = ""

    def size(self, o: int, d: int, reach: int = 1) -> int:
        """Return how many numbers the state holds, of a rule that looks at the last `reach` pairs
        those before the newest among them."""
        shapes = [SHAPES[name](o, d, reach - 1) for name in self.matrices]
        return sum(rows * columns for rows, columns in shapes)

    def start(self, key: Keys, value: Values) -> State:
        """Return the state before the first pair, shaped for such keys and values: zeros, but the
        Kalman filter's P, which is I."""
        *_, d, prompts = key.shape
        lead = torch.broadcast_shapes(key.shape[:-2], value.shape[:-2])
        if "P" in self.matrices:
            first = key.new_zeros(*lead, value.shape[-2], d, prompts)
            one = torch.eye(d, dtype=key.dtype, device=key.device)[:, :, None]  # (d, d, 1)
            return first, one.expand(*lead, d, d, prompts)
        shapes = [SHAPES[name](value.shape[-2], d, 0) for name in self.matrices]
        return tuple(key.new_zeros(*lead, *shape, prompts) for shape in shapes)


def after(
    rule: Rule,
    keys: Float[Tensor, "pairs *rest d prompts"],
    values: Float[Tensor, "pairs *rest o prompts"],
    settings: Settings,
) -> State:
    """Return the state after all pairs."""
    state = rule.start(keys[0], values[0])
    for key, value in zip(keys, values, strict=True):
        state = rule.update(state, key, value, settings)
    return state


def predict(rule: Rule, state: State, query: Keys, settings: Settings) -> Values:
    """Return W times the query of every prompt."""
    return applied(state[0], rule.read(state, query, settings))


def matrix(rule: Rule, state: State, settings: Settings) -> Matrices:
    """Return W of every prompt: the state's first matrix, or G (H + λ I)⁻¹. Of a rule whose answer
    is not linear in the query the columns of W are its answers to the unit vectors."""
    if rule.read is _as_it_is:
        return state[0]
    if rule.read is not _solved:
        unit_vectors = torch.eye(state[1].shape[-2], dtype=state[1].dtype)[:, :, None]
        columns = [
            predict(rule, state, unit.expand(*state[1].shape[:-3], *unit.shape[:1], 1), settings)
            for unit in unit_vectors
        ]
        return torch.stack(columns, -2)
    G = state[0].movedim(-1, -3)  # (..., prompts, o, d)
    return (G @ torch.linalg.inv(regular(state, settings))).movedim(-3, -1)


def coefficients(
    rule: Rule, keys: Float[Tensor, "pairs d prompts"], settings: Settings
) -> Float[Tensor, "pairs d prompts"]:
    """Return the vectors v_t with W = ∑ y_t v_tᵀ after all pairs, whatever the values y_t.

    They exist because every rule is linear in the values: the rule is run once with the t-th unit
    vector as the t-th value, and the t-th row of W is then v_t.
    """
    pairs, _, prompts = keys.shape
    one = torch.eye(pairs, dtype=keys.dtype, device=keys.device)
    values = one[:, :, None].expand(pairs, pairs, prompts)
    return matrix(rule, after(rule, keys, values, settings), settings)


def in_batches(
    keys: Float[Tensor, "pairs *rest d prompts"],
    values: Float[Tensor, "pairs *rest o prompts"],
    batch: int,
    rate: float | Tensor,
) -> Matrices:
    """Return W after gradient descent over the pairs in batches of `batch`, each pair used
    once, the last batch with what is left (test-time training: Sun et al. 2024).

    Within a batch the gradient is taken at the state in which the batch began. With batches of one
    this is the delta rule, with one batch of all pairs a step of gradient descent.
    """
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    (W,) = RULES["delta"].start(keys[0], values[0])
    for first in range(0, len(keys), batch):
        began = W
        last = first + batch
        for key, value in zip(keys[first:last], values[first:last], strict=True):
            W = W + wide(rate, 3) * outer(value - applied(began, key), key)
    return W


def applied(W: Matrices, key: Keys) -> Values:
    """Return W k of every prompt."""
    return (W * key[..., None, :, :]).sum(-2)


def outer(value: Values, key: Keys) -> Matrices:
    """Return v kᵀ of every prompt."""
    return value[..., :, None, :] * key[..., None, :, :]


def wide(setting: float | Tensor, axes: int) -> float | Tensor:
    """Return a setting of the leading axes with `axes` more behind them."""
    return setting[(..., *[None] * axes)] if isinstance(setting, Tensor) else setting


def _one_rate(key: Tensor, settings: Settings) -> Tensor | float:
    return wide(settings["rate"], 2)


def unit_key(key: Tensor, settings: Settings) -> Tensor | float:
    """Return the rate over |k|²: the step of a key and a value that are both divided by |k|; 0 for
    a key of 0."""
    length = key.square().sum(-2, keepdim=True)
    # a key of 0 is as good as endless, also for the derivative by the rate
    return wide(settings["rate"], 2) / torch.where(length > 0, length, math.inf)


def _implicit(key: Tensor, settings: Settings) -> Tensor | float:
    """Return β / (1 + β |k|²), the step to the minimum of |W − W_before|² + β |v − W k|²."""
    rate = wide(settings["rate"], 2)
    return rate / (1 + rate * key.square().sum(-2, keepdim=True))


def _add(
    state: State,
    key: Tensor,
    value: Tensor,
    settings: Settings,
    step: Callable[[Tensor, Settings], Tensor | float],
    corrects: bool,
    forgets: bool = False,
) -> State:
    """Return the state after W ← a W + s (v − a W k) kᵀ where a rule `corrects`, and otherwise
    after W ← a W + s v kᵀ; a is 1 unless it `forgets`."""
    W = wide(settings["decay"], 3) * state[0] if forgets else state[0]
    error = value - applied(W, key) if corrects else value
    return (W + outer(step(key, settings) * error, key),)


def two_sums(state: State, key: Tensor, value: Tensor, settings: Settings) -> State:
    """Return the state after G ← γ G + y xᵀ and H ← γ H + x xᵀ."""
    decay = wide(settings.get("decay", 1.0), 3)
    G, H = state
    return decay * G + outer(value, key), decay * H + outer(key, key)


def _solved(state: State, query: Tensor, settings: Settings) -> Tensor:
    """Return (H + λ I)⁻¹ q of every prompt."""
    solution = torch.linalg.solve(regular(state, settings), query.movedim(-1, -2)[..., None])
    return solution[..., 0].movedim(-1, -2)  # (..., d, prompts)


def regular(state: State, settings: Settings) -> Float[Tensor, "*rest prompts d d"]:
    """Return H + λ I of every prompt."""
    H = state[1].movedim(-1, -3)
    one = torch.eye(H.shape[-1], dtype=H.dtype, device=H.device)
    return H + wide(settings["ridge"], 3) * one


def _kalman(state: State, key: Tensor, value: Tensor, settings: Settings) -> State:
    """Return the state after a pair without noise, and after the drift that follows it: W keeps the
    share c = √(1 − ρ²) of itself and is given ρ times fresh numbers, where ρ is a number or has one
    for every column, [d]."""
    W, P = state
    drift = torch.as_tensor(settings["drift"], dtype=key.dtype, device=key.device)
    c = (1 - drift.square()).sqrt().reshape(-1, 1)
    known = applied(P, key)
    gain = known / (LEAST + (known * key).sum(-2, keepdim=True))
    one = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)[:, :, None]
    W = c * (W + outer(value - applied(W, key), gain))
    return W, c[:, None] * c * (P - outer(gain, known)) + (1 - c[:, None].square()) * one


SUM = Rule(
    "sum",
    "sum",
    "GD-SSM, linear attention",
    "W ← W + b y xᵀ",
    ("rate",),
    "b in closed form",
    partial(_add, step=_one_rate, corrects=False),
    objective="−yᵀ W x, of the new pair",
)
DECAYED = Rule(
    "decayed",
    "decayed sum",
    "RetNet, Mamba-2, GLA",
    "W ← a W + b y xᵀ",
    ("decay", "rate"),
    "a by search, b in closed form at each a",
    partial(_add, step=_one_rate, corrects=False, forgets=True),
    objective="−yᵀ W x, of the new pair, after shrinking W",
)
DELTA = Rule(
    "delta",
    "delta rule, one rate",
    "TTT, pair by pair",
    "W ← W + b (y − W x) xᵀ",
    ("rate",),
    "b by search",
    partial(_add, step=_one_rate, corrects=True),
    objective="½ |y − W x|², of the new pair",
)
UNIT = Rule(
    "unit",
    "delta rule, unit keys",
    "DeltaNet",
    "W ← W + b (y − W x) xᵀ / |x|²",
    ("rate",),
    "b by search",
    partial(_add, step=unit_key, corrects=True),
    objective="½ |y − W x|² / |x|², of the new pair",
)
LONGHORN = Rule(
    "longhorn",
    "implicit step",
    "Longhorn",
    "W ← W + β / (1 + β |x|²) (y − W x) xᵀ",
    ("rate",),
    "β by search",
    partial(_add, step=_implicit, corrects=True),
    objective="|W − W_before|² + β |y − W x|², to its minimum",
)
GATED = Rule(
    "gated",
    "gated delta rule, unit keys",
    "Gated DeltaNet",
    "W ← a W + b (y − a W x) xᵀ / |x|²",
    ("decay", "rate"),
    "a and b by search",
    partial(_add, step=unit_key, corrects=True, forgets=True),
    objective="½ |y − W x|² / |x|², after shrinking W",
)
SQUARES = Rule(
    "squares",
    "least squares",
    "Mesa layer, MesaNet",
    "G ← γ G + y xᵀ, H ← γ H + x xᵀ, W = G (H + λ I)⁻¹",
    ("decay", "ridge"),
    "γ and λ by search, λ at least 0.001",
    two_sums,
    ("G", "H"),
    _solved,
    objective="∑ γ^age |y − W x|² + λ |W|², of all pairs, to its minimum",
)
KALMAN = Rule(
    "kalman",
    "Kalman filter",
    "the best that any rule can do",
    "W ← c (W + (y − W x) gᵀ), g = P x / xᵀ P x, P ← c² (P − g xᵀ P) + ρ² I",
    (),
    "it is given ρ",
    _kalman,
    ("W", "P"),
    objective="the expected error under the drift, to its minimum",
)

RULES = {rule.id: rule for rule in (SUM, DECAYED, DELTA, UNIT, LONGHORN, GATED, SQUARES)}
