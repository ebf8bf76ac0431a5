"""The core of the dashboard: experiments, their training and their figures, and a library over them
(`LIBRARY.md`). Never imports streamlit, and torch not before it is used."""

from typing import TYPE_CHECKING, Any

from icl_core.machine import late_imports

if TYPE_CHECKING:
    from icl_core.library import (
        BadSetting,
        CannotDraw,
        Comparison,
        Failed,
        LibraryRun,
        compare,
        open_run,
        run,
        sweep,
    )

late_imports.postpone()

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
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from icl_core import library  # only now: it takes pandas and more

    return getattr(library, name)


def __dir__() -> list[str]:
    """Return the names of the module, those of the library among them."""
    return sorted({*globals(), *__all__})
