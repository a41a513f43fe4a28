"""All benchmarks, one after the other: `python -m benchmarks` (about half an hour, alone)."""

import subprocess
import sys

MODULES = (
    ("memory.calls",),
    ("memory.against_others",),
    ("memory.bytes_per_row",),
    ("memory.soak",),
    ("agent.overhead",),
    ("agent.lanes",),
    ("agent.batched",),
    ("agent.plus_overhead",),
    ("agent.growth",),
    ("agent.elsewhere",),
    ("agent.growing_tree",),
    ("envs.maze",),
    ("envs.safexp",),
    ("agent.learning", "PointUMaze", "100000"),
    ("agent.learning", "SafexpCarGoal", "30000"),
    ("agent.published",),
    ("scale.collectors",),
    ("scale.collectors", "--learning"),
    ("scale.constants",),
    ("scale.sweep", "local"),
    ("scale.sweep", "ray"),
)


def main() -> int:
    failed = []
    for module, *arguments in MODULES:
        print(f"== {module} {' '.join(arguments)}", flush=True)
        command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{module}", *arguments]
        if subprocess.run(command, check=False).returncode:
            failed.append(module)
    subprocess.run([sys.executable, "-m", "benchmarks.page"], check=True)
    print(f"failed: {failed}" if failed else "all done; docs/benchmarks.md is new")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
