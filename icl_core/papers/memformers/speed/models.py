"""The models whose training is timed, and how each is drawn."""

from dataclasses import dataclass

from icl_core.papers.memformers.shared.variants import VARIANTS


@dataclass(frozen=True)
class Timed:
    """A model by its `variant`, some of whose parameters may be `frozen` at their
    initial values."""

    id: str
    name: str
    variant: str
    kind: str  # its colour
    symbol: str
    frozen: tuple[str, ...] = ()

    @property
    def has_own_floor(self) -> bool:
        """Return whether it cannot be every polynomial of its degree."""
        return not VARIANTS[self.variant].equal_power


LINEAR, STEPPED, CGD, LFOM, SHARED = MODELS = (
    Timed("linear", "linear", "linear", "layer 2", "circle"),
    # the CGD-like Memformer with γ = 0: it remembers nothing, but has a step size of its own in
    # every layer
    Timed("stepped", "linear + α", "cgd", "layer 5", "diamond", frozen=("gamma",)),
    Timed("cgd", "CGD-like", "cgd", "layer 4", "square"),
    Timed("lfom", "LFOM", "lfom", "trained", "cross"),
    Timed("shared", "one Γ (own floor)", "shared", "layer 3", "x"),
)
BY_ID = {each.id: each for each in MODELS}
EQUAL = tuple(each for each in MODELS if not each.has_own_floor)
MEMORIES = (CGD, LFOM)
