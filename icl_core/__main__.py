"""Run `python -m icl_core`; the commands are in `icl_core.cli`."""

import sys

from icl_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
