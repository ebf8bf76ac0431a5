"""The command line: everything but the dashboard.

list · show, run, sweep, figure EXPERIMENT · a command for each kind of document FILE · claims ·
build · gallery · work
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import CannotDraw, Experiment, Preset
from icl_core.contract.knobs import BadSetting
from icl_core.findings import claims_table, findings
from icl_core.jobs import scheduler_address
from icl_core.jobs.terminal import Failed, train_or_load
from icl_core.runs import documents, store

FAILED = 1  # exit codes; 0 is success
BAD_VALUE = 2
INTERRUPTED = 130

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def main(arguments: Sequence[str] | None = None, program: str = "python -m icl_core") -> int:
    """Run one command of `program` and return its exit code.

    The code is 0 for success, 1 if a training or a claim failed, 2 for bad values, 130 for Ctrl-C.
    `arguments` are those of the process if they are left out.
    """
    options = _parser(program).parse_args(arguments)
    try:
        if getattr(options, "scheduler", None):
            scheduler_address.choose_scheduler(options.scheduler)
        return options.command(options)
    except (BadSetting, CannotDraw) as problem:
        print(problem, file=sys.stderr)
        return BAD_VALUE
    except Failed as problem:
        print(problem, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program, description="Train, draw and check the experiments."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(
        name: str, command: Callable[[argparse.Namespace], int], about: str
    ) -> argparse.ArgumentParser:
        command_parser = commands.add_parser(name, help=about, description=about)
        command_parser.set_defaults(command=command)
        return command_parser

    add("list", _list, "list the papers and their experiments")
    show = add("show", _show, "explain an experiment, its settings and presets")
    show.add_argument("experiment")
    _add_experiment_commands(add)
    for name, kind in registry.document_kinds().items():
        keep = add(name, partial(_keep, name), kind.command)
        keep.add_argument("file", type=Path, help=kind.file)
    claims = add("claims", _claims, "list what the papers claim and what was measured")
    claims.add_argument("--json", action="store_true", help="print a JSON list")
    build = add("build", _build, "make the shipped runs; goes on where it was interrupted")
    build.add_argument("experiment", nargs="*")
    build.add_argument(
        "--preset", action="append", metavar="NAME", help="only presets of this name"
    )
    build.add_argument("--jobs", type=int, metavar="N", help="trainings at once")
    _add_scheduler(build)
    gallery = add("gallery", _gallery, "draw the gallery's pictures of the shipped runs anew")
    gallery.add_argument("experiment", nargs="*")
    work = add("work", _work, "train what was asked for; started by the dashboard when needed")
    work.add_argument("--once", action="store_true", help="one job at most")
    work.add_argument(
        "--server", type=int, metavar="PID", help="wait as long as this process lives"
    )
    work.add_argument(
        "--slots", type=int, metavar="N", help="do nothing if N workers are there already"
    )
    return parser


def _add_experiment_commands(add: AddCommand) -> None:
    """Add the commands that take an experiment and its settings."""
    run = add("run", _run, "train one setting, or load it, and print its metrics")
    _add_setting(run)
    run.add_argument("--json", action="store_true", help="print the metrics as a JSON list")
    sweep = add(
        "sweep",
        _sweep,
        "train a grid of settings and print their metrics; goes on where it was interrupted",
    )
    _add_setting(sweep)
    sweep.add_argument(
        "--over", nargs="+", action="extend", required=True, metavar="NAME=VALUE,…", help="the grid"
    )
    sweep.add_argument("--seeds", type=int, metavar="N", help="seeds of every run")
    sweep.add_argument("--jobs", type=int, metavar="N", help="trainings at once")
    sweep.add_argument("--json", action="store_true", help="print a JSON list of the cells")
    figure = add("figure", _figure, "draw a run into a file")
    _add_setting(figure)
    figure.add_argument(
        "--view", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="what is shown"
    )
    figure.add_argument("--drawing", metavar="NAME", help="only this drawing")
    figure.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="ends in .html or .json"
    )


def _add_setting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="paper.name, as in `list`")
    parser.add_argument(
        "--preset", metavar="NAME", help="start from this preset, else from the first"
    )
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="change settings",
    )
    _add_scheduler(parser)


def _add_scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler", metavar="tcp://HOST:PORT", help="train on the workers of this Dask scheduler"
    )


def _list(options: argparse.Namespace) -> int:
    for paper_name, paper in registry.papers().items():
        print(f"{paper.title} ({paper.authors}, {paper.year})")
        for name, version in paper.experiments.items():
            title = registry.experiment(f"{paper_name}.{name}").title
            print(f"  {paper_name}.{name:<24} {title} (version {version})")
    return 0


def _show(options: argparse.Namespace) -> int:
    experiment = registry.experiment(options.experiment)
    paper_name = options.experiment.partition(".")[0]
    print(f"{experiment.title}\n\n{experiment.about.strip()}\n")
    print("Settings (--set) and their defaults:")
    _print_knobs(experiment.config)
    print("\nView (--view):")
    _print_knobs(experiment.view)
    print("\nPresets (--preset):")
    for preset in experiment.presets:
        print(f"  {preset.name:<16} {preset.title}. {preset.about}")
    print("\nDrawings (--drawing): " + ", ".join(drawing.name for drawing in experiment.drawings))
    print("\nGlossary:")
    for code, symbol, meaning in registry.papers()[paper_name].glossary:
        print(f"  {code:<16} {symbol:<12} {meaning}")
    return 0


def _print_knobs(settings_class: type) -> None:
    for name, knob in knobs.knobs_of(settings_class).items():
        print(f"  {name}={knob.default!s:<12} {knob.label}: {knob.reach}. {knob.help}".rstrip())


def _run(options: argparse.Namespace) -> int:
    _, _, config = _experiment_and_config(options)
    header = train_or_load(options.experiment, config)
    _print_findings(findings.of_run(header), options.json)
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from icl_core.sweeps import setting_grid, sweep, terminal

    _, _, base = _experiment_and_config(options)
    grid = setting_grid.parse(options.experiment, options.over, base, options.seeds)
    status = terminal.carry_out(sweep.Sweep(grid), options.jobs)
    if options.json:
        print(_json([terminal.row(outcome) for outcome in status.outcomes]))
    else:
        print(terminal.table(status))
    return 0 if status.counts[sweep.DONE] == len(status.outcomes) else FAILED


def _figure(options: argparse.Namespace) -> int:
    from icl_core.findings import export

    if options.out.suffix not in (".html", ".json"):
        raise BadSetting(f"--out must end in .html or .json, got {str(options.out)!r:.80}")
    experiment, preset, config = _experiment_and_config(options)
    names = [drawing.name for drawing in experiment.drawings]
    if options.drawing not in (None, *names):
        raise BadSetting(
            f"--drawing must be one of {', '.join(names)}, got {options.drawing!r:.80}"
        )
    default_view = experiment.view(**preset.view)
    view = settings_io.parse(experiment.view, _pairs(options.view), default_view)
    header = train_or_load(options.experiment, config)
    run = store.default().load(header)
    if run is None:
        raise Failed("\n".join(store.default().messages()) or f"the run {header.key} is gone")
    panels = {
        drawing.name: drawing.panel(run, view)
        for drawing in experiment.drawings
        if options.drawing in (None, drawing.name) and drawing.applies(run.config)
    }
    write = export.json_text if options.out.suffix == ".json" else export.html_text
    page = write(experiment.title, experiment.headline(run, view), panels)
    try:
        options.out.write_text(page, encoding="utf-8")
    except OSError as problem:
        raise BadSetting(
            f"--out must be a file that can be written, got {problem!s:.200}"
        ) from problem
    return 0


def _experiment_and_config(options: argparse.Namespace) -> tuple[Experiment, Preset, Any]:
    """Return the experiment, the preset and the config that the options name."""
    experiment = registry.experiment(options.experiment)
    presets = {preset.name: preset for preset in experiment.presets}
    if options.preset is None:
        preset = experiment.presets[0]
    elif options.preset in presets:
        preset = presets[options.preset]
    else:
        raise BadSetting(
            f"--preset must be one of {', '.join(presets)}, got {options.preset!r:.80}"
        )
    config = settings_io.parse(experiment.config, _pairs(options.set), preset.config)
    return experiment, preset, config


def _pairs(words: list[str]) -> dict[str, str]:
    """Return the values of words like "NAME=VALUE" by name."""
    for word in words:
        if "=" not in word:
            raise BadSetting(f"a setting must be written NAME=VALUE, got {word!r:.80}")
    return dict(word.split("=", 1) for word in words)


def _keep(kind: str, options: argparse.Namespace) -> int:
    print("\n".join(documents.keep_file(kind, options.file)))
    return 0


def _claims(options: argparse.Namespace) -> int:
    _print_findings(findings.collect(store.default()), options.json)
    return 0


def _build(options: argparse.Namespace) -> int:
    from icl_core import build

    if options.jobs is not None and options.jobs < 1:
        raise BadSetting(f"--jobs must be at least 1, got {options.jobs}")
    built, problems = build.build_runs(options.experiment, options.preset, options.jobs)
    _print_findings(built)
    for problem in problems:
        print(problem, file=sys.stderr)
    return FAILED if problems else 0


def _gallery(options: argparse.Namespace) -> int:
    from icl_core.findings import gallery

    problems = gallery.write(options.experiment or registry.experiment_ids())
    for problem in problems:
        print(problem, file=sys.stderr)
    return FAILED if problems else 0


def _print_findings(measured: Iterable[findings.Finding], as_json: bool = False) -> None:
    rows = [finding.row() for finding in measured]
    print(_json(rows) if as_json else claims_table.table(rows))


def _json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=1, ensure_ascii=False)


def _work(options: argparse.Namespace) -> int:
    from icl_core.cluster import dispatcher

    dispatcher.work(options.once, options.slots, options.server)
    return 0
