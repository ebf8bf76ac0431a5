"""What is mutated together, and the tests that must see it: those of the module, not the slow ones
of all the rest."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Files of `icl_core`, as patterns, and files of `tests`, or tests in them."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


def _papers(*names: str) -> tuple[str, ...]:
    return tuple(f"papers/test_{name}.py" for name in names)


SHIPPED = "test_contract.py::test_shipped_runs_draw_and_measure_what_their_files_say"
ROLES = (
    "papers/test_birth_transformer_runs.py::test_heads_of_the_shipped_runs_do_what_the_paper_says"
)
RUNS = (
    "test_runs_file.py",
    "test_runs_kept.py",
    "test_runs_local.py",
    "test_runs_seen.py",
    "test_store.py",
    "test_documents.py",
    "test_atlas.py",
    "test_class.py::test_a_name_cannot_leave_the_folder_and_what_is_old_is_forgotten",
    "test_class.py::test_a_run_and_a_text_are_deleted_by_who_asked_for_them",
)
BY_HAND = (
    "papers/test_gdssm_comparison.py::test_a_linear_transformer_built_by_hand_takes_one_step",
    "papers/test_gdssm_comparison.py::test_the_products_are_the_second_derivatives_of_a_prediction",
)
# All of jobs/ but what hands them to a cluster; and the tests of test_jobs.py that start no other
# process.
HERE = (
    *("estimate", "faults", "folder", "job_progress", "phase_helper", "queue"),
    *("spawn", "table", "terminal", "train", "worker"),
)
ALONE = (
    "a_job_is_trained_and_its_metrics_are_kept",
    "asking_again_makes_no_second_job",
    "settings_out_of_range_are_not_queued",
    "the_oldest_request_goes_first",
    "a_training_that_diverges_fails_with_its_message_and_can_be_asked_for_again",
    "a_fault_of_an_experiment_is_the_jobs_failure_not_the_workers",
    "a_finished_training_is_kept_even_if_its_metrics_fail",
    "a_worker_starts_no_more_than_its_slots",
    "a_queued_job_can_be_cancelled_and_asked_for_again",
    "a_damaged_checkpoint_is_ignored",
    "a_job_that_takes_its_worker_down_again_and_again_fails",
    "the_thread_count_of_the_checkpoint_is_used_again",
    "cancel_counts_at_once_and_asking_again_takes_it_back",
    "a_job_that_was_asked_for_again_as_its_worker_gave_up_is_queued",
    "a_look_of_long_ago_does_not_count",
    "a_running_job_that_is_left_ends_as_that",
    "a_run_tells_what_it_does",
    "diverged_is_told_from_a_fault",
    "a_look_at_many_jobs_reads_only_those_that_changed",
)

GROUPS = {
    "probes": Group(
        ("papers/birth/shared/probes.py", "papers/birth/shared/full/probes.py"),
        _papers("birth_probes", "birth_circuit", "birth_construction", "birth_transformer_probes"),
    ),
    "constructions": Group(
        ("papers/*/shared/construction.py", "papers/gdssm/comparison/exact.py"),
        (*_papers("birth_construction", "gdssm_model", "gdssm_scalar"), *BY_HAND),
    ),
    "solvers": Group(
        ("in_context_regression/*.py", "papers/memformers/shared/first_order.py"),
        ("test_regression.py", *_papers("memformers_model")),
    ),
    "claims": Group(
        ("papers/*/*/claims.py", "papers/*/*/claims/*.py"),
        (SHIPPED, ROLES, *_papers("birth_claims", "birth_counting", "metric_parts")),
    ),
    "evidence": Group(
        ("evidence/measurements.py", "contract/claims.py"),
        ("test_findings.py", "test_claims.py", *_papers("birth_claims", "atlas_findings")),
    ),
    "runs": Group(("runs/*.py",), RUNS),
    "jobs": Group(
        tuple(f"jobs/{name}.py" for name in HERE),
        (
            *(f"test_jobs_{part}.py" for part in ("estimate", "folder", "progress", "spawn")),
            *("test_jobs_table.py", "test_jobs_terminal.py", "test_cluster_files.py"),
            *("test_jobs_faults.py", "test_faults.py", "test_estimate.py", "test_ends.py"),
            *("test_shared.py", "test_together.py", "test_class.py"),
            *(f"test_jobs.py::test_{name}" for name in ALONE),
        ),
    ),
}
