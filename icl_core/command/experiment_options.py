"""The options that name an experiment and its settings, and what they name."""

import argparse
from collections.abc import Callable
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import Experiment, Preset
from icl_core.contract.knobs import BadSetting, unknown_name
from icl_core.machine import device

Command = Callable[[argparse.Namespace], int]
AddCommand = Callable[[str, Command, str], argparse.ArgumentParser]  # name, what it does, help


def add_setting(parser: argparse.ArgumentParser) -> None:
    """Add the experiment, its preset and settings, and where it is trained."""
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
    add_scheduler(parser)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add the address of a Dask scheduler."""
    parser.add_argument(
        "--scheduler", metavar="tcp://HOST:PORT", help="train on the workers of this Dask scheduler"
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that prints JSON: `what` says which."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def experiment_and_config(options: argparse.Namespace) -> tuple[Experiment, Preset, Any]:
    """Return the experiment, the preset and the config that the options name.

    A config that is too large to be trained here is refused when it is asked for: its run may be
    here. Raises `BadSetting`.
    """
    experiment = registry.experiment(options.experiment)
    presets = {preset.name: preset for preset in experiment.presets}
    if options.preset is None:
        preset = experiment.presets[0]
    elif options.preset in presets:
        preset = presets[options.preset]
    else:
        raise unknown_name("--preset", options.preset, presets)
    with device.no_memory_check():
        config = settings_io.parse(experiment.config, pairs(options.set), preset.config)
    return experiment, preset, config


def pairs(words: list[str]) -> dict[str, str]:
    """Return the values of words like "NAME=VALUE" by name. Raises `BadSetting`."""
    for word in words:
        if "=" not in word:
            raise BadSetting(f"a setting must be written NAME=VALUE, got {word!r:.80}")
    return dict(word.split("=", 1) for word in words)
