"""What models can do and what some cannot, exactly and without training.

**A linear transformer of one plain layer** takes a step of gradient descent on the tokens c_t =
[x_t y_t, x_{t+1}]:

    prediction = sum_t v_t (k_t . q_N),  key k_t = x_t y_t,  query q_N = x_{N+1},  value v_t = η / N
                                         at every token
               = (η / N) sum_t y_t x_t . x_{N+1}

Key and query are halves of a token. The value must not depend on the token: it is read from the
position vector, which holds the same number everywhere. The least width is 2f + 2. The token takes
2f and the constant one; the answer needs one of its own, for the readout would see in any other
direction what stands there already. (With 2f + 1 the answer can be written large beside the
constant and read small: as near as wanted, never exact.) The paper's width is 2f.

**What some models cannot do.** Tasks are symmetric: W and -W, x_t and -x_t are equally likely, each
by itself. So a term of a prediction is uncorrelated with the label W x_q if one of these signs
turns one of the two around and not the other. A prediction that is a sum of such terms has E (p -
y)^2 = E p^2 + E y^2, which is least where it is zero. The terms are enumerated here over all signs
of one task's W, x_t and x_q; other pairs stand in no term beside these.
"""

from functools import cache
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.authors import s5
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import Shape
from icl_core.papers.gdssm.shared.sequence_models.plain import linear_transformer
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, loss
from icl_core.papers.gdssm.shared.weights import Parameters

SAME_LOSS = 0.002  # by which share two losses may differ that count as one


def step_in_linear_attention(f: int, N: int, eta: float) -> Parameters:
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


SIGNS = tuple(product((1.0, -1.0), repeat=3))  # of W, of x_t, of x_q


def signed_tasks(f: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return one pair and a query under all signs: x_t, y_t, x_q and the label, (8, f) each,
    float64."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(f, f, generator=generator, dtype=torch.float64)
    x, query = 2 * torch.rand(2, f, generator=generator, dtype=torch.float64) - 1
    of_W, of_x, of_query = torch.tensor(SIGNS, dtype=torch.float64).T[..., None]  # (8, 1) each
    y = W @ x
    label = W @ query
    return of_x * x, of_W * of_x * y, of_query * query, of_W * of_query * label


def correlation(terms: Float[Tensor, "8 *term"], label: Float[Tensor, "8 f"]) -> float:
    """Return the largest correlation of a term with a coordinate of the label, in size."""
    flat = terms.flatten(1)  # (8, terms)
    lengths = flat.square().mean(0).sqrt()[:, None] * label.square().mean(0).sqrt()  # (terms, f)
    return float((flat.T @ label / len(label) / lengths).abs().max())


@cache
def of_linear_attention(f: int) -> float:
    """Return the largest correlation with the label of any term that one layer of linear attention
    without norm and MLP adds up: an entry of a token for the value, one of the same token for the
    key, one of the last token for the query; any of the three may be that of a position, a
    constant."""
    x, y, query, label = signed_tasks(f)
    last = _with_one(query)
    terms = [
        torch.einsum("si,sj,sk->sijk", _with_one(token), _with_one(token), last)
        for token in (x, y, query)
    ]
    return max(correlation(term, label) for term in terms)


@cache
def of_linear_model(f: int, products_given: bool) -> float:
    """Return the largest correlation with the label of any entry of a token, which is all that a
    model without a product adds up."""
    x, y, query, label = signed_tasks(f)
    if not products_given:
        return correlation(torch.cat([x, y, query], 1), label)
    # of the first row of W alone, (8, 1) each
    first_y = y[:, :1]
    first_label = label[:, :1]
    return correlation(torch.cat([x * first_y, x, query], 1), first_label)


def _with_one(token: Float[Tensor, "8 f"]) -> Float[Tensor, "8 more"]:
    """Return a token with a 1 behind its entries, the constant of a position, (8, f + 1)."""
    return torch.cat([token, torch.ones_like(token[:, :1])], 1)


@cache
def share_held_by_s5(f: int, width: int, positions: int) -> float:
    """Return the share of all directions in which a prompt can change that reaches the state of an
    S5 of that width: the rank of the map from tokens to state, which is linear, over its
    inputs."""
    shape = Shape(f, width, 1, positions, norm=False)
    parameters = s5.parameters(shape, [torch.Generator().manual_seed(0)])
    p = {name: tensor[0].double() for name, tensor in parameters.items()}
    A, B = s5.discretised(p)
    powers = A[:, None] ** torch.arange(positions - 1, -1, -1)  # (state, T)
    into = B @ p["W_in"].mT.to(B.dtype)  # (state, f)
    whole = (powers[:, :, None] * into[:, None]).flatten(1)  # (state, T f)
    return int(torch.linalg.matrix_rank(torch.cat([whole.real, whole.imag]))) / whole.shape[1]


def on_last_pair(config: Setting, reached: float) -> str:
    """Say that a loss on the test set is that of the best step on the last pair alone; empty if it
    is not.

    A GD-SSM takes this step also with decays of zero, by reading y_N x_{N+1}^T at x_N. Then other
    pairs would only add noise: it is a local minimum.
    """
    tasks = train.held_out(config, train.TEST_SET)
    step = tasks.y[-2] * (tasks.x[-2] * tasks.x[-1]).sum(0)  # (n_o, tasks)
    label = tasks.y[-1]
    rate = (step * label).sum() / step.square().sum()
    least = float(loss((rate * step)[None], label))
    if abs(reached / least - 1) > SAME_LOSS:
        return ""
    return f"Its worst seed has the loss of the best step on the last pair alone, {least:.3f}."
