"""What every experiment computes, in a few numbers: `python -m tests.golden` writes golden.json for
new versions.

A run of ten steps of the default setting and the metrics on it, rounded to four digits. An entry
whose version has not been raised is never overwritten: either the change is mended, or the version
is raised and the shipped runs are built. Where a claim is measured in another way and the run is
the same, delete its entry first, and look that "run" comes out as it was. Where SMALLER or FEWER
change, look that the entries are those of the present runs, then delete those of the experiments
that change.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from icl_core import registry  # noqa: E402
from icl_core.contract.experiment import Run  # noqa: E402
from icl_core.contract.knobs import knobs_of  # noqa: E402
from tests.recorder import Recorder  # noqa: E402

FILE = Path(__file__).parent / "golden.json"
STEPS = ("steps", "gate_steps", "tuning", "beside")  # settings that count training steps
TEN = 10
# What a setting has here: a value that needs nothing from outside, where it offers this value.
WITHOUT_WEIGHTS = {"model": "planted"}
# What takes most of the time of ten steps and computes the same of less: settings of an experiment
# at which its claims are still measured,
SMALLER: dict[str, dict[str, Any]] = {
    "birth.constructed": {"d": 64},
    "birth.data": {"T": 32, "d": 64, "batch": 16},
    "birth.dimension": {"T": 32, "batch": 16, "one_step_T": 64},
    "birth.induction": {"T": 32, "d": 64, "batch": 32},
    "birth.length": {"d": 64, "batch": 16},
    "birth.transformer": {"T": 32, "heads": 2, "batch": 16},
    "birth.pretrained": {"length": 16, "sequences": 2},
    "gdssm.comparison": {"batch": 32, "parameters": 1000},
    "gdssm.learns": {"batch": 16, "widths": "1/2, 1"},
    "gdssm.sizes": {"pairs": "5, 10", "features": "5, 10"},
    "gdssm.states": {"f": 5, "N": 5},
    "learners.trained": {"n": 5, "batch": 16},
    "memformers.learned": {"sizes": "10, 1000"},
    "memformers.mixture": {"layers": 2},
    "memformers.speed": {"layers": 2, "rates": ".01, .1"},
    "memformers.theorems": {"layers": 2},
    "memformers.variances": {"layers": 2},
}
# and in modules the numbers of what measures are means of. Means over fewer positions would show it
# if a processor that rounds otherwise has one prediction more right.
FEWER: dict[str, dict[str, Any]] = {
    "birth.data.train": {"WATCHED": 64, "EVALUATED": 256},
    "birth.shared.train": {"WATCHED": 64, "EVALUATED": 256},
    "birth.laboratory.sweeps": {"ASKED": 64},
    "birth.transformer.train": {"WATCHED": 64, "EVALUATED": 256, "PROBED": 2**11},
    "birth.transformer.measurements": {"WATCHED": 64},
    "learners.memory.measurements": {"TESTED_ON": 200, "MANY": 800},
    "learners.trained.train": {"TRIES": 2},
    "gdssm.shared.sequence_models.train": {
        "TUNED_ON": (101, 2**7),
        "WATCHED": (102, 2**6),
        "TEST_SET": (103, 2**8),
    },
    "learners.prompt.run": {"TUNED_ON": 64, "TESTED_ON": 64, "BROKEN_ON": 64},
}
# After ten steps of AdamW, which divides by small gradients, two processors that round otherwise
# have been seen to differ by .0014: a prediction more was right.
TOLERANCE = 2e-3


def entry(experiment_id: str, progress: Recorder | None = None) -> dict[str, Any]:
    """Version, root mean square and one projection of every tensor of the run, and the value of
    every metric."""
    experiment = registry.experiment(experiment_id)
    config = ten_steps(experiment_id)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with pytest.MonkeyPatch.context() as patch:
            for module, sizes in FEWER.items():
                for size, few in sizes.items():
                    patch.setattr(f"icl_core.papers.{module}.{size}", few)
            run = Run(config, experiment.run(config, progress or Recorder()))
            metrics = experiment.metrics(run)
    finally:
        torch.set_float32_matmul_precision(before)
    size = {name: _numbers(array) for name, array in run.tensors.items() if array.size}
    values = {metric.claim.id: _rounded(metric.value) for metric in metrics}
    return {
        "version": registry.version(experiment_id),
        "run": dict(sorted(size.items())),
        "metrics": dict(sorted(values.items())),
    }


def ten_steps(experiment_id: str) -> Any:
    """The default setting with ten training steps, and SMALLER."""
    experiment = registry.experiment(experiment_id)
    knobs = knobs_of(experiment.config)
    few: dict[str, Any] = {
        name: TEN for name in STEPS if name in knobs and knobs[name].kind == "slider"
    }
    for name, value in WITHOUT_WEIGHTS.items():
        if name in knobs and value in knobs[name].options:
            few[name] = value
    return replace(experiment.presets[0].config, **few, **SMALLER.get(experiment_id, {}))


def _numbers(array: np.ndarray) -> list[float | None]:
    """The size of its entries, and a sum with weights of a fixed seed, which sees signs, order and
    transposition."""
    entries = np.nan_to_num(np.asarray(array, float).ravel())
    weights = np.random.default_rng(7).normal(size=entries.size) / entries.size**0.5
    return [_rounded(np.sqrt(np.mean(entries**2))), _rounded(weights @ entries)]


def _rounded(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.4g}")


def complaint(experiment_id: str, recorded: dict[str, Any] | None, computed: dict[str, Any]) -> str:
    """A sentence if what is `computed` now is not what golden.json knows; else empty."""
    version = computed["version"]
    if recorded is None or recorded["version"] != version:
        had = f"version {recorded['version']}" if recorded else "nothing"
        return (
            f"golden.json knows {had} of {experiment_id}, which is version {version}: "
            "python -m tests.golden"
        )
    for part in ("run", "metrics"):
        names = sorted(recorded[part].keys() ^ computed[part].keys())
        differing = [
            n
            for n in recorded[part].keys() & computed[part].keys()
            if not _equal(recorded[part][n], computed[part][n])
        ]
        if names or differing:
            changes = "; ".join(
                f"{n} {recorded[part][n]} → {computed[part][n]}" for n in sorted(differing)[:5]
            )
            return (
                f"{experiment_id} computes something else than version {version} did: raise "
                f"its version, or mend it ({part}: "
                f"{changes or 'other names: ' + ', '.join(names[:5])})"
            )
    return ""


def _equal(recorded: Any, computed: Any) -> bool:
    if isinstance(recorded, list):  # a projection is as exact as the entries it sums
        return computed == pytest.approx(
            recorded, rel=TOLERANCE, abs=max(1e-6, TOLERANCE * recorded[0])
        )
    if recorded is None or computed is None:
        return recorded == computed
    return computed == pytest.approx(recorded, rel=TOLERANCE, abs=1e-6)


def read() -> dict[str, Any]:
    """All entries, by experiment."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def main() -> int:
    """Write what is new; 1 if an entry of the same version would have to change."""
    recorded = read()
    faults = 0
    for name in registry.experiment_ids():
        computed = entry(name)
        if message := complaint(name, recorded.get(name), computed):
            if name in recorded and recorded[name]["version"] == computed["version"]:
                print(message, file=sys.stderr)
                faults += 1
            else:
                recorded[name] = computed
    FILE.write_text(json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
