"""Import torch, pandas and jaxtyping when something of them is first used, and not before.

They take two seconds and 150 MiB. Every experiment imports them at the top of its files, but most
of what is done with an experiment needs none of them: its title, settings, presets, claims, stored
values. So what a module of `icl_core` imports are stand-ins, which import the library once they are
asked for something. Nobody else sees them: `sys.modules` has none, and whoever imports torch beside
`icl_core` gets torch.

What is only named at the top of a file has a stand-in of its own: classes in signatures, functions
that are imported by name, `@torch.no_grad()`. `tests/test_imports.py` imports every file and says
which asks for more. A worker imports torch before its experiments, and trains without stand-ins.
Python 3.15 is to have such imports of its own (PEP 810).
"""

import builtins
import importlib
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache, wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar

# The modules that have stand-ins, each with the classes that have.
_CLASSES = {
    "torch": ("Generator", "Tensor", "device", "dtype"),
    "torch.nn": (),
    "torch.nn.functional": (),
    "torch.optim": ("Optimizer",),
    "pandas": ("DataFrame", "Index", "Series"),
    "jaxtyping": ("Bool", "Complex", "Float", "Int", "Shaped"),
}
_COMPILER = "torch._dynamo"
_lock = Lock()
_complete: dict[str, ModuleType] = {}  # the modules that `import_now` has imported
# What is to be done once a library is imported.
_follow_ups: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)


def postpone() -> None:
    """Give the modules of `icl_core` that are imported from now on stand-ins for those libraries
    that are not imported yet."""
    sys.meta_path.insert(0, _OwnModules())


def is_imported(library: str) -> bool:
    """Return whether a library, such as torch, is imported."""
    return library in sys.modules


def import_now(module: str) -> Any:
    """Return the module itself, for which its library is imported if it is not yet."""
    if module in _complete:
        return _complete[module]
    itself = importlib.import_module(module)
    with _lock:
        follow_ups = _follow_ups.pop(module.partition(".")[0], [])
    for act in follow_ups:
        act()
    _complete[module] = itself
    return itself


def once_imported(library: str, act: Callable[[], None]) -> None:
    """Call `act` when the library is imported; now, if it is already."""
    with _lock:
        is_late = not is_imported(library)
        if is_late:
            _follow_ups[library].append(act)
    if not is_late:
        act()


def postpone_compiler() -> None:
    """Put a stand-in in the place of torch._dynamo if it is not imported yet. Imports torch."""
    if _COMPILER not in sys.modules:
        sys.meta_path.insert(0, _CompilerModules())
        sys.modules[_COMPILER] = import_now("torch")._dynamo = _LateCompiler(_COMPILER)


def _import_compiler() -> Any:
    """Return torch._dynamo itself."""
    with _lock:
        if isinstance(sys.modules.get(_COMPILER), _LateCompiler):
            del sys.modules[_COMPILER]
    return importlib.import_module(_COMPILER)


class _LateCompiler(ModuleType):
    """A stand-in for torch's compiler of programs, whose import takes a second and a half and 150
    MiB. Optimisers import it at their first step for these two functions, which matter only within
    a function that is being compiled."""

    __path__: ClassVar[list[str]] = []  # a package: `_CompilerModules` is asked for what is in it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_import_compiler(), name)

    @staticmethod
    def graph_break() -> None:
        """Do nothing: no program is being compiled."""

    @staticmethod
    def disable(function: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
        """Return the function, which no program has in it."""
        return function


class _LateModule(ModuleType):
    """A stand-in for a module."""

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if not is_imported(self.__name__.partition(".")[0]):
            if name.startswith("__") and name != "__version__":
                raise AttributeError(name)  # who looks at all values of a module asks for these
            if path in _CLASSES:
                return _STAND_INS[path]
            if name in _CLASSES[self.__name__]:
                return _LateClass(name, (), {"__module__": self.__name__})
            if path == "torch.no_grad":
                return _LateNoGrad()
            if self.__name__ == "torch.nn.functional":
                return _late_function(lambda: getattr(import_now(self.__name__), name))
        return getattr(import_now(self.__name__), name)


class _LateClass(type):
    """A stand-in for a class of such a module. To derive from it imports the library."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, members)
        classes = tuple(base._itself() if isinstance(base, _LateClass) else base for base in bases)
        return type(classes[0])(name, classes, members)

    def _itself(cls) -> type:
        return getattr(import_now(cls.__module__), cls.__name__)

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return cls._itself()(*arguments, **named)

    def __instancecheck__(cls, instance: Any) -> bool:
        library = cls.__module__.partition(".")[0]
        return is_imported(library) and isinstance(instance, cls._itself())

    def __subclasscheck__(cls, other: type) -> bool:
        library = cls.__module__.partition(".")[0]
        return other is cls or (is_imported(library) and issubclass(other, cls._itself()))

    def __getitem__(cls, _: Any) -> type:
        return cls  # Float[Tensor, "d d"]: shapes are checked in tests, which have no stand-ins

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls._itself(), name)


def _late_function(find: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a stand-in for the function that `find` returns, at its first call."""
    found = cache(find)
    return lambda *arguments, **named: found()(*arguments, **named)


class _LateNoGrad:
    """A stand-in for torch.no_grad, for functions and generators that it decorates."""

    def __call__(self, function: Callable[..., Any] | None = None) -> Any:
        if function is None:
            return _LateNoGrad()
        return wraps(function)(_late_function(lambda: import_now("torch").no_grad(function)))

    def __enter__(self) -> None:
        self._context = import_now("torch").no_grad()
        self._context.__enter__()

    def __exit__(self, *problem: Any) -> None:
        self._context.__exit__(*problem)


_STAND_INS = {name: _LateModule(name) for name in _CLASSES}


def _import(name: str, globals=None, locals=None, fromlist=(), level=0) -> Any:
    """Return the stand-in of a module, or what `__import__` returns."""
    library = name.partition(".")[0]
    if library in _CLASSES and not level:
        if name in _CLASSES and not is_imported(library):
            return _STAND_INS[name if fromlist else library]
        import_now(library)
    return builtins.__import__(name, globals, locals, fromlist, level)


_BUILTINS = {**vars(builtins), "__import__": _import}


class _OwnModules(MetaPathFinder):
    """Finds the modules of `icl_core`, and has them import by `_import`."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname.startswith("icl_core.") else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _OwnLoader(spec.loader.name, spec.loader.path)
        return spec


class _OwnLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        """Run the module with an `__import__` of its own, which its import statements call."""
        vars(module)["__builtins__"] = _BUILTINS
        super().exec_module(module)


class _CompilerModules(MetaPathFinder, Loader):
    """Imports the compiler before a module of it, where it has a stand-in."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        is_late = isinstance(sys.modules.get(_COMPILER), _LateCompiler)
        if not is_late or not fullname.startswith(f"{_COMPILER}."):
            return None
        _import_compiler()
        # The module must not be executed a second time, as it would be by its own spec. It gets
        # that back once Python has taken this one for it.
        module = importlib.import_module(fullname)
        spec = ModuleSpec(fullname, self, loader_state=module.__spec__)
        module.__spec__ = spec
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, which is imported already."""
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state
