"""How long a visitor waits: opening a shipped run, and each panel from view to JSON; run by hand:

    python tests/bench/bench_panels.py

Wanted: a panel in 0.3 s up to 128 positions and 0.5 s at 256; a shipped run open in 1 s. Medians of five, after one
warm-up, without the browser's own drawing.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from icl_core import device, registry
from icl_core.runs import store

ROUNDS = 5


def median(work: Callable[[], object]) -> float:
    """Seconds of the middle one of five."""
    work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _size(config: dict) -> str:
    """What makes a run of an experiment slow to draw: its positions, or its dimension and layers."""
    names = ("T",) if "T" in config else ("d", "layers")
    return ", ".join(f"{name} = {config[name]}" for name in names if name in config)


def main() -> None:
    """Print a line a panel, for the first shipped run of each length."""
    device.set_threads(1)
    for experiment_id in registry.experiment_ids():
        experiment = registry.experiment(experiment_id)
        headers = [h for h in store.default().headers(experiment_id) if h.origin == "shipped"]
        first = {_size(header.config): header for header in reversed(headers)}
        for size, header in sorted(first.items()):
            run = store.default().load(header)
            assert run is not None
            opened = median(lambda header=header: store.default().load(header))
            print(f"{experiment_id}, {size}: opens in {opened:.3f} s")
            view = experiment.view()
            if hasattr(view, "length"):
                view = replace(view, length=header.config["T"])
            for drawing in experiment.drawings:
                if drawing.applies(run.config):
                    seconds = median(
                        lambda d=drawing, run=run, view=view: json.dumps(d.draw(run, view).figure.to_dict())
                    )
                    print(f"  {drawing.name:13s} {seconds:.3f} s")


if __name__ == "__main__":
    main()
