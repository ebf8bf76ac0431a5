"""The installed command `icl`: the dashboard when it is called alone, else a command of icl_core.

The wheel places this file as icl_dashboard/launch.py. It imports nothing of `pages`, which is found
only after Streamlit has put the dashboard's home on the path.
"""

import sys

from icl_core.command import guard

OPTIONS = ("-h", "--help", "--version")  # of the command line; all others are of `streamlit run`


def main() -> int:
    """Run what the arguments of the process ask for and return its exit code.

    Without a command, with or without options of `streamlit run`, the dashboard is started.
    """
    return guard.run(_run)


def _run() -> int:
    arguments = sys.argv[1:]
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in OPTIONS):
        return _serve(arguments)
    from icl_core.command import cli

    return cli.main(arguments, program="icl")


def _serve(options: list[str]) -> int:
    """Serve the dashboard until it is stopped. Streamlit reads the settings beside app.py, whatever
    folder the command is started in."""
    from streamlit.web.cli import main_run

    from icl_core.machine.folders import HOME

    return main_run.main([str(HOME / "app.py"), *options], prog_name="icl") or 0
