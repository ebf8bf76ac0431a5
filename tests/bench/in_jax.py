"""The plain forms of the benchmarks in JAX, compiled: `pip install jax==0.8.0` to have their rows.

Each function returns a training step's gradient as a compiled function of NumPy arrays, on one
thread, and is given the same weights and data as the plain form in torch.
"""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
Arrays = Mapping[str, np.ndarray]


def is_there() -> bool:
    """Return whether JAX is installed."""
    return find_spec("jax") is not None


def arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """Return tensors as JAX takes them."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _compiled(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled gradient in the first argument, which is computed when it returns."""
    os.environ.setdefault("XLA_FLAGS", ONE_THREAD)  # read when JAX is first imported
    import jax

    gradient = jax.jit(jax.grad(loss))
    return lambda *arguments: jax.block_until_ready(gradient(*arguments))


def birth(d: int, T: int) -> Callable[..., Any]:
    """Return the gradient of `bench_birth.plain_loss` without W_F: of (trained, frozen, inputs,
    targets, counted)."""

    def loss(trained: Any, frozen: Any, inputs: Any, targets: Any, counted: Any) -> Any:
        import jax
        import jax.numpy as jnp

        future = jnp.triu(jnp.full((T, T), -jnp.inf), 1)
        x = frozen["W_E"][inputs] + frozen["P"]
        scores = x @ (x @ trained["W_K1"].T).swapaxes(1, 2) / d**0.5
        h = x + jax.nn.softmax(scores + future) @ (x @ frozen["R1"].T)
        scores = h @ (h @ trained["W_K2"].T).swapaxes(1, 2) / d**0.5
        heads = jax.nn.softmax(scores + future) @ (h @ frozen["V2"].T) @ trained["W_O2"].T
        logits = (h + heads) @ frozen["W_U"].T
        likelihood = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)[..., 0]
        return -(likelihood * counted).sum() / counted.sum()

    return _compiled(loss)


def memformer(d: int, n: int, layers: int) -> Callable[..., Any]:
    """Return the gradient of the loss in `bench_memformers.plain_gradient`: of ((A, Γ), unit, Z,
    label)."""

    def loss(parameters: Any, unit: Any, Z: Any, label: Any) -> Any:
        import jax.numpy as jnp

        A, Gamma = parameters
        M = jnp.ones(n + 1).at[n].set(0)
        registers: list[Any] = []
        for layer in range(layers):
            Q = jnp.pad(-A[0, layer].T / unit, (0, 1))
            new = (Z * M) @ (Z.swapaxes(1, 2) @ Q @ Z)
            registers.append(jnp.zeros_like(new).at[:, d].set(new[:, d]))
            Z = Z + sum(Gamma[layer, j] * register for j, register in enumerate(registers)) / n
        return jnp.log(((-Z[:, d, n] - label) ** 2).mean())

    return _compiled(loss)


def gdssm(f: int) -> Callable[..., Any]:
    """Return the gradient of half the squared error at the query through the recurrence
    Z_t = a Z_{t-1} + C_t Q C_t^T, one seed: of (weights, windows (windows, 3, f, tasks), label (f,
    tasks))."""

    def loss(weights: Any, windows: Any, label: Any) -> Any:
        import jax
        import jax.numpy as jnp

        a, Q = weights["a"][0], weights["Q"][0]

        def read_one(Z: Any, window: Any) -> Any:
            added = jnp.einsum("kit,kl,ljt->ijt", window, Q, window)
            return a[..., None] * Z + added, None

        Z, _ = jax.lax.scan(read_one, jnp.zeros((f, f, windows.shape[-1])), windows)
        asked = jnp.einsum("kit,k->it", windows[-1], weights["q"][0])
        output = weights["beta"][0] * jnp.einsum("ijt,jt->it", Z, asked)
        return ((output - label) ** 2).mean() / 2

    return _compiled(loss)
