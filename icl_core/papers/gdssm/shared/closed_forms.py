"""What gradient descent reaches on average over the linear tasks, in closed form; the loss is that
of `task.loss`.

With G = sum y x^T = W S, S = sum x x^T, a prediction W p(S) x_q integrates over W and the query to
(sigma^2 / 2) E tr (I - p(S))^2: only the moments E tr S^k remain, and they are exact sums over
coinciding pairs.
"""

from dataclasses import dataclass

import numpy as np

KAPPA = 1.8  # E x^4 / (E x^2)^2 of a uniform x


@dataclass(frozen=True)
class TwoSteps:
    """Two steps of gradient descent, prediction A G x_q - B G S x_q, and its mean loss."""

    A: float
    B: float
    loss: float


def variance(r: float) -> float:
    """Return sigma^2 = r^2 / 3 of x ~ U(-r, r)."""
    return r**2 / 3


def best_beta(f: int, N: int, r: float = 1.0) -> float:
    """Return eta / N of the best single step."""
    return 1 / (variance(r) * (N - 2 + KAPPA + f))


def zero_loss(f: int, r: float = 1.0) -> float:
    """Return the loss of predicting zero."""
    return f * variance(r) / 2


def best_loss(f: int, N: int, r: float = 1.0) -> float:
    """Return L*, the loss of the best single step."""
    return zero_loss(f, r) * (1 - N / (N - 2 + KAPPA + f))


def one_step_loss(beta: float, f: int, N: int, r: float = 1.0) -> float:
    """Return the loss of one step with eta / N = beta on tasks of scale r, whichever scale beta was
    chosen for."""
    s2 = variance(r)
    return zero_loss(f, r) * (1 - 2 * beta * N * s2 + beta**2 * N * s2**2 * (N - 2 + KAPPA + f))


def moments(f: int, N: int, r: float = 1.0) -> tuple[float, float, float, float]:
    """Return E tr S^k for k = 1..4: sums over which of the k pairs coincide."""
    s = variance(r)
    m2, m4, m6, m8 = (r ** (2 * k) / (2 * k + 1) for k in (1, 2, 3, 4))  # E x^2k of one coordinate
    two = f * (f - 1)
    three = f * (f - 1) * (f - 2)
    four = f * (f - 1) * (f - 2) * (f - 3)
    n4 = f * m4 + two * m2**2  # E |x|^4
    n6 = f * m6 + 3 * two * m4 * m2 + three * m2**3  # E |x|^6
    n8 = f * m8 + 4 * two * m6 * m2 + 3 * two * m4**2 + 6 * three * m4 * m2**2 + four * m2**4
    N2 = N * (N - 1)
    N3 = N * (N - 1) * (N - 2)
    N4 = N * (N - 1) * (N - 2) * (N - 3)
    crossed = f * m4**2 + 3 * two * s**4  # E (x . z)^4
    return (
        N * f * s,
        N * n4 + N2 * f * s**2,
        N * n6 + 3 * N2 * s * n4 + N3 * f * s**3,
        N * n8 + N2 * (4 * s * n6 + 2 * n4**2 / f + crossed) + 6 * N3 * s**2 * n4 + N4 * f * s**4,
    )


def two_step_loss(A: float, B: float, f: int, N: int, r: float = 1.0) -> float:
    """Return (sigma^2 / 2) E tr (I - A S + B S^2)^2."""
    m1, m2, m3, m4 = moments(f, N, r)
    return variance(r) / 2 * (f - 2 * A * m1 + (A**2 + 2 * B) * m2 - 2 * A * B * m3 + B**2 * m4)


def two_steps_free(f: int, N: int, r: float = 1.0) -> TwoSteps:
    """Return the best A and B, each step with scales of its own: 2 x 2 least squares."""
    m1, m2, m3, m4 = moments(f, N, r)
    A, B = np.linalg.solve(np.array([[m2, -m3], [-m3, m4]]), np.array([m1, -m2]))
    return TwoSteps(float(A), float(B), two_step_loss(A, B, f, N, r))


def two_steps_shared(f: int, N: int, r: float = 1.0) -> TwoSteps:
    """Return the best single rate for both steps: A = 2 h, B = h^2 with h = eta / N, at the minimum
    of a quartic."""
    m1, m2, m3, m4 = moments(f, N, r)
    roots = np.roots([m4, -3 * m3, 3 * m2, -m1])
    h = float(roots[np.abs(roots.imag).argmin()].real)  # the quartic is convex: one root is real
    return TwoSteps(2 * h, h**2, two_step_loss(2 * h, h**2, f, N, r))
