"""The tables of docs/scale.md: how many collectors one writer can serve, and the plan for 1,000.

`python -m benchmarks.scale.limits` prints them from the stored results of `collectors` and
`constants`; nothing is measured.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.common import RESULTS
from benchmarks.scale.constants import limit
from scrubjay.training.run_folder import read_json

# the name in constants: the name in collectors
NAMES = {
    "PointUMaze": "PointUMaze",
    "SafexpCarGoal": "SafexpCarGoal",
    "Atari, 64 numbers": "MsPacman",
}
STEPS, ROWS, COLLECTORS, RELAYS = 10**9, 10**8, 1000, 16
DOLLARS = 0.05  # for an hour of a core, an assumption
Row = dict[str, Any]


def measured() -> list[Row]:
    """For each task the constants of a row, and the processor time of a step."""
    constants = {row["task"]: row for row in read_json(RESULTS / "scale_constants.json")["results"]}
    free = {
        row["task"]: row
        for row in read_json(RESULTS / "scale_collectors.json")["results"]
        if row["way"] == "2 free-running"
    }
    keys = ("collector_us", "writer_us", "feeds")
    return [
        {**constants[name], **{key: free[task][key] for key in keys}}
        for name, task in NAMES.items()
    ]


def on_ray(row: Row) -> float:
    """Most collectors on Ray, where a changed row is sent to each instead of being published."""
    other = max(row["writer_us"] - row["publish_us"], row["write_us"] + row["receive_us"])
    return limit(row["collector_us"], other, row["send_us"])


def rate(row: Row) -> float:
    """Steps a second of one writer."""
    return float(1e6 / row["writer_us"])


FEEDS: dict[str, Callable[[Row], str]] = {
    "environment alone, us a step": lambda row: f"{row['step_us']:.0f}",
    "collector, us a step": lambda row: f"{row['collector_us']:.0f}",
    "writer, us a step": lambda row: f"{row['writer_us']:.1f}",
    "of this, receive + write + publish": lambda row: (
        f"{row['receive_us']:.1f} + {row['write_us']:.1f} + {row['publish_us']:.1f}"
    ),
    "collectors that one writer can serve": lambda row: f"{row['feeds']:.0f}",
    "the same on Ray": lambda row: f"{on_ray(row):.0f}",
}
PLAN: dict[str, Callable[[Row], str]] = {
    "one copy of 10^8 rows": lambda row: f"{row['shared_bytes'] * ROWS / 1e9:.0f} GB",
    "three copies, one machine": lambda row: f"{3 * row['shared_bytes'] * ROWS / 1e9:.0f} GB",
    "steps a second of 1,000 collectors": lambda row: (
        f"{COLLECTORS / row['collector_us']:.1f} million"
    ),
    "steps a second of one writer": lambda row: f"{rate(row):,.0f}",
    "10^9 steps through one writer": lambda row: f"{STEPS / rate(row) / 3600:.1f} h",
    "to the writer, at its rate": lambda row: f"{rate(row) * row['episode_bytes'] / 1e6:.0f} MB/s",
    "to 16 relays, if every step changes a row": lambda row: (
        f"{RELAYS * rate(row) * row['change_bytes'] / 1e6:.0f} MB/s"
    ),
    "finding the changed of 10^8 rows": lambda row: f"{10 * row['stamps_ms_10_7']:.0f} ms",
    "10^9 steps of the collectors": lambda row: (
        f"{STEPS * row['collector_us'] / 3.6e9:,.0f} core-hours, "
        f"{DOLLARS * STEPS * row['collector_us'] / 3.6e9:.1f} dollars"
    ),
}


def table(lines: dict[str, Callable[[Row], str]], rows: list[Row]) -> str:
    names = " | ".join(row["task"] for row in rows)
    head = f"| | {names} |\n|---{'|---' * len(rows)}|\n"
    body = [
        f"| {label} | {' | '.join(cell(row) for row in rows)} |" for label, cell in lines.items()
    ]
    return head + "\n".join(body)


def main() -> None:
    rows = measured()
    print(table(FEEDS, rows), table(PLAN, rows), sep="\n\n")


if __name__ == "__main__":
    main()
