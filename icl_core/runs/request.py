"""A run that is asked for, as one value: page, queue, store and worker hand it on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Experiment
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
