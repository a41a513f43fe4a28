"""`scrubjay report`: one HTML page about any set of runs, complete in itself.

The page needs no network and no server; everything that comes from files is escaped. Folders that
cannot be read are named in the page and left out; runs that are not finished are drawn dashed and
counted in no mean.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from scrubjay.analysis.reading import RunData, find_runs, load_run
from scrubjay.envs.catalog import short_task
from scrubjay.report import sections
from scrubjay.report.evidence import Evidence
from scrubjay.report.markup import Markup, tag
from scrubjay.training.errors import RunError
from scrubjay.training.run_folder import now, versions, write_text

SECTIONS = (
    sections.learning_curves,
    sections.results,
    sections.improvements,
    sections.memory,
    sections.trajectories,
    sections.time,
    sections.settings,
    sections.every_run,
)
# With it the browser itself refuses any request to a network.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Report:
    """Where the page is, how many runs it shows, and what its readers are told to note."""

    path: Path
    n_runs: int
    notes: list[str]


def write_report(run_paths: str | Path | Iterable[str | Path], out_path: str | Path) -> Report:
    """Write the page about all runs in the given folders or globs."""
    runs, notes = _read(run_paths)
    out = Path(out_path)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, build_page(runs, notes))
    return Report(out, len(runs), notes)


def build_page(runs: list[RunData], notes: list[str]) -> str:
    """The page as text; what cannot be shown is added to `notes`."""
    evidence = Evidence(runs, notes)
    body = [section(evidence) for section in SECTIONS]
    return _document(
        title=", ".join(map(short_task, evidence.tasks)),
        body=[_header(runs, evidence), _notes(evidence.notes), _controls(evidence), *body],
    )


def _read(run_paths: str | Path | Iterable[str | Path]) -> tuple[list[RunData], list[str]]:
    """All runs that can be read, in order, and why others cannot."""
    runs, notes = [], []
    for folder in find_runs(run_paths):
        try:
            runs.append(load_run(folder, allow_unfinished=True))
        except RunError as error:
            notes.append(f"Left out: {error}.")
    if not runs:
        raise RunError("no run could be read. " + " ".join(notes))
    notes += [f"{run.path}: {note}." for run in runs for note in run.notes]
    return sorted(runs, key=lambda run: (run.task, run.agent, run.seed, str(run.path))), notes


def _header(runs: Sequence[RunData], evidence: Evidence) -> Markup:
    facts = [
        _count(len(runs), "run"),
        _count(len(evidence.labels), "method"),
        _count(len(evidence.tasks), "task"),
        f"written {now()}",
    ]
    machines = dict.fromkeys(_machine(run) for run in runs)
    return tag(
        "header",
        tag("p", "scrubjay report", class_="brand"),
        tag("h1", ", ".join(map(short_task, evidence.tasks))),
        tag("p", " · ".join(facts)),
        tag("p", "Ran with ", "; ".join(machines), class_="small"),
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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


def _notes(notes: Sequence[str]) -> Markup:
    if not notes:
        return Markup("")
    items = [tag("li", note) for note in notes]
    return tag("section", tag("h2", "Please note"), tag("ul", *items), class_="notes")


def _controls(evidence: Evidence) -> Markup:
    toggles = [
        tag(
            "button", tag("span", class_="dot"), label, type="button", aria_pressed="true",
            data_toggle=label, style=f"--hue:{evidence.colour(label)}",
        )
        for label in evidence.labels
    ]  # fmt: skip
    modes = [
        tag("button", text, type="button", aria_pressed=pressed, data_choose=mode)
        for mode, pressed, text in (
            ("iqm", "true", "IQM, 95% interval"),
            ("mean", "false", "mean ± standard error"),
        )
    ]
    return tag(
        "nav",
        tag("div", *toggles, class_="legend", role="group", aria_label="Methods"),
        tag("div", *modes, class_="modes", role="group", aria_label="Summary"),
    )


def _document(title: str, body: Sequence[Markup]) -> str:
    folder = resources.files(__package__)
    style = Markup((folder / "page.css").read_text(encoding="utf-8"))
    script = Markup((folder / "page.js").read_text(encoding="utf-8"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"scrubjay {versions().get('scrubjay', '')}"),
        tag("title", f"scrubjay: {title}"),
        tag("style", style),
    )
    page = tag("html", head, tag("body", *body, tag("script", script), data_mode="iqm"), lang="en")
    return f"<!doctype html>\n{page}\n"
