"""One step of gradient descent in a linear transformer of one plain layer, on the tokens c_t = [x_t
y_t, x_{t+1}].

    prediction = sum_t v_t (k_t . q_N),  key k_t = x_t y_t,  query q_N = x_{N+1},  value v_t = η / N
                                         at every token
               = (η / N) sum_t y_t x_t . x_{N+1}

Key and query are halves of a token. The value must not depend on the token: it is read from the
position vector, which holds the same number everywhere. The least width is 2f + 2. The token takes
2f and the constant one; the answer needs one of its own, for the readout would see in any other
direction what stands there already. (With 2f + 1 the answer can be written large beside the
constant and read small: as near as wanted, never exact.) The paper's width is 2f.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.sequence_models.plain import linear_transformer
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens
from icl_core.papers.gdssm.shared.weights import Parameters


def linear_attention(f: int, N: int, eta: float) -> Parameters:
    """Return the weights that take the step at rate `eta`, of one seed, float64; the width is
    2f + 2, keys and values are of size f."""
    width = 2 * f + 2
    eye = torch.eye(width, dtype=torch.float64)
    constant = eye[2 * f]
    answer = eye[2 * f + 1]
    first = torch.eye(f, dtype=torch.float64)[0]  # of the f numbers of a value one is used
    first_output = torch.eye(2 * f, dtype=torch.float64)[0]  # of the 2f outputs: the answer
    return {
        "W_in": eye[: 2 * f],  # (2f, width)
        "P": constant.expand(N, width).clone(),
        "W_K": eye[None, :, :f],  # (1, width, f): x_t y_t
        "W_Q": eye[None, :, f : 2 * f],  # x_{t+1}
        "W_V": torch.outer(constant, first)[None] * eta / N,
        "W_O": torch.outer(first, answer)[None],  # (1, f, width)
        "W_out": torch.outer(answer, first_output),  # (width, 2f)
    }


def predictions(p: Parameters, tasks: Tasks) -> Float[Tensor, "tasks"]:
    """Return the predictions of a plain linear transformer with one seed's parameters."""
    return linear_transformer.forward(p, constructed_tokens(tasks).movedim(-1, 0))[:, -1, 0]


def products(p: Parameters) -> Float[Tensor, "width width"]:
    """Return M, (2f, 2f): the prediction holds sum_t c_t^T M_t c_N, and M is the mean of M_t over
    the positions.

    In one part of it value and token's position meet key and token, in the other value and token
    meet the key and its position. What is left of the prediction multiplies three tokens, or a
    position twice.
    """
    # (width,): what a value adds to the prediction
    value = (p["W_V"][0] @ p["W_O"][0] @ p["W_out"])[:, 0]
    # (width, 2f): of whatever stands at t, against c_N
    scores = p["W_K"][0] @ p["W_Q"][0].mT @ p["W_in"].mT
    # of the positions alone
    constant = (p["P"] @ value).mean()
    keys = (p["P"] @ scores).mean(0)  # (2f,)
    return constant * p["W_in"] @ scores + torch.outer(p["W_in"] @ value, keys)


def of_products(M: Tensor, tasks: Tasks) -> Float[Tensor, "tasks"]:
    """Return sum_t c_t^T M c_N alone, the part of a prediction that `M` makes."""
    tokens = constructed_tokens(tasks)  # (N, 2f, tasks)
    return (tokens.sum(0) * (M @ tokens[-1])).sum(0)
