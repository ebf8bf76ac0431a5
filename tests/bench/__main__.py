"""Print how fast everything is: `python -m tests.bench [--all] [--write] [birth gdssm …]`, on idle
cores.

Every `bench_<name>.py` beside this file yields rows from its `rows()`. Training steps are compared
by processor time, taken by turns; what a visitor waits for is time on the clock. Nothing is
asserted. `--write` also puts the rows of each benchmark, with machine and date, in place of its
table in README.md beside this file.
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

README = Path(__file__).with_name("README.md")
HEAD = "| what | ratio or time | how it was measured |\n|---|---|---|\n"


def names() -> list[str]:
    """Return the names of the benchmarks."""
    return sorted(
        path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")
    )


def machine() -> str:
    """Return the machine and the date: the processor, how busy it is, and the versions."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")),
        platform.processor(),
    )
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{os.cpu_count()} cores, {model or platform.machine()}{gpu}, load "
        f"{os.getloadavg()[0]:.1f}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"{datetime.now(UTC):%Y-%m-%d}"
    )


def print_rows(name: str) -> list[str] | None:
    """Print and return the rows of one benchmark, each as soon as it is measured; None if it
    failed."""
    rows = []
    try:
        for what, value, remark in import_module(f"tests.bench.bench_{name}").rows():
            rows.append(f"| {what} | {value} | {remark} |")
            print(rows[-1], flush=True)
    except Exception:  # the others are still worth having
        traceback.print_exc()
        return None
    return rows


def replace_table(text: str, name: str, where: str, rows: list[str]) -> str:
    """Return the document with new content between the markers of the benchmark called `name`.

    `where` says on which machine and when the rows were measured. Raises `ValueError` if the
    document has no such markers.
    """
    start = f"<!-- bench {name} -->\n"
    end = f"<!-- end {name} -->\n"
    if start not in text or end not in text:
        raise ValueError(f"expected the markers of {name} in the document, got none")
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    table = "".join(f"{row}\n" for row in rows)
    return f"{before}{start}{where}\n\n{HEAD}{table}{end}{after}"


def main() -> int:
    """Print the table and return the exit code: 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="One table of how fast everything is."
    )
    parser.add_argument(
        "name", nargs="*", choices=[[], *names()], help=f"of {', '.join(names())}; else all"
    )
    parser.add_argument(
        "--all", action="store_true", help="the long lists too, and a thousand reruns"
    )
    parser.add_argument(
        "--write", action="store_true", help="replace the tables in tests/bench/README.md, too"
    )
    options = parser.parse_args()
    timing.thorough = options.all
    timing.one_thread()
    where = machine()
    print(f"{where}\n\n{HEAD}", end="", flush=True)
    failed = []
    for name in options.name or names():
        rows = print_rows(name)
        if rows is None:
            failed.append(name)
        elif options.write:
            command = f"`python -m tests.bench{' --all' * options.all} {name}`"
            text = replace_table(README.read_text(), name, f"{command}: {where}.", rows)
            README.write_text(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
