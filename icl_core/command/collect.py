"""The commands over all runs: `claims`; `build` and `gallery`, which make what is shipped; and
`site`, which writes it as plain files."""

import argparse
from pathlib import Path

from icl_core import registry
from icl_core.command.experiment_options import AddCommand, add_json, add_scheduler
from icl_core.command.guard import DONE, FAILED
from icl_core.command.printing import print_findings, print_problems
from icl_core.contract.knobs import BadSetting
from icl_core.jobs.faults import Failed


def add_commands(add: AddCommand) -> None:
    """Add `claims`, `build`, `gallery` and `site`."""
    claims = add("claims", _claims, "list what the papers claim and what was measured")
    add_json(claims, "the claims")
    build = add("build", _build, "make the shipped runs; goes on where it was interrupted")
    build.add_argument("experiment", nargs="*", help="all if none is named")
    build.add_argument(
        "--preset", action="append", metavar="NAME", help="only presets of this name"
    )
    build.add_argument("--jobs", type=int, metavar="N", help="trainings at once")
    add_scheduler(build)
    add_json(build, "the metrics")
    gallery = add("gallery", _gallery, "take the gallery's pictures of the shipped runs anew")
    gallery.add_argument("experiment", nargs="*", help="all if none is named")
    site = add("site", _site, "write the shipped runs as plain files that need no server")
    site.add_argument("folder", metavar="OUT", help="an empty folder, or a new one")


def _claims(options: argparse.Namespace) -> int:
    from icl_core.evidence import measurements
    from icl_core.runs import store

    print_findings(measurements.collect(store.default()), options.json)
    return DONE


def _build(options: argparse.Namespace) -> int:
    from icl_core import build

    if options.jobs is not None and options.jobs < 1:
        raise BadSetting(f"--jobs must be at least 1, got {options.jobs}")
    built, problems = build.build_runs(options.experiment, options.preset, options.jobs)
    print_findings(built, options.json)
    print_problems(problems)
    return FAILED if problems else DONE


def _gallery(options: argparse.Namespace) -> int:
    from icl_core import build
    from icl_core.share import gallery

    build.check_writable()
    ids = options.experiment or registry.experiment_ids()
    problems = gallery.write(ids, anew=True)
    missing = [id for id in ids if not gallery.can_draw(id)]
    print_problems([*problems, *(f"{id} has no shipped run to draw" for id in missing)])
    is_named_missing = bool(options.experiment and missing)
    return FAILED if problems or is_named_missing else DONE


def _site(options: argparse.Namespace) -> int:
    from concurrent.futures.process import BrokenProcessPool

    from icl_core.runs.file import Damaged
    from icl_core.site.write import write_site

    folder = Path(options.folder)
    try:
        write_site(folder)
    except FileExistsError as problem:
        raise BadSetting(str(problem)) from None
    except (OSError, Damaged, BrokenProcessPool) as problem:
        raise Failed(f"the site could not be written: {problem}") from None
    print(f"Open {folder / 'index.html'} in a browser, or put the folder on any host.")
    return DONE
