"""Griffin (De et al., Mixing Gated Linear Recurrences with Local Attention, 2024): one block of
each kind (Section 2).

    u_t = s_t W_in
    recurrent block (2.3)   x_t = causal convolution over 4 tokens of u_t W_x
                            u_t <- u_t + (RG-LRU(x)_t * gelu(u_t W_gate)) W_y
    local attention (2.3)   u_t <- u_t + softmax(q_t k_s / sqrt m + bias of t - s) v_s W_O
                            over t - 3 < s <= t
    answer_t = u_t W_out

    RG-LRU (2.4)   r_t = sigmoid(x_t W_a + b_a),  i_t = sigmoid(x_t W_i + b_i)
                   a_t = sigmoid(Λ)^(8 r_t)
                   z_t = a_t * z_{t-1} + sqrt(1 - a_t^2) * (i_t * x_t)

The window is that of the GD-SSM, 3 tokens. In so short a window a learned bias of each distance
stands in for Griffin's rotary positions.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, logsigmoid, pad

from icl_core.papers.gdssm.shared.sequence_models.recurrences import associative_scan
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, uniform

CONVOLVED = 4  # tokens of the convolution
SHARPNESS = 8.0  # c of the RG-LRU
WINDOW = 3  # tokens that attention sees


def parameters(features: int, width: int, state: int, generators: Generators) -> Parameters:
    """Draw random parameters; sigmoid(Λ)^8 uniform on [0.9, 0.999] (2.4)."""
    decay = 0.9 + 0.099 * uniform(generators, state)
    return {
        "W_in": matrix(generators, features, width),
        "W_x": matrix(generators, width, state),
        "W_gate": matrix(generators, width, state),
        "convolution": matrix(generators, CONVOLVED, state),  # the newest token is the last row
        "b_convolution": torch.zeros_like(decay),
        "W_a": matrix(generators, state, state),
        "b_a": torch.zeros_like(decay),
        "W_i": matrix(generators, state, state),
        "b_i": torch.zeros_like(decay),
        "Λ": (decay ** (1 / SHARPNESS)).logit(),
        "W_y": matrix(generators, state, width),
        "W_Q": matrix(generators, width, state),
        "W_K": matrix(generators, width, state),
        "W_V": matrix(generators, width, state),
        "bias": torch.zeros(len(generators), WINDOW),  # of the distance: the newest token's is last
        "W_O": matrix(generators, state, width),
        "W_out": 0.1 * matrix(generators, width, features),
    }


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the answers at all tokens, for one seed's parameters."""
    u = tokens @ p["W_in"]  # (tasks, T, width)
    x = windows(u @ p["W_x"], CONVOLVED)  # (tasks, T, 4, state)
    a, b = gated(p, (x * p["convolution"]).sum(-2) + p["b_convolution"])
    u = u + (associative_scan(a, b) * gelu(u @ p["W_gate"])) @ p["W_y"]  # (tasks, T, width)
    # (tasks, T, 3): false before the first token
    seen = windows(torch.ones_like(u[:, :, :1]), WINDOW)[..., 0] > 0
    q = u @ p["W_Q"]  # (tasks, T, state)
    k = windows(u @ p["W_K"], WINDOW)  # (tasks, T, 3, state)
    v = windows(u @ p["W_V"], WINDOW)
    u = u + attend(p, q, k, v, seen)
    return u @ p["W_out"]  # (tasks, T, f)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: remembered are z, the convolution's inputs, and a
    window of keys, values."""
    state = len(p["Λ"])
    tasks = len(tokens)
    z = tokens.new_zeros(tasks, state)
    recent = tokens.new_zeros(tasks, CONVOLVED, state)
    keys = []
    values = []
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        recent = torch.cat([recent[:, 1:], (u @ p["W_x"])[:, None]], 1)  # (tasks, 4, state)
        a, b = gated(p, (recent * p["convolution"]).sum(1) + p["b_convolution"])
        z = a * z + b  # (tasks, state)
        u = u + (z * gelu(u @ p["W_gate"])) @ p["W_y"]
        keys = [*keys, u @ p["W_K"]][-WINDOW:]  # up to 3 of (tasks, state)
        values = [*values, u @ p["W_V"]][-WINDOW:]
        u = u + attend(p, u @ p["W_Q"], torch.stack(keys, 1), torch.stack(values, 1))
        answers.append(u @ p["W_out"])
    return torch.stack(answers, 1)


def windows(x: Float[Tensor, "tasks T d"], size: int) -> Float[Tensor, "tasks T size d"]:
    """Return at each token the last `size` of them, itself the last, with zeros before the
    first."""
    padded = pad(x, (0, 0, size - 1, 0))  # (tasks, T + size - 1, d)
    return torch.stack([padded[:, i : i + x.shape[1]] for i in range(size)], 2)


State = Float[Tensor, "*rest state"]
Window = Float[Tensor, "*rest W state"]


def gated(p: Parameters, x: State) -> tuple[State, State]:
    """Return decay and drive of the RG-LRU: z = a * z + b. sqrt(1 - a^2) from the logarithm, exact
    for a near 1."""
    r = (x @ p["W_a"] + p["b_a"]).sigmoid()
    i = (x @ p["W_i"] + p["b_i"]).sigmoid()
    log_a = SHARPNESS * r * logsigmoid(p["Λ"])  # (*rest, state)
    tiny = torch.finfo(x.dtype).tiny  # the root has no slope at 0
    room = (-torch.expm1(2 * log_a)).clamp_min(tiny)
    return log_a.exp(), room.sqrt() * i * x


def attend(
    p: Parameters, q: State, k: Window, v: Window, seen: Tensor | None = None
) -> Float[Tensor, "*rest width"]:
    """Attend with one head and a softmax to a window of tokens, which may be cut short at the
    start."""
    bias = p["bias"][-k.shape[-2] :]  # (W,)
    scores = (k @ q[..., None])[..., 0] / math.sqrt(q.shape[-1]) + bias  # (*rest, W)
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    mixed = scores.softmax(-1)[..., None, :] @ v  # (*rest, 1, state)
    return mixed[..., 0, :] @ p["W_O"]
