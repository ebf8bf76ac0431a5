"""What some models cannot do, exactly and without training.

Tasks are symmetric: W and -W, x_t and -x_t are equally likely, each by itself. So a term of a
prediction is uncorrelated with the label W x_q if one of these signs turns one of the two around
and not the other. A prediction that is a sum of such terms has E (p - y)^2 = E p^2 + E y^2, which
is least where it is zero. The terms are enumerated here over all signs of one task's W, x_t and
x_q; other pairs stand in no term beside these.
"""

from functools import cache
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.sequence_models.authors import s5
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import Shape

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
