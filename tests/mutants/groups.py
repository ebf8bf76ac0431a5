"""What is mutated together, and the tests that must see it: those of the module, not the slow ones of all the rest."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Files of `icl_core`, as patterns, and files of `tests`, or tests in them."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


def _papers(*names: str) -> tuple[str, ...]:
    return tuple(f"papers/test_{name}.py" for name in names)


SHIPPED = "test_contract.py::test_shipped_metrics_are_those_recomputed"
RUNS = (
    "test_runs_file.py",
    "test_runs_kept.py",
    "test_runs_local.py",
    "test_store.py",
    "test_documents.py",
    "test_atlas.py",
    "test_class.py::test_a_name_cannot_leave_the_folder_and_what_is_old_is_forgotten",
    "test_class.py::test_a_run_and_a_text_are_deleted_by_who_asked_for_them",
)

GROUPS = {
    "probes": Group(
        ("papers/birth/shared/probes.py", "papers/birth/shared/full/probes.py", "papers/birth/shared/memories.py"),
        _papers("birth_looking", "birth_circuit", "birth_model", "birth_construction", "birth_transformer_probes"),
    ),
    "constructions": Group(
        ("papers/*/shared/construction.py", "papers/gdssm/comparison/constructed.py"),
        _papers("birth_construction", "birth_looking", "gdssm_model", "gdssm_scalar", "gdssm_beside"),
    ),
    "solvers": Group(
        ("regression/*.py", "papers/memformers/shared/first_order.py"),
        ("test_regression.py", *_papers("memformers_model", "memformers_task")),
    ),
    "metrics": Group(
        ("papers/*/*/metrics.py",),
        (SHIPPED, *_papers("birth_runs", "gdssm_learns", "gdssm_panels", "memformers_speed", "memformers_experiments")),
    ),
    "findings": Group(
        ("findings.py", "claims.py"), ("test_findings.py", "test_claims.py", *_papers("birth_claims", "atlas_findings"))
    ),
    "runs": Group(("runs/*.py",), RUNS),
    "jobs": Group(
        ("jobs/*.py",),
        tuple(f"test_{name}.py" for name in ("jobs", "jobs_faults", "estimate", "ends", "together", "shared", "class")),
    ),
}
