"""A run that is asked for, as one value: page, queue, store and worker hand it on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Experiment
from icl_core.contract.settings_io import value_text
from icl_core.runs.header import key_of, stored_settings


@dataclass(frozen=True)
class Request:
    """A request for the run of an experiment's settings, at the experiment's present version.

    id      the experiment's id, paper.name
    config  the typed settings
    """

    id: str
    config: Any

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment. Imports it; `BadSetting` if there is none of this id."""
        return registry.experiment(self.id)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The settings by field, as files hold them."""
        return stored_settings(self.config)

    @cached_property
    def key(self) -> str:
        """The key of the run."""
        return key_of(self.id, self.settings)

    @property
    def version(self) -> int:
        """The experiment's version."""
        return registry.version(self.id)


def run_fields(experiment_id: str, config: Any) -> dict[str, str]:
    """Return the fields of a link to the settings of a run, those of `config` as files store
    them."""
    settings_class = registry.experiment(experiment_id).config
    defaults = {field: knob.default for field, knob in knobs.knobs_of(settings_class).items()}
    stored = stored_settings(config)
    fitted = settings_io.fitted_fields(settings_class, {**defaults, **stored})
    omitted = {field: defaults[field] for field in fitted - stored.keys()}
    return {field: value_text(value) for field, value in {**stored, **omitted}.items()}
