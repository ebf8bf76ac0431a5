"""How far a preconditioner is from a multiple of Σ⁻¹ (Appendix D)."""

import torch
from torch import Tensor


def distances(M: Tensor) -> Tensor:
    """Dist(M, I) = min_α ‖M − αI‖_F / ‖M‖_F of M = Σ^½ A Σ^½ [..., d, d]; α = tr(M) / d. From 0 to 1."""
    square = M.square().sum((-2, -1))
    trace = M.diagonal(dim1=-2, dim2=-1).sum(-1)
    return ((square - trace.square() / M.shape[-1]).clamp(min=0) / square.clamp(min=torch.finfo(M.dtype).tiny)).sqrt()
