"""One table of how fast everything is: `python -m tests.bench [--all] [birth gdssm …]`, on idle
cores.

Every `bench_<name>.py` beside this file gives rows with its `rows()`. Training steps are compared
by processor time, taken by turns; what a visitor waits for is time on the clock. Nothing is
asserted.
"""

import argparse
import os
import platform
import sys
import traceback
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import torch

from tests.bench import timing


def names() -> list[str]:
    """What can be asked for."""
    return sorted(
        path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")
    )


def machine() -> str:
    """Where and when: the processor, how busy it is, what runs on it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")),
        platform.processor(),
    )
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{os.cpu_count()} cores, {model or platform.machine()}{gpu}, load "
        f"{os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"{datetime.now(UTC):%Y-%m-%d}"
    )


def print_rows(name: str) -> bool:
    """The rows of one benchmark, each as soon as it is measured; whether all came."""
    try:
        for what, value, remark in import_module(f"tests.bench.bench_{name}").rows():
            print(f"| {what} | {value} | {remark} |", flush=True)
    except Exception:  # the others are still worth having
        traceback.print_exc()
        return False
    return True


def main() -> int:
    """Print the table; 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="One table of how fast everything is."
    )
    parser.add_argument(
        "name", nargs="*", choices=[[], *names()], help=f"of {', '.join(names())}; else all"
    )
    parser.add_argument(
        "--all", action="store_true", help="the long lists too, and a thousand reruns"
    )
    options = parser.parse_args()
    timing.thorough = options.all
    timing.one_thread()
    print(f"{machine()}\n\n| what | | |\n|---|---|---|", flush=True)
    failed = [name for name in options.name or names() if not print_rows(name)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
