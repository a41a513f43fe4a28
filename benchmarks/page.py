"""Writes docs/benchmarks.md from the JSON in results/: `python -m benchmarks.page`."""

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS

PAGE = RESULTS.parent.parent / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Measured by `make bench` (each part also by the command named with it) and written by
`python -m benchmarks.page` from `benchmarks/results/*.json`, which contain versions and hardware.
Times vary between machines and runs; what is compared was measured side by side in one run.
"""


def load(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [list(header)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell(value) for value in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def columns(results: list[dict[str, Any]], names: dict[str, str]) -> str:
    return table(names, [[row.get(key) for key in names.values()] for row in results])


def calls(results: Any) -> str:
    names = {
        "rows": "rows", "dimension": "dim", "`neighbors`": "neighbors", "batch": "neighbors_batch",
        "`write`": "write", "batch of writes": "write_batch", "depth": "depth",
    }  # fmt: skip
    return (
        "Microseconds of one call from Python on a full memory (k = 5, radius 0.1; each write that "
        "adds also evicts), and per query of a compiled batch. Targets at 10^5 rows of dimension "
        "3: 10, 4 for a batch, 10 for a write; at 10^6 three times that.\n\n"
        + columns(results, names)
    )


def others(results: Any) -> str:
    names = {
        "index": "index", "rows": "rows", "dimension": "dim", "query us": "query_us",
        "write us": "write_us", "a step us": "step_us", "recall": "recall",
    }  # fmt: skip
    return (
        "The workload of CEC: one query from Python in each step, and all writes of an episode "
        "at its end. The other indexes never move or evict a key, which is less work; cKDTree "
        "is rebuilt after each episode.\n\n" + columns(results["rows"], names)
    )


def bytes_per_row(results: Any) -> str:
    names = {
        "dimension": "dim", "actions": "actions", "needed": "needed_per_row",
        "held": "held_per_row", "factor": "factor",
        "worst while growing": "worst_factor_while_growing",
    }  # fmt: skip
    return (
        "Bytes of a row: needed for its key, value, stamp and payload, and held for it by all "
        "arrays together. Targets: 2.5 with full arrays, 5 while growing.\n\n"
        + columns(results, names)
    )


def soak(results: Any) -> str:
    names = {
        "writes": "writes", "us per write": "us_per_write", "depth": "depth",
        "bytes": "nbytes", "resident bytes": "resident_bytes",
    }  # fmt: skip
    return (
        "Ten million writes at capacity 100,000. Invariants are checked after each million, and "
        "searches are compared with brute force.\n\n" + columns(results, names)
    )


def overhead(results: Any) -> str:
    names = {
        "rows meant": "rows", "rows held": "rows_in_memory", "embedding": "embedding",
        "agent and loop us": "overhead_us", "steps a second": "steps_per_second",
    }  # fmt: skip
    return (
        "The time that agent and loop add to the environment's own step, on a replayed walk "
        "that takes almost no time. Targets at 10^5 rows: 12 us with identity keys, 16 us with "
        "the running normaliser; at most 4 times more from 10^4 to 10^6.\n\n"
        + columns(results, names)
    )


def plus_overhead(results: Any) -> str:
    names = {
        "task": "task", "paper's rule us": "paper_us", "cec-plus us": "plus_us", "ratio": "ratio",
    }  # fmt: skip
    return (
        "Agent and loop in 30,000 steps of real training, without the environment's own step. "
        "Target: a ratio of 1.5, missed on PointGoal (24 dimensions): there the paper's radius "
        "contains no neighbours and a search costs almost nothing, while cec-plus finds its "
        "twenty neighbours among about a thousand candidates.\n\n" + columns(results, names)
    )


def growth(results: Any) -> str:
    names = {
        "task": "task", "steps": "steps", "rows": "rows", "agent and loop us": "microseconds",
        "sweeps and links us": "planning", "plans for goals us": "plans",
    }  # fmt: skip
    return (
        "The mean time of a step since the line above, without the environment's own step, as the "
        "number of rows grows; the last two columns are parts of it. Sweeps are made when the "
        "number of steps has grown by a quarter; plans, on tasks with goals, once an episode, over "
        "at most 30,000 rows.\n\n" + columns(results, names)
    )


def elsewhere(results: Any) -> str:
    names = {
        "task": "task", "steps": "steps", "agent": "agent", "mean return": "mean",
        "of each seed": "returns",
    }  # fmt: skip
    return (
        "Tasks for which neither method was designed and no setting was chosen: the mean return of "
        "10 greedy episodes.\n\n" + columns(results, names)
    )


def published(results: Any) -> str:
    return (
        f"The same {results['steps']:,} steps of PointUMaze ({results['episodes']:,} episodes) "
        f"through both agents: scrubjay {results['scrubjay_seconds']:.2f} s, the published design "
        f"(Python lists, a tree rebuilt after each episode) "
        f"{results['published_design_seconds']:.0f} s: **{results['ratio']:.0f} times**."
    )


def growing_tree(results: Any) -> str:
    lengths = ", ".join(str(length) for length in results["lengths_at_100000"])
    return (
        f"Solved greedily at 10,000 steps in {results['solved_at_10000_of_first_seeds']} of the "
        f"first {len(results['lengths_at_100000'])} seeds, and in "
        f"{results['share_solved_at_10000_of_all_seeds']:.0%} of "
        f"{len(results['lengths_at_10000'])}. Steps to the goal at 100,000: {lengths} "
        "(the optimum is 9 or 10)."
    )


def learning(results: Any) -> str:
    names = {
        "seed": "seed", "success": "success", "steps an episode": "length",
        "first success at": "first_success_step",
        "first greedy success at": "first_greedy_success_step",
        "training seconds": "train_seconds",
    }  # fmt: skip
    return (
        f"{results['task']}, preset {results['preset']}, 20 greedy episodes at step "
        f"{results['steps']:,}: mean success {results['mean_success']:.2f}.\n\n"
        + columns(results["seeds"], names)
    )


def tasks(results: Any) -> str:
    names = [name for name in results if name != "targets"]
    keys = list(results[names[0]])
    targets = ", ".join(f"{name} {value:g}" for name, value in results["targets"].items())
    rows = [[key, *(results[name][key] for name in names)] for key in keys]
    return f"Targets: {targets}.\n\n" + table(["", *names], rows)


def lanes(results: Any) -> str:
    names = {
        "method": "method", "rows": "rows", "lanes": "lanes",
        "us for each lane and step": "microseconds",
    }  # fmt: skip
    return (
        "Deciding and recording on replayed observations, without writes and environment. The "
        "actions of all lanes are chosen in one compiled call. Target with 16 lanes: 3 us.\n\n"
        + columns(results, names)
    )


def batched(results: Any) -> str:
    names = {
        "lanes": "lanes", "threads": "threads", "rows": "rows",
        "deciding, us for each lane": "deciding_us", "all, us for each lane": "us_per_lane_step",
        "lane-steps a second": "lane_steps_per_second",
    }  # fmt: skip
    targets = results["targets"]
    return (
        "CEC on `BatchedPointMaze`: the decision alone, and the whole training with environment, "
        f"recording, writing and log. Targets with 1,024 lanes: {targets['deciding_us']} us and "
        f"{targets['lane_steps_per_second']:,} lane-steps a second.\n\n"
        + columns(results["rows"], names)
    )


def gpu(results: Any) -> str:
    names = {
        "keys": "keys", "rows": "rows", "queries": "queries", "ms": "median_ms",
        "target": "target_ms", "plain torch ms": "plain_torch_ms", "queries checked": "checked",
    }  # fmt: skip
    adding = results["adding"]
    return (
        f'`index="torch"` on one {results["device"]}, torch {results["torch"]}: milliseconds of '
        f"`query` for the {results['k']} nearest of rows with {results['dim']} numbers, NumPy "
        "arrays in and out, transfers included. Plain torch is a float32 product and `topk`, not "
        "exact in the last bits. Checked queries have the same results as on the CPU, bit for bit. "
        "The game's keys are random projections of its different states, in the order of play. "
        f"Writing a row at 10^6 rows, in episodes of 500 with a search after each, "
        f"takes {adding['episodes_of_500_us']} us, sending it to the device included (target: 20)."
        "\n\n" + columns(results["results"], names)
    )


def against(version: str, results: Any) -> str:
    rows = [
        [
            row["scenario"], row["base_us"], row["this_us"], f"{row['ratio']:.2f}",
            "{:.2f} to {:.2f}".format(*row["interval"]),
        ]
        for row in results
    ]  # fmt: skip
    return (
        f"This version and {version}, measured in turns in one run; microseconds of CPU time "
        "for each step or call, including the replayed environment. A ratio below 1 means that "
        "this version is faster; the interval is a 95% bootstrap interval of the median ratio.\n\n"
        + table(["", version, "now", "ratio", "interval"], rows)
    )


def collectors(results: Any) -> str:
    names = {
        "task": "task", "agent": "agent", "": "way", "steps a second": "steps_per_second",
        "ratio": "ratio", "two separate runs": "ceiling", "staleness": "staleness", "rows": "rows",
        "start-up s": "start_seconds", "collector us": "collector_us", "writer us": "writer_us",
        "collectors per writer": "feeds",
    }  # fmt: skip
    return (
        "Two collectors and a writer on two cores, compared with one process; medians, without "
        "start-up. Two separate runs at a time, compared with one, show the largest ratio that "
        "these cores allow. CPU time of a step in a collector and in the writer, and their "
        "quotient: how many collectors one writer can serve. Targets of free-running collectors: "
        "1.7 times on SafexpCarGoal, 1.4 times on PointUMaze.\n\n" + columns(results, names)
    )


def collected_learning(results: Any) -> str:
    rows = [
        [
            task["task"], f"{task['steps']:,}", way,
            f"{found['mean']:.3f} ± {found['standard_error']:.3f}",
            f"{found['difference']:+.3f} ± {found['difference_error']:.3f}", found["staleness"],
        ]
        for task in results
        for way, found in task["ways"].items()
    ]  # fmt: skip
    n_seeds = len(results[0]["ways"]["one process"]["success"])
    return (
        f"{results[0]['agent']}: mean success of all greedy evaluations of a run, and the "
        f"difference to one process, means and standard errors over {n_seeds} seeds. Two "
        "collectors on two cores that other programs used at the same time, which increases the "
        "staleness of free-running ones.\n\n"
        + table(["task", "steps", "", "success", "difference", "staleness"], rows)
    )


def scaled_sweep(results: Any) -> str:
    one = results["one_at_a_time"]
    rows = [["one at a time", one, 1.0, None]]
    rows += [["two at a time, local", results["local"], one / results["local"], None]]
    if "ray" in results:
        rows += [["two at a time, Ray", results["ray"], one / results["ray"], results["ray_start"]]]
    return (
        f"{results['runs']} runs of CEC on PointUMaze, {results['steps']:,} steps each, every run "
        "a separate process. Target: 1.8 times.\n\n"
        + table(["", "seconds", "ratio", "start of Ray s"], rows)
    )


def constants(results: Any) -> str:
    names = {
        "task": "task", "dimension": "dim", "environment us": "step_us", "write us": "write_us",
        "publish us": "publish_us", "receive us": "receive_us", "send us": "send_us",
        "bytes sent": "change_bytes", "bytes received": "episode_bytes",
        "bytes in shared memory": "shared_bytes",
    }  # fmt: skip
    return (
        "The writer's time for one row in a memory of 10^5 rows, and the size of the row. "
        "Publishing counts both shared copies; sending is to one collector on Ray.\n\n"
        + columns(results, names)
    )


SECTIONS = (
    ("Against 0.1.0", "against_0_1_0", "benchmarks.compare --name against_0_1_0",
     partial(against, "0.1.0")),
    ("Against 0.2.0", "against_0_2_0", "benchmarks.compare --name against_0_2_0",
     partial(against, "0.2.0")),
    ("Calls", "memory_calls", "benchmarks.memory.calls", calls),
    ("Against other indexes", "memory_against_others", "benchmarks.memory.against_others", others),
    ("Bytes", "memory_bytes", "benchmarks.memory.bytes_per_row", bytes_per_row),
    ("Soak", "memory_soak", "benchmarks.memory.soak", soak),
    ("Agent and loop", "agent_overhead", "benchmarks.agent.overhead", overhead),
    ("Lanes of a vector environment", "agent_lanes", "benchmarks.agent.lanes", lanes),
    ("Thousands of lanes", "agent_batched", "benchmarks.agent.batched", batched),
    ("Rows on a GPU", "memory_gpu", "benchmarks.memory.gpu", gpu),
    ("cec-plus against the paper's rule", "agent_plus_overhead",
     "benchmarks.agent.plus_overhead", plus_overhead),
    ("cec-plus with many rows", "agent_growth", "benchmarks.agent.growth", growth),
    ("cec-plus elsewhere", "agent_elsewhere", "benchmarks.agent.elsewhere", elsewhere),
    ("Against the published design", "agent_published", "benchmarks.agent.published", published),
    ("GrowingTree", "agent_growing_tree", "benchmarks.agent.growing_tree", growing_tree),
    ("PointUMaze", "learning_PointUMaze", "benchmarks.agent.learning PointUMaze 100000", learning),
    ("SafexpCarGoal", "learning_SafexpCarGoal", "benchmarks.agent.learning SafexpCarGoal 30000",
     learning),
    ("Collectors", "scale_collectors", "benchmarks.scale.collectors", collectors),
    ("What collectors learn", "scale_learning", "benchmarks.scale.collectors --learning",
     collected_learning),
    ("A row for the writer", "scale_constants", "benchmarks.scale.constants", constants),
    ("Sweeps", "scale_sweep", "benchmarks.scale.sweep", scaled_sweep),
    ("Mazes", "envs_maze", "benchmarks.envs.maze", tasks),
    ("Safexp", "envs_safexp", "benchmarks.envs.safexp", tasks),
)  # fmt: skip


def section(title: str, name: str, command: str, write: Any) -> str:
    content = load(name)
    if content is None:
        return f"## {title}\n\nNot measured yet: `python -m {command}`.\n"
    versions, machine = content["versions"], content["hardware"]
    origin = (
        f"`python -m {command}`, {content['when'][:10]}, {machine['processor']}, Python "
        f"{versions['python']}, numba {versions['numba']}, mujoco {versions.get('mujoco', '–')}"
    )
    return f"## {title}\n\n{write(content['results'])}\n\n{origin}\n"


def main() -> None:
    parts = [INTRODUCTION, *(section(*entry) for entry in SECTIONS)]
    Path(PAGE).write_text("\n".join(parts), encoding="utf-8")
    print(f"written: {PAGE.name}")


if __name__ == "__main__":
    main()
