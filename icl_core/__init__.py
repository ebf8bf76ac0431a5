"""The core of the dashboard: experiments, their training and their figures, and a library over them
(`LIBRARY.md`). Never imports streamlit, and torch not before it is used."""

import importlib
from typing import TYPE_CHECKING, Any

from icl_core.machine import late_imports

if TYPE_CHECKING:
    from icl_core.contract.knobs import BadSetting
    from icl_core.contract.run import CannotDraw
    from icl_core.findings.opened import open_run
    from icl_core.jobs.state import Failed
    from icl_core.library import Comparison, LibraryRun, compare, run, sweep

late_imports.postpone()

_MODULES = {  # the modules of the library's names, which are imported when a name is first used
    "BadSetting": "contract.knobs",
    "CannotDraw": "contract.run",
    "Comparison": "library",
    "Failed": "jobs.state",
    "LibraryRun": "library",
    "compare": "library",
    "open_run": "findings.opened",
    "run": "library",
    "sweep": "library",
}
__all__ = [
    "BadSetting",
    "CannotDraw",
    "Comparison",
    "Failed",
    "LibraryRun",
    "compare",
    "open_run",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Return a name of the library; raises `AttributeError` for any other."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the names of the module, those of the library among them."""
    return sorted({*globals(), *__all__})
