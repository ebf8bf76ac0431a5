"""Settings that several experiments have: the distribution of prompts that is home."""

from icl_core.contract.knobs import choice, settings, slider, toggle
from icl_core.in_context_regression.home import COVARIANCES, TARGETS, Home

TASK, METHOD, TRAINING, REPEATS = (
    "home, the distribution",
    "the methods",
    "the training",
    "repetition",
)


@settings
class HomeConfig:
    """The distribution of prompts for which every learner is tuned or trained."""

    d: int = slider("features, d", 1, 8, default=2, group=TASK)
    n: int = slider("pairs, n", 1, 64, default=10, group=TASK)
    noise: float = slider("noise, τ", 0.0, 2.0, default=0.2, step=0.05, group=TASK)
    covariance: str = choice("eigenvalues of Σ", COVARIANCES, default="narrow", group=TASK)
    condition: float = slider(
        "condition number of Σ",
        1.0,
        1000.0,
        default=16.0,
        log=True,
        group=TASK,
        shown_if="is_narrow",
    )
    rotated: bool = toggle(
        "rotated in every prompt",
        default=False,
        group=TASK,
        help="every prompt has eigenvectors of its own: Σ cannot be known before it is read",
    )
    target: str = choice("target", TARGETS, default="white", group=TASK, shown_if="has_axes")

    @property
    def is_narrow(self) -> bool:
        """Whether the eigenvalues follow from a condition number."""
        return self.covariance == "narrow"

    @property
    def has_axes(self) -> bool:
        """Whether Σ is the same in every prompt."""
        return not self.rotated

    @property
    def home(self) -> Home:
        """The distribution."""
        return Home(
            self.d,
            self.n,
            self.noise,
            self.covariance,
            self.rotated,
            self.target,
            self.condition,
        )
