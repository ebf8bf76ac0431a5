"""Stand-ins for torch, pandas and torch's compiler, which modules of icl_core see and nobody else:
each library is imported when it is first used, and what was imported from it before is then what it
always was."""

import subprocess
import sys
import textwrap

import pytest
from house import ROOT


def alone(code: str) -> None:
    """Run code in a process of its own, where icl_core is imported before torch."""
    head = "from icl_core.machine import late_imports\n"
    subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], cwd=ROOT, check=True)


@pytest.fixture
def module(tmp_path):
    """A function that imports code as a module of icl_core, in a process of its own."""

    def run(code: str) -> None:
        name = f"tried_{len(list(tmp_path.glob('*.py')))}"
        head = "from icl_core.machine import late_imports\n"
        (tmp_path / f"{name}.py").write_text(head + textwrap.dedent(code))
        alone(f"""
        import icl_core
        icl_core.__path__.append({str(tmp_path)!r})
        import icl_core.{name}
        """)

    return run


def test_whoever_is_not_icl_core_gets_the_libraries_themselves() -> None:
    """What a notebook does with torch and pandas after icl_core, and all that it imports of it."""
    alone("""
    import sys
    import icl_core
    from icl_core import library, registry
    registry.experiment("birth.induction")
    assert not {"torch", "torch.nn", "pandas", "jaxtyping"} & sys.modules.keys()

    import pickle
    import pandas as pd
    import torch
    import torch.nn.functional as F
    from pandas import DataFrame
    from torch import Tensor, no_grad

    assert {"ones", "nn", "optim"} <= set(dir(torch)) and type(torch.ones(1)) is Tensor
    assert torch.no_grad is torch.autograd.grad_mode.no_grad is no_grad and F.pad.__doc__
    assert type(pd.DataFrame()) is DataFrame and pickle.loads(pickle.dumps(DataFrame)) is DataFrame
    assert library.sweep.__globals__["pd"].DataFrame is DataFrame

    @torch.no_grad()
    def generator(x):
        yield (2 * x).requires_grad

    @torch.no_grad
    def bare(x):
        return (2 * x).requires_grad

    x = torch.ones(1, requires_grad=True)
    assert list(generator(x)) == [False] and bare(x) is False
    """)


@pytest.mark.long
def test_what_is_named_imports_nothing(module) -> None:
    module("""
    import pandas as pd
    import torch
    from jaxtyping import Float
    from torch import Tensor, nn
    from torch.nn import functional as F
    from torch.nn.functional import pad

    @torch.no_grad()
    def double(x: Float[Tensor, "n"], g: torch.Generator | None = None) -> pd.DataFrame | None:
        '''Its docstring.'''
        return 2 * x

    @torch.no_grad()
    def parts(x):
        yield 2 * x
        yield 3 * x

    @torch.no_grad
    def bare(x):
        return 2 * x

    assert double.__name__ == "double" and double.__doc__ == "Its docstring."
    assert not isinstance(1, Tensor) and not isinstance(1, pd.DataFrame)
    assert not late_imports.is_imported("torch") and not late_imports.is_imported("pandas")

    x = torch.ones(2, requires_grad=True)
    assert late_imports.is_imported("torch") and isinstance(x, Tensor)
    assert not double(x).requires_grad and (2 * x).requires_grad
    assert [part.requires_grad for part in parts(x)] == [False, False] and not bare(x).requires_grad
    assert pad(x, (0, 1)).shape == F.pad(x, (0, 1)).shape == (3,)
    assert issubclass(nn.Linear, nn.Module) and torch.Tensor is type(x)
    assert isinstance(pd.DataFrame({"a": [1]}), pd.DataFrame) and pd.__version__
    assert issubclass(torch.nn.Parameter, Tensor) and not issubclass(int, Tensor)
    """)


@pytest.mark.long
def test_each_use_imports_the_library(module) -> None:
    uses = (
        "Tensor.backward",
        "torch.__version__",
        "class Own(Tensor): pass\n        assert issubclass(Own, torch.Tensor)",
        "import torch.utils.data",
        "from torch import float32",
        "with torch.no_grad(): pass",
        "import torch.nn.functional as F; F.relu(torch.zeros(1))",
    )
    for use in uses:
        module(f"""
        import torch
        from torch import Tensor
        assert not late_imports.is_imported("torch")
        {use}
        assert late_imports.is_imported("torch")
        import sys
        import torch
        for name in ("torch", "torch.autograd", "torch.nn.functional", "torch.utils.data"):
            spec = sys.modules[name].__spec__ if name in sys.modules else None
            assert spec is None or spec.origin, name
        assert torch.zeros(1).add(1).item() == 1 and torch.nn.functional.relu is not None
        """)


@pytest.mark.long
def test_threads_that_ask_at_once_get_the_same(module) -> None:
    module("""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier
    import torch
    import pandas as pd
    calls = []
    late_imports.once_imported("torch", lambda: calls.append(torch.get_num_threads()))
    start = Barrier(8)
    def ask(index):
        start.wait()
        if index % 2:
            from torch.utils import data
        return torch.ones(index).sum().item(), len(pd.DataFrame({"a": [1] * index}))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [(n, n) for n in range(8)]
    assert len(calls) == 1
    late_imports.once_imported("torch", lambda: calls.append(0))
    assert calls[1:] == [0]
    """)


@pytest.mark.long
def test_what_waits_for_a_library_is_done_though_another_imports_it(module) -> None:
    module("""
    import sys
    calls = []
    late_imports.once_imported("torch", lambda: calls.append("torch" in sys.modules))
    from importlib import import_module
    import_module("torch")
    import torch
    assert calls == [True] and torch is sys.modules["torch"]
    """)


@pytest.mark.long
def test_training_does_not_import_the_compiler_and_it_can_be_had() -> None:
    alone("""
    import sys
    from icl_core.machine import device
    device.prepare()
    import torch
    for kind in (torch.optim.SGD, torch.optim.Adam):
        weight = torch.ones(2, requires_grad=True)
        optimiser = kind([weight], lr=0.1)
        optimiser.zero_grad()
        weight.square().sum().backward()
        optimiser.step()
        optimiser.load_state_dict(optimiser.state_dict())
        assert (weight < 1).all() and not weight.grad_fn
    assert "torch._dynamo.convert_frame" not in sys.modules

    from torch._dynamo.exc import BackendCompilerFailed
    assert torch._dynamo is sys.modules["torch._dynamo"]
    assert issubclass(BackendCompilerFailed, Exception)
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)) == 2
    optimiser.step()
    """)


@pytest.mark.long
def test_the_compiler_is_imported_by_who_compiles_first() -> None:
    alone("""
    from icl_core.machine import device
    device.prepare()
    import torch
    torch.compiler.reset()
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)) == 2
    """)


@pytest.mark.long
def test_nothing_that_trains_has_a_stand_in_for_torch() -> None:
    """Each use of one costs a microsecond."""
    alone("""
    import sys
    from icl_core import registry
    from icl_core.command import cli
    from icl_core.cluster import dispatcher
    dispatcher.work = lambda *_: None
    cli.main(["work"])
    registry.experiment("birth.induction"), registry.experiment("gdssm.layer")
    registry.experiment("memformers.methods")
    packages = ("training", "in_context_regression", "papers")
    for name, module in sys.modules.items():
        if name.startswith(tuple(f"icl_core.{package}" for package in packages)):
            for value in vars(module).values():
                late = isinstance(value, late_imports._LateModule | late_imports._LateClass)
                assert not late or value.__name__ == "pandas" or value.__module__ == "jaxtyping", (
                    name, value)
    """)
