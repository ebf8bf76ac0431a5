"""Write the files of this folder: `python tests/inputs/matrices/make.py`. Always the same bytes."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import save

SIZES = {"N": 4, "T": 32, "d": 16}
SQUARE = ("R1", "V2", "W_K1", "W_K2", "W_O2")
SHAPES = {"W_E": "Nd", "P": "Td", "W_U": "Nd", **dict.fromkeys(SQUARE, "dd")}
TASK = {"triggers": "fixed", "K": 1, "outputs": "bigram", "no_repeat": True}


def ordinary() -> dict[str, np.ndarray]:
    """Return Gaussian matrices of variance 1 / d."""
    normal = np.random.default_rng(0).normal
    return {
        name: normal(0, SIZES["d"] ** -0.5, [SIZES[letter] for letter in letters]).astype("f4")
        for name, letters in SHAPES.items()
    }


def times(factor: float) -> dict[str, np.ndarray]:
    """Return the ordinary matrices, all times one factor."""
    return {name: (array.astype(float) * factor).astype("f4") for name, array in ordinary().items()}


def zero(name: str) -> dict[str, np.ndarray]:
    """Return the ordinary matrices, one of them zero."""
    matrices = ordinary()
    return {**matrices, name: np.zeros_like(matrices[name])}


def equal_rows(name: str, rows: int) -> dict[str, np.ndarray]:
    """Return the ordinary matrices, the first rows of one of them equal."""
    matrices = ordinary()
    matrices[name][:rows] = matrices[name][0]
    return matrices


def contents() -> Mapping[str, bytes]:
    """Return the files by name."""
    run = {"run": json.dumps({"config": TASK})}
    matrices = {
        "ordinary": ordinary(),
        "zero_W_U": zero("W_U"),
        "zero_P": zero("P"),
        "zero_R1": zero("R1"),
        "zero_V2": zero("V2"),
        "equal_rows_W_U": equal_rows("W_U", 4),
        "two_equal_rows_W_E": equal_rows("W_E", 2),
        "times_1e4": times(1e4),
        "times_1e7": times(1e7),
        "times_1e-9": times(1e-9),
        "subnormal": times(1e-40),
        "escape_in_name": {**ordinary(), "a\x1b]0;title\x07\nb\u202ec": np.zeros(1, "f4")},
    }
    files = {name: save(arrays) for name, arrays in matrices.items()}
    of_run = {f"final/{name}": array for name, array in ordinary().items()}
    return {**files, "of_a_run": save(of_run, run)}


if __name__ == "__main__":
    for name, content in contents().items():
        (Path(__file__).parent / f"{name}.safetensors").write_bytes(content)
