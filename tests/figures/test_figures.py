"""Figures: what is drawn, what the caption admits, and that no older result is lost."""

import csv
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from scrubjay.analysis.curves import Curve, curves_of, summary, tidy_rows
from scrubjay.analysis.results import csv_bytes, parse_csv
from scrubjay.figures.curves import learning_curves
from scrubjay.figures.saving import save_figure
from scrubjay.figures.style import METHOD_COLOURS, colour_of, colours_of
from scrubjay.figures.tuning import tuning_figure
from scrubjay.training.errors import RunError

STEPS = np.array([0.0, 1000.0, 2000.0])


def curve(n_seeds, label="cec", task="scrubjay/PointUMaze-v0", notes=()):
    values = np.random.default_rng(n_seeds).random((n_seeds, 3))
    return Curve(label, task, "success", STEPS, values, tuple(range(n_seeds)), notes)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("band", ["standard error", "bootstrap"])
def test_line_and_band_are_the_statistics(band):
    shown = curve(5)
    drawing = learning_curves({"U": [shown]}, band)
    (axes,) = drawing.figure.axes
    found = summary(shown)
    middle = found.mean if band == "standard error" else found.interquartile_mean
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), middle)
    (polygon,) = axes.collections
    heights = polygon.get_paths()[0].vertices[:, 1]
    high = found.mean + found.standard_error if band == "standard error" else found.interval.high
    assert set(high.tolist()) <= set(heights.tolist())
    assert len(axes.lines) == 6
    assert "5 seeds." in drawing.caption


@pytest.mark.parametrize("n_seeds", [1, 2])
def test_fewer_than_three_seeds_are_drawn_alone_and_said(n_seeds):
    drawing = learning_curves({"U": [curve(n_seeds)]})
    (axes,) = drawing.figure.axes
    assert len(axes.lines) == n_seeds
    assert len(axes.collections) == 0
    assert "Fewer than three seeds give no mean and no band" in drawing.caption
    assert "bands" not in drawing.caption
    assert {row["seed"] for row in drawing.rows} == set(range(n_seeds))


@pytest.mark.parametrize("word", ["MinAtarSpaceInvaders", "i", "WWW"])
def test_captions_end_within_the_figure(word):
    drawing = learning_curves({"U": [curve(5)]}, notes=[f"{word} and" for _ in range(60)])
    (text,) = drawing.figure.texts
    box = text.get_window_extent(FigureCanvasAgg(drawing.figure).get_renderer())
    width = drawing.figure.bbox.width
    assert 0.85 * width < box.x1 < width
    assert " ".join(text.get_text().split()) == drawing.caption


def test_caption_counts_seeds_and_repeats_notes():
    panels = {
        "a": [curve(5, notes=("cec: cut",)), curve(2, "sac")],
        "b": [curve(3, task="scrubjay/GrowingTree-v0")],
    }
    text = learning_curves(panels).caption
    assert "cec 5 (3 on GrowingTree); sac 2." in text
    assert text.endswith("cec: cut.")


def test_lines_that_coincide_are_dashed_and_said():
    one, other = curve(5), curve(5, "sac")
    drawing = learning_curves({"U": [one, other]}, show_seeds=False)
    (axes,) = drawing.figure.axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]
    assert "Dashed: a line that coincides with another." in drawing.caption
    apart = learning_curves({"U": [one, curve(4, "sac")]}, show_seeds=False)
    assert [line.get_linestyle() for line in apart.figure.axes[0].lines] == ["-", "-"]
    assert "Dashed" not in apart.caption


def test_stored_rows_give_the_same_curves():
    shown = [curve(3), curve(2, "sac"), curve(4, task="scrubjay/GrowingTree-v0")]
    rows = parse_csv(csv_bytes(tidy_rows(shown)).decode())
    for found, expected in zip(curves_of(rows), shown, strict=True):
        assert (found.label, found.task, found.seeds) == (
            expected.label, expected.task, expected.seeds,
        )  # fmt: skip
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.steps, expected.steps)


def test_a_legend_never_leaves_the_figure():
    labels = ["CEC", "published design, stale index", "a method with quite a long name", "SAC"]
    panels = {"U": [curve(3, label) for label in labels], "V": [curve(3, "EMAC")]}
    figure = learning_curves(panels).figure
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_runs_of_different_tasks_are_refused_in_one_panel():
    with pytest.raises(RunError, match="2 tasks"):
        learning_curves({"x": [curve(3), curve(3, "sac", task="scrubjay/GrowingTree-v0")]})


@pytest.mark.parametrize("panels", [{}, {"x": []}])
def test_nothing_to_draw_is_an_error(panels):
    with pytest.raises(RunError, match="at least one"):
        learning_curves(panels)


def test_unknown_band_is_an_error():
    with pytest.raises(ValueError, match="standard error, bootstrap"):
        learning_curves({"x": [curve(3)]}, band="std")


def test_saved_figure_carries_numbers_and_origin(tmp_path):
    shown = curve(4)
    drawing = learning_curves({"U": [shown]})
    paths = save_figure(drawing.figure, tmp_path / "deep" / "u", drawing.rows, "scrubjay x --y")
    assert [path.name for path in paths] == ["u.png", "u.svg", "u.csv", "u.json"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(paths[1]).getroot().tag.endswith("svg")
    rows = read(paths[2])
    singles = [float(row["value"]) for row in rows if row["seed"] == "2"]
    assert singles == shown.values[2].tolist()
    totals = [row for row in rows if row["seed"] == "all"]
    assert [float(row["iqm_low"]) for row in totals] == summary(shown).interval.low.tolist()
    origin = json.loads(paths[3].read_text())
    assert origin["command"] == "scrubjay x --y"
    assert {"versions", "hardware", "written"} <= set(origin)
    assert not list(tmp_path.rglob("*.tmp"))


def test_other_numbers_move_the_older_figure_and_equal_ones_do_not(tmp_path):
    first = learning_curves({"U": [curve(4)]})
    save_figure(first.figure, tmp_path / "u", first.rows, "first")
    table = (tmp_path / "u.csv").read_bytes()
    save_figure(first.figure, tmp_path / "u", first.rows, "again")
    assert not (tmp_path / "previous").exists()
    for n in (5, 6, 7):
        other = learning_curves({"U": [curve(n)]})
        save_figure(other.figure, tmp_path / "u", other.rows, "other")
    kept = sorted((tmp_path / "previous").glob("u.*.csv"))
    assert len(kept) == 3
    assert table in [path.read_bytes() for path in kept]
    assert len(list((tmp_path / "previous").iterdir())) == 12
    assert len(read(tmp_path / "u.csv")) == 8 * 3


def test_a_full_disk_leaves_the_older_figure_alone(tmp_path):
    """A real file size limit: the new PNG does not fit, the old files stay as they were."""
    drawing = learning_curves({"U": [curve(4)]})
    save_figure(drawing.figure, tmp_path / "u", drawing.rows, "first")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_figures as t
drawing = t.learning_curves({{"U": [t.curve(5)]}})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    t.save_figure(drawing.figure, {str(tmp_path / "u")!r}, drawing.rows, "second")
except OSError:
    sys.exit(3)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 3
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.suffix != ".tmp"} == before


def test_equal_figures_are_equal_files(tmp_path):
    for name in "ab":
        drawing = learning_curves({"U": [curve(4)]})
        save_figure(drawing.figure, tmp_path / name, drawing.rows, "x")
    for suffix in (".svg", ".png", ".csv"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


CURVE = """
import sys
import numpy as np
from scrubjay.figures.curves import learning_curves
from scrubjay.analysis.curves import Curve
curve = Curve("cec", "t", "success", np.arange(2.0), np.ones((1, 2)), (0,))
"""


def run_python(program):
    command = [sys.executable, "-c", CURVE + program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_no_global_state_of_matplotlib_is_touched():
    program = """
learning_curves({"t": [curve]})
import matplotlib
print("matplotlib.pyplot" in sys.modules, matplotlib.rcParams["axes.spines.top"])
"""
    assert run_python(program).split() == ["False", "True"]


def test_without_matplotlib_the_extra_is_named():
    program = """
sys.modules["matplotlib"] = None
try:
    learning_curves({"t": [curve]})
except ImportError as error:
    print(error)
"""
    assert 'pip install "scrubjay[plots]"' in run_python(program)


def test_a_method_has_one_colour_wherever_it_is_shown():
    names = ["cec", "cec-plus", "sac", "emac", "mine", "cec (n_neighbors=9)"]
    alone = {name: colour_of(name) for name in names}
    assert len(set(alone.values())) == len(names)
    assert colours_of(names) == alone == colours_of(names[::-1])
    assert colour_of("CECPlus") == colour_of("cec-plus") == METHOD_COLOURS["cec-plus"]


def test_methods_shown_together_never_share_a_colour():
    shown = colours_of(["cec", "cec-plus", "sac", "emac", *(f"method {i}" for i in range(12))])
    assert len(set(shown.values())) == len(shown)


@pytest.mark.parametrize(
    ("values", "labels"),
    [([0.02, 0.07], ["0.02", "0.05"]), ([0.001, 0.02], None), ([0.5, 2.0], ["0.5", "1", "2"])],
)
def test_labels_of_a_logarithmic_setting_do_not_overlap(values, labels):
    rows = [
        {"trial": i, "state": "complete", "value": 0.5, "so_far": 0.5, "preset": False, "d": value}
        for i, value in enumerate(values)
    ]
    axes = tuning_figure(rows, {"d": True}, "title").axes[0]
    axes.figure.canvas.draw()
    assert not any(label.get_text() for label in axes.get_xticklabels(minor=True))
    if labels is not None:
        assert [label.get_text() for label in axes.get_xticklabels()] == labels
