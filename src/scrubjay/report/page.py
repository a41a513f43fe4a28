"""`scrubjay report`: one HTML page about any set of runs, complete in itself.

The page needs no network and no server; everything that comes from files is escaped. Folders that
cannot be read are named in the page and left out; runs that are not finished are drawn dashed and
counted in no mean.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.analysis.reading import RunData, find_runs, load_run
from scrubjay.report import sections
from scrubjay.report.data import ReportData
from scrubjay.report.formatting import count
from scrubjay.report.rendering import open_templates
from scrubjay.training.errors import RunError
from scrubjay.training.run_folder import now, versions, write_text

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Report:
    """Where the page is, how many runs it shows, and its notes."""

    path: Path
    n_runs: int
    notes: list[str]


def write_report(run_paths: str | Path | Iterable[str | Path], out_path: str | Path) -> Report:
    """Write the page about all runs in the given folders or globs.

    Args:
        run_paths: Run folders, folders of them, or globs.
        out_path: The HTML file to write.

    Returns:
        Where it is, how many runs it shows, and its notes.

    Raises:
        ImportError: If Jinja2 is not installed (extra `plots`).
        RunError: If no run can be read.
    """
    templates = open_templates()
    runs, notes = _read(run_paths)
    out = Path(out_path)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, build_page(templates, runs, notes, out.parent))
    return Report(out, len(runs), notes)


def build_page(
    templates: "Environment", runs: list[RunData], notes: list[str], folder: Path
) -> str:
    """The page as text; what cannot be shown is added to `notes`.

    Args:
        templates: The page's templates.
        runs: The runs.
        notes: The notes at the top of the page.
        folder: Where the page will be, for its links to run folders.
    """
    data = ReportData(runs, notes, folder)
    content = _content(data)
    return templates.get_template("page.html").render(
        title=data.title,
        version=versions().get("scrubjay", ""),
        facts=_facts(runs, data),
        machines=list(dict.fromkeys(_machine(run) for run in runs)),
        methods=data.methods,
        contents=_contents(content),
        notes=data.notes,  # after the content, which adds to them
        **content,
    )


def _content(data: ReportData) -> dict[str, Any]:
    """The content of the sections, in the order of the page."""
    return {
        "curves": sections.learning_curves(data),
        "quantities": sections.quantities(data),
        "results": sections.results(data),
        "improvements": sections.improvements(data),
        "memory_sizes": sections.memory_sizes(data),
        "memories": sections.memories(data),
        "trajectories": sections.trajectories(data),
        "times": sections.times(data),
        "settings": sections.settings(data),
        "runs": sections.every_run(data),
    }


def _contents(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The sections that have something to show: their places in the page, and their names."""
    shown = {
        "curves": ("Learning curves", True),
        "results": ("Results", True),
        "improvements": ("Probability of improvement", content["improvements"]),
        "memory": ("Memory", content["memory_sizes"] or content["memories"]),
        "trajectories": ("Trajectories", content["trajectories"]),
        "time": ("Time", content["times"]),
        "settings": ("Settings", content["settings"]["rows"]),
        "runs": ("Runs", True),
    }
    return [(place, name) for place, (name, there) in shown.items() if there]


def _read(run_paths: str | Path | Iterable[str | Path]) -> tuple[list[RunData], list[str]]:
    """All runs that can be read, in order, and why others cannot."""
    runs, notes = [], []
    for folder in find_runs(run_paths):
        try:
            runs.append(load_run(folder, allow_unfinished=True))
        except RunError as error:
            notes.append(f"Left out: {error}.")
    if not runs:
        raise RunError("expected at least one run that can be read, got none. " + " ".join(notes))
    notes += [f"{run.path}: {note}." for run in runs for note in run.notes]
    return sorted(runs, key=lambda run: (run.task, run.agent, run.seed, str(run.path))), notes


def _facts(runs: Sequence[RunData], data: ReportData) -> list[str]:
    return [
        count(len(runs), "run"),
        count(len(data.labels), "method"),
        count(len(data.tasks), "task"),
        f"written {now()[:16].replace('T', ' ')} UTC",
    ]


def _machine(run: RunData) -> str:
    packages, machine = _mapping(run, "versions"), _mapping(run, "hardware")
    parts = [f"{name} {version}" for name, version in packages.items()]
    if machine:
        processor, cores = machine.get("processor", "unknown processor"), machine.get("cores", "?")
        parts.append(f"on {processor} ({cores} cores)")
    return ", ".join(parts) or "unknown versions"


def _mapping(run: RunData, name: str) -> dict[str, Any]:
    value = run.manifest.get(name)
    return value if isinstance(value, dict) else {}
