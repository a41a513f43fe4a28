"""The 24 acceptance checks, each with the tests that make it; docs/acceptance.md is this table."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "acceptance.md"

# number: (what is checked, tests as file::name, what is not checked by a test)
CHECKS = {
    1: (
        "a fresh environment, the core alone, the example of the README",
        ("tests/test_wheel.py::test_the_example_of_the_readme",
         "tests/test_wheel.py::test_only_the_core_is_there"),
        "Python 3.10 is not supported; continuous integration runs on Linux",
    ),
    2: (
        "importing compiles nothing and loads nothing heavy",
        ("tests/test_architecture.py::test_importing_compiles_nothing_and_loads_nothing_heavy",),
        "the time is measured, not tested: 0.4 s of CPU time",
    ),
    3: (
        "`scrubjay doctor` names broken pairs of MuJoCo and gymnasium-robotics",
        ("tests/cli/test_run_commands.py::test_combinations_known_to_be_broken",
         "tests/envs/test_fetch.py::test_a_broken_pair_is_refused_with_the_fix"),
        "",
    ),
    4: ("FetchReach resets to the recorded state", ("tests/envs/test_fetch.py::*",), ""),
    5: (
        "a resumed run equals an uninterrupted one, bit for bit, in a new process",
        ("tests/training/test_resuming.py::*", "tests/hard/test_killed.py::test_check_05_training"),
        "",
    ),
    6: (
        "damaged and invalid files raise one of scrubjay's errors and execute nothing",
        ("tests/hard/test_mutated_files.py::test_check_06_damaged_agents_are_refused",
         "tests/hard/test_mutated_files.py::"
         "test_check_06_agents_that_contradict_themselves_are_refused",
         "tests/hard/test_mutated_files.py::test_check_06_mutated_memories_are_refused",
         "tests/test_released_files.py::test_an_agent_opens_and_predicts"),
        "",
    ),
    7: (
        "`evaluate_policy`, `EvalCallback` and `Monitor` of Stable-Baselines3 run unmodified",
        ("tests/training/test_stable_baselines3.py::*", "tests/training/test_sb3_snippets.py::*"),
        "",
    ),
    8: (
        "the success rate appears without configuration",
        ("tests/training/test_success_key.py::*",),
        "",
    ),
    9: (
        "evaluation never changes what is learned",
        ("tests/training/test_training_loop.py::"
         "test_how_often_one_evaluates_never_changes_what_is_learned",),
        "",
    ),
    10: (
        "the same seed gives the same memory, with collectors on Ray too",
        ("tests/runs/test_ray.py::test_collectors_on_ray_learn_the_same_in_rounds",
         "tests/test_recorded_rows.py::*"),
        "other operating systems are not tested",
    ),
    11: (
        "the memory stays within its capacity; eviction keeps index and table consistent",
        ("tests/memory/test_against_naive.py::*", "tests/memory/test_episodic_memory.py::"
         "test_bytes_per_row"),
        "",
    ),
    12: (
        "few rows, no rows, equal keys, NaN: a defined result or a clear error",
        ("tests/memory/test_kdtree.py::test_fewer_rows_than_k_is_normal",
         "tests/memory/test_flat_scan.py::test_thousands_of_equal_keys_are_added_and_evicted",
         "tests/memory/test_bad_input.py::*",
         "tests/agents/test_cec_decision.py::test_an_empty_memory_gives_the_centre_and_warns_once"),
        "",
    ),
    13: (
        "terminated and truncated episodes, all modes of vector environments, `VecEnv`",
        ("tests/training/test_training_loop.py::"
         "test_all_modes_of_gymnasiums_vectors_learn_the_same",
         "tests/training/test_vec_env.py::*", "tests/learning/test_known_optimum.py::*"),
        "",
    ),
    14: (
        "`total_episodes`, and every transition stored exactly once",
        ("tests/training/test_training_loop.py::"
         "test_every_transition_is_stored_and_counted_exactly_once",
         "tests/agents/test_vector_training.py::test_defect_9_the_number_of_episodes_is_exact"),
        "",
    ),
    15: (
        "indexes equal brute force (tested with Hypothesis); concurrent readers",
        ("tests/memory/test_kdtree.py::*", "tests/memory/test_flat_scan.py::*",
         "tests/memory/test_episodic_memory.py::test_threads_read_shared_read_only_arrays"),
        "",
    ),
    16: (
        "microseconds of a decision",
        (),
        "tests measure no time: `make bench` does ([benchmarks](benchmarks.md))",
    ),
    17: (
        "`check-env` finds deliberate mistakes, and says what was expected, what was found and how "
        "to fix it",
        ("tests/training/test_env_check.py::test_check_17_every_seeded_mistake_is_found",),
        "",
    ),
    18: (
        "after Ctrl-C or an error of an environment, the run is saved, the terminal is clean and "
        "the exit code is not 0",
        ("tests/training/test_resuming.py::test_interrupted_at_a_step",
         "tests/cli/test_terminal.py::test_ctrl_c_leaves_the_terminal_clean",
         "tests/cli/test_resume_command.py::test_interrupted_it_says_how_to_go_on"),
        "",
    ),
    19: (
        "statistics equal those of rliable",
        ("tests/analysis/test_statistics.py::test_aggregate_equals_rliable_exactly",
         "tests/analysis/test_statistics.py::test_stratified_interval_agrees_with_rliable",
         "tests/analysis/test_statistics.py::test_probability_of_improvement_equals_rliable"),
        "",
    ),
    20: (
        "results of few seeds are marked",
        ("tests/report/test_report.py::test_fewer_than_three_seeds_have_no_band_and_no_interval",),
        "one and two seeds are shown without an interval, marked with n = 1 and n = 2",
    ),
    21: (
        "CEC equals a naive implementation and recorded rows",
        ("tests/agents/test_cec_against_naive.py::*", "tests/test_recorded_rows.py::*"),
        "the numbers come from `scrubjay reproduce` ([reproduction](reproduction.md))",
    ),
    22: (
        "every logged metric is documented",
        ("tests/test_docs.py::test_every_logged_metric_is_explained",),
        "",
    ),
    23: (
        "a run folder is readable with pandas; `evaluations.npz` in the layout of "
        "Stable-Baselines3",
        ("tests/training/test_evaluations_npz.py::"
         "test_check_23_names_types_and_shapes_are_those_of_stable_baselines3",
         "tests/training/test_evaluations_npz.py::test_check_23_it_says_what_eval_csv_says"),
        "",
    ),
    24: (
        "agents can be pickled, copied and run on Ray",
        ("tests/agents/test_cec_files.py::test_a_pickled_agent_decides_from_its_own_memory",
         "tests/runs/test_ray.py::test_runs_on_ray_are_the_same_and_survive_lost_actors_and_nodes"),
        "",
    ),
}  # fmt: skip


def test_all_24_are_there():
    assert list(CHECKS) == list(range(1, 25))
    for number, (_, tests, instead) in CHECKS.items():
        assert tests or instead, number


@pytest.mark.parametrize("number", CHECKS, ids=lambda number: f"check_{number:02}")
def test_the_tests_of(number):
    for test in CHECKS[number][1]:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name == "*" or name in names, f"check {number}: {test} does not exist"


def table() -> str:
    lines = ["| | what is checked | remarks | tests |", "|---|---|---|---|"]
    for number, (what, tests, instead) in CHECKS.items():
        names = [test.removesuffix("::*").replace("::", ", ") for test in tests]
        files = "<br>".join(f"`{name}`" for name in names)
        lines.append(f"| {number} | {what} | {instead} | {files} |")
    return "\n".join(lines) + "\n"


def test_the_page_shows_this_table():
    found = re.search(r"^\| \|.*?(?=^$|\Z)", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert found
    assert found[0].strip() == table().strip(), f"write this to {PAGE.name}:\n{table()}"
