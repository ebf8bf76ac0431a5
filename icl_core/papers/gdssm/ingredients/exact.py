"""What each layer can lose at best, in closed form, as a share of predicting zero.

A product of entries has to do with the query's label y = W x only if it is odd in W and in the
query's x, and even in every other x, as these are drawn symmetrically about zero. The prediction
multiplies two tokens of one window with what reads the state.

A window of 1      holds y without its x: each product has an odd number of some x. So the best
                   prediction is zero.
A fixed read-out   leaves two factors, and it takes three: y, its x, and the query's x. Zero again.
A = 0              leaves the last pair: one step on a single example.
A window of 2      moves on by tokens. Every second window adds x yᵀ of an x and a y that do not
                   belong together; with the one at the query these have mean square
                   (N − 1) f + κ + f − 1 beside N (N − 2 + κ + f) of y xᵀ, and no correlation with
                   it. Of no other products: the loss of the construction.
"""

from icl_core.papers.gdssm.ingredients.settings import Config, Variant
from icl_core.papers.gdssm.shared.closed_forms import KAPPA


def loss_share(config: Config, variant: Variant) -> float:
    """Return the best loss of a variant's construction over that of predicting zero."""
    f, N = config.f, config.N
    if variant.window == 1 or not variant.reads:
        return 1.0
    pairs = N if variant.decay != 0.0 else 1
    square = pairs * (pairs - 2 + KAPPA + f)
    if variant.window == 2:
        square += (N - 1) * f + KAPPA + f - 1
    return 1 - pairs**2 / square
