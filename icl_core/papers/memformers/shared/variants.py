"""What each model learns, and the table of matrices on past gradients that it amounts to (Theorems
3.1 and 3.2).

A  [seeds, H, L, d, d], or [seeds, H, L] if a multiple of I, [seeds, H, L, d] if that is the average
   of a diagonal: preconditioners, the heads' sum is what counts
alpha, gamma  [seeds, L]: the CGD-like Memformer's
Gamma  [seeds, L, L, …] Γ_j^l, lower-triangular in (l, j): a number, one a coordinate [d] or one a
       token [n+1];
       [seeds, L, …] where all layers share Γ_j: [d] learned directly, [n+1] a token, [d+1, n+1] an
       entry of Z
B  [seeds, L, d, d]: GD++'s map of the covariates
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from icl_core.machine import device
from icl_core.papers.memformers.shared import authors_prompts
from icl_core.papers.memformers.shared.task import gaussian

Parameters = dict[str, Tensor]
# multiplications in a batch of products up to which torch chooses its kernel by nothing else
SMALL = 2**12


@dataclass(frozen=True)
class Variant:
    """A model by what it remembers of past layers, and what it learns of that.

    memory   "none", "deflection" (α, γ of Theorem 3.1) or "Gamma" (Theorem 3.2)
    per      what has a number of its own in Γ: a "layer", a "coordinate", a "token" or an "entry"
             of Z
    shared   whether all layers use one Γ_j
    own_whole  whether a layer uses its own attention whole, so that Γ weighs older layers alone
    tested_on_next_draw  of the authors' own prompts, whether it is tested on those that come next
             in the generator of the training batch
    """

    id: str
    label: str  # for a choice
    name: str  # for a legend
    memory: str = "Gamma"
    per: str = "layer"
    shared: bool = False
    own_whole: bool = False
    tested_on_next_draw: bool = False
    preconditioned: bool = True
    moves_covariates: bool = False

    @property
    def has_floor(self) -> bool:
        """Return whether with one matrix for all A_l it is a polynomial of its degree, so that the
        best such polynomial bounds its loss."""
        return self.preconditioned and self.per == "layer" and not self.moves_covariates

    @property
    def equal_power(self) -> bool:
        """Return whether with one matrix for all A_l it reaches every polynomial of its degree, and
        nothing else; without memory, those with real roots, as the best one without noise has."""
        return self.has_floor and not self.shared

    @property
    def needs_examples(self) -> bool:
        """Return whether it needs the examples one by one; for all others S = U Uᵀ / n says
        everything."""
        return self.per in ("token", "entry")

    @property
    def has_one_w(self) -> bool:
        """Return whether all tokens agree on one w, so that a layer is a step of a first-order
        method."""
        return not self.needs_examples and not self.moves_covariates


VARIANTS = {
    each.id: each
    for each in (
        Variant("linear", "linear transformer, no memory", "linear transformer", memory="none"),
        Variant("cgd", "CGD-like Memformer (α, γ)", "CGD-like", memory="deflection"),
        Variant("lfom", "LFOM Memformer, Γ per pair of layers", "LFOM"),
        Variant(
            "coordinate",
            "LFOM Memformer, Γ per coordinate",
            "LFOM, Γ per coordinate",
            per="coordinate",
        ),
        Variant(
            "token",
            "LFOM Memformer, Γ per token and pair of layers",
            "LFOM, Γ per token and pair",
            per="token",
        ),
        Variant(
            "token shared",
            "LFOM Memformer, Γ_j per token (authors' code)",
            "LFOM, Γ_j per token",
            per="token",
            shared=True,
        ),
        Variant(
            "token older",
            "LFOM Memformer, Γ_j per token on older layers (authors' code)",
            "LFOM, Γ_j per token, older layers",
            per="token",
            shared=True,
            own_whole=True,
            tested_on_next_draw=True,
        ),
        Variant("shared", "LFOM Memformer, Γ shared by all layers", "Γ shared", shared=True),
        Variant("gd++", "GD++ with memory, covariates move too", "GD++", moves_covariates=True),
        Variant(
            "gd++ plain",
            "GD++ without memory, covariates move",
            "linear GD++",
            memory="none",
            moves_covariates=True,
        ),
        Variant(
            "gd++ entry",
            "GD++, Γ_j per entry of Z (authors' code)",
            "GD++, Γ_j per entry",
            per="entry",
            shared=True,
            own_whole=True,
            moves_covariates=True,
        ),
        Variant(
            "learned",
            "LFOM learned directly, no preconditioner",
            "learned LFOM",
            per="coordinate",
            preconditioned=False,
        ),
        Variant(
            "learned shared",
            "LFOM learned directly, Λ shared by all layers",
            "learned LFOM, Λ shared",
            per="coordinate",
            shared=True,
            preconditioned=False,
        ),
    )
}


# of a preconditioner: the axes of what is learned of one
ENTRIES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "full": lambda d: (d, d),
    "scalar": lambda d: (),
    "averaged": lambda d: (d,),
}


def initial(config: Any, generator: torch.Generator) -> Parameters:
    """Return the parameters of all seeds before training: A Gaussian, no memory yet."""
    s = config.seeds
    L = config.layers
    d = config.d
    variant = VARIANTS[config.variant]
    small = config.initial * (5 / d) ** 0.5
    parameters: Parameters = {}
    if getattr(config, "batches", "") == "authors" and variant.preconditioned:
        parameters |= _of_authors(config, small)
    elif variant.preconditioned:
        shape = (s, config.heads, L, *ENTRIES[config.preconditioner](d))
        parameters["A"] = small * gaussian(shape, generator)
    if variant.memory == "deflection":
        plain = {"alpha": torch.ones(s, L), "gamma": torch.zeros(s, L)}
        parameters |= {name: value.to(device.current_device()) for name, value in plain.items()}
    if variant.memory == "Gamma":
        parameters["Gamma"] = _own_alone(config, variant) * (1 if variant.preconditioned else small)
    if variant.moves_covariates and "B" not in parameters:
        parameters["B"] = 0.1 * small * gaussian((s, L, d, d), generator)
    return parameters


def _of_authors(config: Any, size: float) -> Parameters:
    """Return A of all seeds, and B where covariates move, as the authors' generator gives them: of
    standard deviation `size`, both."""
    seeds = range(config.seed, config.seed + config.seeds)
    pairs = [authors_prompts.initial(config.layers, config.heads, config.d, seed) for seed in seeds]
    A, B = (
        size * torch.stack(parts).to(device.current_device()) for parts in zip(*pairs, strict=True)
    )
    if config.preconditioner != "full":
        A = A.diagonal(dim1=-2, dim2=-1)  # [seeds, H, L, d]
    if config.preconditioner == "scalar":
        A = A.mean(-1)
    moves = VARIANTS[config.variant].moves_covariates
    return {"A": A.clone(), "B": B.sum(1)} if moves else {"A": A.clone()}


def _own_alone(config: Any, variant: Variant) -> Tensor:
    """Return a Γ by which every layer uses its own gradient alone; shared by all layers it can only
    use all alike. The authors' Γ, a number for each token or entry, begins at 0."""
    L = config.layers
    axes = {
        "layer": (),
        "coordinate": (config.d,),
        "token": (config.n + 1,),
        "entry": (config.d + 1, config.n + 1),
    }
    width = axes[variant.per]
    if variant.shared:
        first = torch.zeros(L) if variant.needs_examples else torch.ones(L)
    else:
        first = torch.eye(L)
    # [L] or [L, L] -> [seeds, L, …, width], the same number for every seed and along `width`
    Gamma = first.to(device.current_device()).reshape(1, *first.shape, *[1] * len(width))
    return Gamma.repeat(config.seeds, *[1] * first.dim(), *width)


def coefficients(parameters: Parameters, variant: str) -> Tensor:
    """Return Γ_j^l of any memory, [seeds, L, L] over (l, j), or [seeds, L, L, …] where each
    coordinate, token or entry has its own."""
    kind = VARIANTS[variant]
    if kind.memory == "none":
        A = parameters["A"]
        return torch.eye(A.shape[2], dtype=A.dtype, device=A.device).expand(A.shape[0], -1, -1)
    if kind.memory == "deflection":
        return _deflected(parameters["alpha"], parameters["gamma"])
    Gamma = parameters["Gamma"]
    if kind.shared:
        Gamma = Gamma.unsqueeze(1).expand(-1, Gamma.shape[1], *Gamma.shape[1:])
    if Gamma.dim() == 3:
        return Gamma.tril()
    past = torch.ones(Gamma.shape[1:3], dtype=Gamma.dtype, device=Gamma.device).tril(
        -1 if kind.own_whole else 0
    )
    masked = Gamma * past.reshape(*past.shape, *[1] * (Gamma.dim() - 3))
    if not kind.own_whole:
        return masked
    eye = torch.eye(len(past), dtype=Gamma.dtype, device=Gamma.device)
    return masked + eye.reshape(*eye.shape, *[1] * (Gamma.dim() - 3))


def _deflected(alpha: Tensor, gamma: Tensor) -> Tensor:
    """Return Γ_j^l = α_l γ_{j+1} … γ_l, [seeds, L, L], of alpha and gamma [seeds, L]: R_l = Attn_l
    + γ_l R_{l−1} (Theorem 3.1)."""
    L = alpha.shape[1]
    eye = torch.eye(L, dtype=alpha.dtype, device=alpha.device)
    register = torch.zeros_like(eye[0]).expand(len(alpha), -1)
    rows: list[Tensor] = []
    for layer in range(L):
        register = gamma[:, layer, None] * register + eye[layer]
        rows.append(alpha[:, layer, None] * register)
    return torch.stack(rows, 1)


def learned_in(config: Any) -> str:
    """Return the coordinates that A counts in: those asked for, or the original ones where it is a
    multiple of I and the whitened ones are asked for."""
    whitened_multiple = config.preconditioner != "full" and config.coordinates == "whitened"
    return "original" if whitened_multiple else config.coordinates


def matrices(parameters: Parameters, config: Any) -> Tensor:
    """Return A_l as matrices in the coordinates that they are learned in, the heads summed:
    [seeds, L, d, d]."""
    A = parameters["A"].sum(1)
    if config.preconditioner == "full":
        return A
    if config.preconditioner == "averaged":
        return torch.diag_embed(averaged(A))
    return A[..., None, None] * torch.eye(config.d, dtype=A.dtype, device=A.device)


def averaged(diagonals: Tensor) -> Tensor:
    """Return diagonals [..., d] with their mean at every entry, and a gradient for each entry of
    its own.

    The authors average a diagonal before each pass and then let Adam move its entries. Adam does
    not depend on the values that it moves, so averages of entries that were never made equal are
    the same numbers.
    """
    mean = diagonals.detach().mean(-1, keepdim=True)
    return mean + (diagonals - diagonals.detach())


def preconditioners(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return Σ^½ A_l Σ^½, the heads summed: [seeds, L, d, d]. `root` is Σ^½, [seeds, d, d]."""
    if "A" in parameters:
        return whitened(matrices(parameters, config), learned_in(config), root)
    eye = torch.eye(config.d, dtype=root.dtype, device=root.device)
    return whitened(eye.expand(len(root), config.layers, -1, -1), "original", root)


def whitened(A: Tensor, coordinates: str, root: Tensor) -> Tensor:
    """Return Σ^½ A Σ^½ of A [seeds, …, d, d]; in whitened coordinates that is what is learned, and
    nothing changes.

    Learned in the "original" ones, A counts in units of one over Σ's mean eigenvalue, so that σ²
    changes nothing; the "authors" count it as it is.
    """
    if coordinates == "whitened":
        return A
    factor = start_root(coordinates, root)
    factor = factor.reshape(len(root), *[1] * (A.dim() - 3), *root.shape[1:])
    return factor @ A @ factor


def start_root(coordinates: str, root: Tensor) -> Tensor:
    """Return what turns white covariates into those that A is learned for, [seeds, d, d]: I in
    whitened coordinates."""
    if coordinates == "whitened":
        return torch.eye(root.shape[-1], dtype=root.dtype, device=root.device).expand_as(root)
    return unit_root(root) if coordinates == "original" else root


def unit_root(root: Tensor) -> Tensor:
    """Return Σ^½ divided by the square root of Σ's mean eigenvalue, [seeds, d, d]."""
    return root / root.square().sum((1, 2), keepdim=True).div(root.shape[-1]).sqrt()


def steps(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return W_j^l in whitened coordinates, [seeds, L, L, d, d] over (l, j): what a layer makes of
    each past gradient."""
    weights = coefficients(parameters, config.variant)
    if weights.dim() == 3:  # a number for each pair of layers
        return weights[..., None, None] * preconditioners(parameters, config, root)[:, None]
    # one for each coordinate, [seeds, L, L, d]
    if "A" not in parameters:
        return whitened(torch.diag_embed(weights), "original", root)
    scaled = weights[..., None] * matrices(parameters, config)[:, None]
    return whitened(scaled, learned_in(config), root)


def table(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return `steps` as the iteration in R^d takes them, [seeds, L d, L d]: row of blocks l, column
    of blocks j is W_j^l."""
    W = steps(parameters, config, root)  # [seeds, L, L, d, d]
    s, L, _, d, _ = W.shape
    return W.transpose(2, 3).reshape(s, L * d, L * d)


def table_of_runs(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return the `table` of the rows of several runs, for as many rows at once as come from the
    same kernel as one run's."""
    alone = config.seeds * config.layers * config.d**3
    rows = config.seeds * max(1, SMALL // alone)
    if len(root) <= rows:
        return table(parameters, config, root)
    parts = (slice(start, start + rows) for start in range(0, len(root), rows))
    return torch.cat(
        [
            table({name: parameter[at] for name, parameter in parameters.items()}, config, root[at])
            for at in parts
        ]
    )


def distances(M: Tensor) -> Tensor:
    """Return Dist(M, I) = min_α ‖M − αI‖_F / ‖M‖_F of M = Σ^½ A Σ^½ [..., d, d]; α = tr(M) / d.
    From 0 to 1 (Appendix D)."""
    square = M.square().sum((-2, -1))
    trace = M.diagonal(dim1=-2, dim2=-1).sum(-1)
    rest = (square - trace.square() / M.shape[-1]).clamp(min=0)
    return (rest / square.clamp(min=torch.finfo(M.dtype).tiny)).sqrt()
