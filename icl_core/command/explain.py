"""The commands that say what there is: `list` and `show`."""

import argparse
from typing import Any

from icl_core import registry
from icl_core.command.experiment_options import AddCommand, add_json
from icl_core.command.guard import DONE
from icl_core.command.printing import print_json
from icl_core.contract import knobs
from icl_core.contract.experiment import Experiment
from icl_core.contract.knobs import Knob
from icl_core.share import gallery


def add_commands(add: AddCommand) -> None:
    """Add `list` and `show`."""
    add_json(add("list", _list, "list the papers and their experiments"), "the papers")
    show = add("show", _show, "explain an experiment, its settings and presets")
    show.add_argument("experiment", help="paper.name, as in `list`")
    add_json(show, "the experiment")


def _list(options: argparse.Namespace) -> int:
    papers = [_paper(name) for name in registry.papers()]
    if options.json:
        print_json(papers)
        return DONE
    for paper in papers:
        print(f"{paper['title']} ({paper['authors']}, {paper['year']})")
        for experiment in paper["experiments"]:
            name = f"{paper['paper']}.{experiment['name']:<24}"
            print(f"  {name} {experiment['title']} (version {experiment['version']})")
    return DONE


def _paper(paper_name: str) -> dict[str, Any]:
    """Return a paper and its experiments as JSON."""
    paper = registry.papers()[paper_name]
    experiments = [
        {
            "experiment": f"{paper_name}.{name}",
            "name": name,
            "title": gallery.title(f"{paper_name}.{name}"),
            "version": version,
        }
        for name, version in paper.experiments.items()
    ]
    return {
        "paper": paper_name,
        "title": paper.title,
        "authors": paper.authors,
        "year": paper.year,
        "experiments": experiments,
    }


def _show(options: argparse.Namespace) -> int:
    experiment = registry.experiment(options.experiment)
    glossary = registry.papers()[options.experiment.partition(".")[0]].glossary
    if options.json:
        print_json(_explained(options.experiment, experiment, glossary))
        return DONE
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
    for code, symbol, meaning in glossary:
        print(f"  {code:<16} {symbol:<12} {meaning}")
    return DONE


def _print_knobs(settings_class: type) -> None:
    for name, knob in knobs.knobs_of(settings_class).items():
        print(f"  {name}={knob.default!s:<12} {knob.label}: {knob.reach}. {knob.help}".rstrip())


def _explained(
    experiment_id: str, experiment: Experiment, glossary: tuple[tuple[str, str, str], ...]
) -> dict[str, Any]:
    """Return what `show` says as JSON."""
    presets = [
        {
            "name": preset.name,
            "title": preset.title,
            "about": preset.about,
            "shipped": preset.shipped,
            "seeds": preset.seeds,
            "settings": knobs.values(preset.config),
            "view": dict(preset.view),
        }
        for preset in experiment.presets
    ]
    return {
        "experiment": experiment_id,
        "title": experiment.title,
        "version": registry.version(experiment_id),
        "about": experiment.about.strip(),
        "settings": _knobs_as_json(experiment.config),
        "view": _knobs_as_json(experiment.view),
        "presets": presets,
        "drawings": [drawing.name for drawing in experiment.drawings],
        "glossary": [
            {"code": code, "symbol": symbol, "meaning": meaning}
            for code, symbol, meaning in glossary
        ],
    }


def _knobs_as_json(settings_class: type) -> list[dict[str, Any]]:
    return [_knob(name, knob) for name, knob in knobs.knobs_of(settings_class).items()]


def _knob(name: str, knob: Knob) -> dict[str, Any]:
    return {
        "name": name,
        "label": knob.label,
        "kind": knob.kind,
        "default": knob.default,
        "low": knob.low,
        "high": knob.high,
        "options": list(knob.options),
        "help": knob.help,
    }
