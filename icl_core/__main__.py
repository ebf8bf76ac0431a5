"""Run `python -m icl_core`; the commands are in `icl_core.command.cli`."""

import sys

from icl_core.command import guard


def _main() -> int:
    from icl_core.command.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(guard.run(_main))
