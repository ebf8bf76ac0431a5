"""Faults, injected at random moments into real processes: `python -m tests.faults [--times 50]
[killed disk …]`.

Every `fault_<name>.py` beside this file holds some. Each case has a cache of its own in a temporary
folder, with two finished runs. After each: no finished run is lost, no half-written one is seen, no
job is stuck, and what is resumed ends bit for bit as a training that nobody touched. The table says
how many cases were tried, how many survived, in how many a job was given up by design, with a
message, and trained when asked for again, and how many broke a promise.
"""

import argparse
import os
import sys

os.environ |= {"ICL_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}

from tests.faults import table


def main() -> int:
    """Print the table; 1 if anything was lost."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description="One table of what is survived."
    )
    names = table.names()
    parser.add_argument(
        "name", nargs="*", choices=[[], *names], help=f"of {', '.join(names)}; else all"
    )
    parser.add_argument("--times", type=int, default=50, help="cases of each fault")
    parser.add_argument(
        "--seed", type=int, default=int.from_bytes(os.urandom(3)), help="of all chance"
    )
    options = parser.parse_args()
    return table.show(options.name or names, options.times, options.seed)


if __name__ == "__main__":
    sys.exit(main())
