"""Griffin (De et al. 2024), groups of its pattern (Section 2): two recurrent blocks, then one of
local attention, each followed by a gated feed-forward layer. Read "one layer" as one such group:
Griffin is not Griffin with less.

    recurrent block     u <- u + (RG-LRU(convolution of n W_x) * gelu(n W_gate)) W_y
                        n: u over its root mean square
    local attention     u <- u + softmax(q k / sqrt m + bias of the distance) v W_O
                        over all tokens so far
    feed-forward        u <- u + (gelu(n W_g) * (n W_1)) W_2
                        three times as wide (2.2)

The recurrence, as in `plain.griffin`, is 4/3 as wide as u (2.3), sigmoid(Λ)^8 uniform on [.9, .999]
(2.4). Attention has several heads with one key and value (2.3: multi-query). Its window is 1,024
tokens, more than any prompt here; a learned bias of each distance stands in for Griffin's rotary
positions.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import CONVOLVED, Step
from icl_core.papers.gdssm.shared.sequence_models.plain.griffin import SHARPNESS, gated
from icl_core.papers.gdssm.shared.sequence_models.recurrences import associative_scan
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, uniform

PATTERN = (("recurrent", 0), ("recurrent", 1), ("attention", 0))
WIDER = 3  # of the feed-forward layers, times the width
SLOW = ("recurrent.Λ",)


def state(shape: parts.Shape) -> int:
    """Return the number of channels of each recurrence."""
    return math.ceil(4 * shape.width / 3)


def parameters(shape: parts.Shape, generators: Generators) -> Parameters:
    """Draw random parameters of the three blocks of a group and of their feed-forward layers."""
    return {
        **parts.in_and_out(shape, generators),
        **_group(shape, generators),
        **parts.biases(shape, generators),
        **parts.further(shape, lambda: _group(shape, generators)),
    }


def _group(shape: parts.Shape, generators: Generators) -> Parameters:
    """Draw the blocks of one group, and their feed-forward layers."""
    return {
        **parts.named("recurrent", _recurrent(shape, generators, 2)),
        **parts.named("attention", _attention(shape, generators, 1)),
        **parts.gated_layer(shape, generators, len(PATTERN), WIDER),
    }


def _recurrent(shape: parts.Shape, generators: Generators, blocks: int) -> Parameters:
    """Draw recurrent blocks, (seeds, blocks, ...) each."""
    width = shape.width
    d = state(shape)
    decay = 0.9 + 0.099 * uniform(generators, blocks, d)
    return parts.norm(shape, generators, blocks) | {
        "W_x": parts.stack(generators, blocks, width, d),
        "W_gate": parts.stack(generators, blocks, width, d),
        # of the convolution's rows the last is that of the newest token
        "convolution": parts.stack(generators, blocks, CONVOLVED, d),
        "b_convolution": torch.zeros_like(decay),
        "W_a": parts.stack(generators, blocks, d, d),
        "b_a": torch.zeros_like(decay),
        "W_i": parts.stack(generators, blocks, d, d),
        "b_i": torch.zeros_like(decay),
        "Λ": (decay ** (1 / SHARPNESS)).logit(),
        "W_y": parts.stack(generators, blocks, d, width),
    }


def _attention(shape: parts.Shape, generators: Generators, blocks: int) -> Parameters:
    """Draw blocks of local attention, (seeds, blocks, ...) each."""
    width = shape.width
    heads = shape.heads
    m = shape.head
    return parts.norm(shape, generators, blocks) | {
        "W_Q": parts.stack(generators, blocks, width, heads * m),
        "W_K": parts.stack(generators, blocks, width, m),
        "W_V": parts.stack(generators, blocks, width, m),
        # of the distance: the newest token's is the last
        "bias": parts.filled(generators, 0.0, blocks, heads, shape.positions),
        "W_O": parts.stack(generators, blocks, heads * m, width),
    }


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False
) -> Float[Tensor, "tasks R f"]:
    """Return the answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    u = parts.read_in(p, tokens)  # (tasks, T, width)
    groups = parts.layers_of(p)
    for index, group in enumerate(groups):
        u = _grouped(group, u, parts.asked_of(last, index, len(groups)))
    return parts.read_out(p, u)  # (tasks, T, f)


def _grouped(
    p: Parameters, u: Float[Tensor, "tasks T width"], asked: slice
) -> Float[Tensor, "tasks R width"]:
    """Return what a group makes of all tokens, at those that are `asked`."""
    for place, (kind, index) in enumerate(PATTERN):
        if kind == "recurrent":
            u = u + recurrent(parts.block_parameters(p, kind, index), u)
        else:  # the end of the pattern: all that follows is asked of the last token alone
            u = u[:, asked] + local(parts.block_parameters(p, kind, index), u, asked)
        u = u + feed_forward(parts.block_parameters(p, "mlp", place), u)
    return u


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other; every block remembers what it needs."""
    groups = [_steps(group, len(tokens)) for group in parts.layers_of(p)]
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = parts.read_in(p, s)  # (tasks, width)
        for group in groups:
            u = group(u)
        answers.append(parts.read_out(p, u))
    return torch.stack(answers, 1)


def _steps(p: Parameters, tasks: int) -> Step:
    """Return a group as a step from token to token."""
    of_kind = {"recurrent": recurrent_steps, "attention": attention_steps}
    blocks = [
        of_kind[kind](parts.block_parameters(p, kind, index), tasks) for kind, index in PATTERN
    ]

    def step(u: Tensor) -> Tensor:
        for place, block in enumerate(blocks):
            u = u + block(u)
            u = u + feed_forward(parts.block_parameters(p, "mlp", place), u)
        return u

    return step


def recurrent(p: Parameters, u: Float[Tensor, "tasks T width"]) -> Float[Tensor, "tasks T width"]:
    """Return what a recurrent block adds to all tokens."""
    n = parts.normalised(p, u)
    a, b = gated(p, parts.convolved(n @ p["W_x"], p["convolution"]) + p["b_convolution"])
    return (associative_scan(a, b) * gelu(n @ p["W_gate"])) @ p["W_y"]


def recurrent_steps(p: Parameters, tasks: int) -> Step:
    """Return the same as a step from token to token, which remembers z and the inputs of the
    convolution."""
    z = p["Λ"].new_zeros(tasks, len(p["Λ"]))
    recent = p["Λ"].new_zeros(tasks, CONVOLVED, len(p["Λ"]))

    def step(u: Tensor) -> Tensor:
        nonlocal z, recent
        n = parts.normalised(p, u)
        recent = parts.newest(recent, n @ p["W_x"])
        a, b = gated(p, (recent * p["convolution"]).sum(1) + p["b_convolution"])
        z = a * z + b  # (tasks, d)
        return (z * gelu(n @ p["W_gate"])) @ p["W_y"]

    return step


def local(
    p: Parameters, u: Float[Tensor, "tasks T width"], asked: slice
) -> Float[Tensor, "tasks R width"]:
    """Return what local attention adds to the tokens that are `asked`."""
    n = parts.normalised(p, u)
    T = u.shape[1]
    q = parts.split(n[:, asked] @ p["W_Q"], len(p["bias"]))  # (tasks, R, H, m)
    k = n @ p["W_K"]  # (tasks, T, m)
    v = n @ p["W_V"]  # (tasks, T, m)
    place = torch.arange(T, device=u.device)
    back = place[asked, None] - place  # (R, T): how many tokens back
    bias = p["bias"][:, -1 - back.clamp_min(0)].movedim(0, 1)  # (R, H, T)
    bias = bias.masked_fill(back[:, None] < 0, -torch.inf)
    scores = q @ k[:, None].mT / math.sqrt(k.shape[-1]) + bias  # (tasks, R, H, T)
    return (scores.softmax(-1) @ v[:, None]).flatten(-2) @ p["W_O"]


def attention_steps(p: Parameters, tasks: int) -> Step:
    """Return the same as a step from token to token, which remembers all keys and values, up to T
    of (tasks, m)."""
    keys: list[Tensor] = []
    values: list[Tensor] = []

    def step(u: Tensor) -> Tensor:
        n = parts.normalised(p, u)
        keys.append(n @ p["W_K"])
        values.append(n @ p["W_V"])
        k = torch.stack(keys, 1)  # (tasks, t, m)
        v = torch.stack(values, 1)
        q = parts.split(n @ p["W_Q"], len(p["bias"]))  # (tasks, H, m)
        bias = p["bias"][:, -len(keys) :]  # (H, t)
        scores = q @ k.mT / math.sqrt(k.shape[-1]) + bias  # (tasks, H, t)
        return (scores.softmax(-1) @ v).flatten(-2) @ p["W_O"]

    return step


def feed_forward(p: Parameters, u: parts.Hidden) -> parts.Hidden:
    """Return what the gated feed-forward layer adds (GeGLU)."""
    n = parts.normalised(p, u)
    return (gelu(n @ p["W_g"]) * (n @ p["W_1"])) @ p["W_2"]
