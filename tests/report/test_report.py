"""The report as a file: what it holds, what it admits, what it never lets through."""

import base64
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from importlib import resources

import jinja2
import numpy as np
import pytest

from scrubjay.figures.raster import png
from scrubjay.figures.style import colour_of
from scrubjay.report.charts import ticks
from scrubjay.report.formatting import number
from scrubjay.report.page import write_report
from scrubjay.report.rendering import open_templates
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.training.errors import RunError

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Text and elements of a page; fails where elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append(data)

    def headings(self):
        return re.findall(r"<h2>(.*?)</h2>", self.source)

    def contents(self):
        return re.findall(r'<li><a href="#(\w+)">(.*?)</a></li>', self.source)

    @classmethod
    def of(cls, path):
        page = cls(path.read_text(encoding="utf-8"))
        page.source = path.read_text(encoding="utf-8")
        # charts of other quantities are in templates until one of them is chosen
        page.shown = re.sub(r"<template.*?</template>", "", page.source, flags=re.DOTALL)
        page.words = " ".join(" ".join(page.text).split())
        return page


@pytest.fixture
def report_of(tmp_path):
    def make(*paths):
        report = write_report(list(paths) or tmp_path / "runs", tmp_path / "out" / "report.html")
        return report, Page.of(report.path)

    return make


def test_all_sections_of_two_methods(make_run, report_of):
    for seed in range(3):
        make_run(f"cec-{seed}", seed=seed, success=[0, 4, 4, 4, 4], trajectories=True)
        make_run(f"sac-{seed}", agent="sac", seed=seed, success=[0, 0, 0, 2, 4 - seed])
    report, page = report_of()
    assert (report.n_runs, report.notes) == (6, [])
    assert page.headings() == [
        *("Learning curves", "Results", "Probability of improvement", "Memory", "Trajectories"),
        *("Time", "Runs"),
    ]
    assert [name for _, name in page.contents()] == page.headings()
    for place, _ in page.contents():
        assert f'<section id="{place}">' in page.source
    assert "6 runs · 2 methods · 1 task" in page.words
    # cec: all 1; sac: 1, 0.75, 0.5
    assert "1.00 [1.00, 1.00] 1.00 ± 0.00" in page.words
    assert "0.75 [0.50, 1.00] 0.75 ± 0.14" in page.words
    # three ties among nine pairs at the end; always sooner over all steps
    assert "83% [50%, 100%]" in page.words
    assert "100% [100%, 100%]" in page.words


def test_the_page_needs_nothing_from_outside(make_run, report_of):
    make_run("a")
    _, page = report_of()
    for _, attributes in page.elements:
        for name in ("src", "href", "action", "srcset"):
            # only links to run folders lead out of the page, and only when they are followed
            assert attributes.get(name, "data:").startswith(("data:", "#", "../runs/"))
            assert name == "href" or not attributes.get(name, "").startswith("..")
    assert "url(" not in page.source
    assert "@import" not in page.source
    assert "default-src 'none'" in page.source


def test_fewer_than_three_seeds_have_no_band_and_no_interval(make_run, report_of):
    make_run("a")
    make_run("b", seed=1)
    _, page = report_of()
    assert 'class="band"' not in page.source
    assert page.shown.count('class="alone"') == 2 * 2  # success, and the size of the memory
    assert "[" not in section_of(page, "Results").split("<table")[1]
    assert "1.00, 1.00 n = 2" in page.words


def test_seeds_with_a_single_evaluation_are_drawn(make_run, report_of):
    for seed in range(3):
        make_run(f"{seed}", seed=seed, steps=[5000], success=[seed + 2])
    _, page = report_of()
    curves = section_of(page, "Learning curves").split("<template")[0]
    assert curves.count('r="2.4"') == 3
    for path in re.findall(
        r'class="mode-\w+"><path d="([^"]+)" class="band"/><path d="([^"]+)"', curves
    ):
        assert all("h14" in line for line in path), "a line without length is not visible"


def section_of(page, name):
    return re.search(rf"<h2>{name}.*?</section>", page.source, re.S)[0]


def test_one_seed_is_shown_and_marked(make_run, report_of):
    make_run("a", success=[0, 1, 2, 2, 3])
    _, page = report_of()
    assert "0.75 n = 1" in page.words


def test_first_successes_are_said_in_words(make_run, report_of):
    for seed in range(3):
        path = make_run(f"{seed}", seed=seed) / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["first_success_step"] = 430 if seed == 2 else None
        manifest["first_greedy_success_step"] = None if seed == 0 else 1000
        path.write_text(json.dumps(manifest))
    _, page = report_of()
    assert "430; never in 2 of 3 seeds" in page.words
    assert "1k; never in 1 of 3 seeds" in page.words


def test_returns_that_say_no_more_than_success_are_drawn_once(make_run, report_of):
    folder = make_run("a")
    _, page = report_of()
    assert page.shown.count('<figure class="chart">') == 2  # success, and the size of the memory
    assert "(the return is the same)" in page.words
    assert "= success" in page.words
    table = folder / "eval.csv"
    table.write_text(table.read_text().replace("0.0,900", "0.5,900"))
    _, page = report_of()
    assert page.shown.count('<figure class="chart">') == 3
    assert "the return is" not in page.words


def test_a_task_without_a_success_signal_says_so(make_run, report_of):
    folder = make_run("a")
    for name in ("eval", "episodes"):
        path = folder / f"{name}.csv"
        lines = [line.rpartition(",")[0] + "," for line in path.read_text().splitlines()[1:]]
        path.write_text("\n".join([path.read_text().splitlines()[0], *lines]) + "\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"first_success_step": None, "first_greedy_success_step": None}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    report, page = report_of()
    assert report.notes == []
    assert "return (no success signal)" in page.words
    assert "never" not in page.words
    assert "success rate" not in page.words


def test_a_method_whose_runs_have_no_signal_says_so_beside_one_that_has(make_run, report_of):
    make_run("a")
    folder = make_run("b", agent="sac")
    for name in ("eval", "episodes"):
        header, *lines = (folder / f"{name}.csv").read_text().splitlines()
        rows = [line.rpartition(",")[0] + "," for line in lines]
        (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    _, page = report_of()
    assert "sac no success signal" in page.words
    assert "cec 1.00 n = 1" in page.words


def test_a_repeated_run_is_shown_marked_and_counted_once(make_run, report_of):
    for seed in range(3):
        make_run(f"cec-{seed}", seed=seed)
    make_run("x-again", seed=1, success=[0, 0, 0, 0, 0])
    make_run("sac", agent="sac")
    report, page = report_of()
    assert report.n_runs == 5
    assert "are the same method, task and seed (1)" in report.notes[0]
    assert "finished, repeats a seed: not counted" in page.words
    assert "1.00 [1.00, 1.00] 1.00 ± 0.00" in page.words
    assert page.shown.count('class="unfinished"') == 2  # success, and the size of the memory


def test_lines_that_coincide_are_dashed(make_run, report_of):
    for seed in range(3):
        for agent in ("cec", "sac", "emac"):
            make_run(f"{agent}-{seed}", agent=agent, seed=seed, success=[0, 1, 2, 3, 4])
    _, page = report_of()
    assert "dashed: lines that coincide" in page.words
    found = re.findall(r'class="series below-(\d)" data-series="(\w+)"', page.source)
    assert found[:3] == [("0", "cec"), ("1", "sac"), ("2", "emac")]


def test_methods_have_the_colours_of_the_figures(make_run, report_of):
    for agent in ("cec", "cec-plus", "mine"):
        make_run(agent, agent=agent)
    _, page = report_of()
    found = dict(re.findall(r'data-toggle="([\w-]+)" style="--hue:(#\w+)"', page.source))
    assert found == {name: colour_of(name) for name in ("cec-plus", "cec", "mine")}


def test_episodes_have_colours_and_a_legend(make_run, report_of):
    make_run("a", trajectories=True, success=[0, 0, 0, 0, 1])
    _, page = report_of()
    colours = re.findall(r'class="episode" style="--hue:(#\w+)"', page.source)
    assert len(set(colours)) == len(colours) == 3
    assert page.source.count('class="trajectory failed"') == 2
    assert "episode 1 2 3 · dashed: no success" in page.words


def test_of_many_pictures_most_are_folded_away(make_run, report_of):
    """25 runs of MFEC had 100 maps below each other, before the tables of settings and runs."""
    for seed in range(14):
        make_run(f"run-{seed}", seed=seed, trajectories=True)
    _, page = report_of()
    section = page.source.partition('<section id="trajectories">')[2].partition("</section>")[0]
    shown, folded = section.split('<details class="more"><summary>2 more</summary>')
    assert shown.count('<figure class="picture">') == 12
    assert folded.count('<figure class="picture">') == 2


def test_unfinished_runs_are_dashed_named_and_counted_nowhere(make_run, report_of):
    for seed in range(3):
        make_run(f"{seed}", seed=seed, success=[0, 0, 4, 4, 4])
    make_run("killed", seed=3, status="interrupted", success=[0, 0, 0, 0, 0])
    report, page = report_of()
    assert page.shown.count('class="unfinished"') == 2  # success, and the size of the memory
    assert "1.00 [1.00, 1.00]" in page.words
    assert len(report.notes) == 1
    assert report.notes[0].endswith("killed: not finished (status 'interrupted').")
    assert "<mark>interrupted</mark>" in page.source


def test_unreadable_folders_are_named_and_left_out(make_run, report_of):
    make_run("good")
    (make_run("bad", seed=1) / "manifest.json").write_text("{")
    (make_run("half", seed=2) / "eval.csv").unlink()
    report, page = report_of()
    assert report.n_runs == 1
    assert len([note for note in report.notes if note.startswith("Left out: ")]) == 2
    assert "manifest.json is damaged" in page.words


def test_unequal_lengths_are_declared(make_run, report_of):
    make_run("a")
    make_run("b", seed=1, steps=[0, 1000, 2000])
    report, page = report_of()
    assert "cut to the 2,000 steps that all have (the longest has 4,000)" in page.words
    assert len(report.notes) == 1


def test_methods_without_a_common_step_are_not_compared(make_run, report_of):
    make_run("a")
    make_run("b", agent="sac", steps=[500, 1500])
    report, _ = report_of()
    assert any("no step at which all methods" in note for note in report.notes)


def test_nothing_readable_is_an_error(make_run, tmp_path):
    (make_run("bad") / "manifest.json").write_text("{")
    with pytest.raises(RunError, match="expected at least one run that can be read"):
        write_report(tmp_path, tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_differences_between_methods_are_listed(make_run, report_of):
    make_run("a", capacity=1000)
    make_run("b", capacity=5000)
    _, page = report_of()
    shown = re.search(r"<h2>Settings.*?</section>", page.source, re.S)[0]
    assert re.findall(r"<code>(.*?)</code>", shown) == ["capacity"]
    assert "<td><div>1000</div></td><td><div>5000</div></td>" in shown


def test_everything_from_files_is_escaped(make_run, report_of):
    evil = "<img src=x onerror=alert(1)></script><b>\"'&"
    make_run("a", agent=evil, task=evil, note=evil)
    make_run("b", agent=evil, task=evil, note=evil + "2", trajectories=True)
    _, page = report_of()
    assert not [name for name, _ in page.elements if name in ("img",)]
    assert evil in "".join(page.text)
    assert "<img" not in page.source


def test_a_real_run_shows_its_memory(tmp_path, report_of):
    for seed in range(2):
        config = RunConfig("cec", "GrowingTree", seed=seed, steps=2000, eval_freq=1000)
        start(config, tmp_path / "runs" / f"{seed}")
    report, page = report_of()
    assert report.notes == []
    pictures = re.findall(r'href="data:image/png;base64,(.*?)"', page.source)
    assert len(pictures) == 2
    assert base64.b64decode(pictures[0]).startswith(b"\x89PNG")
    assert re.search(r"seed 1: \d+ rows", page.words)
    assert "Time" in page.headings()


def test_a_damaged_checkpoint_is_said_and_the_rest_shown(tmp_path, report_of):
    config = RunConfig("cec", "GrowingTree", steps=1000, eval_freq=500)
    start(config, tmp_path / "runs" / "a")
    checkpoint = tmp_path / "runs" / "a" / "checkpoints" / "last.scrub"
    checkpoint.write_bytes(checkpoint.read_bytes()[:500])
    report, page = report_of()
    assert len(report.notes) == 1
    assert "the memory cannot be shown" in report.notes[0]
    assert "Learning curves" in page.headings()


def test_walls_are_drawn_where_the_manifest_has_them(make_run, report_of):
    path = make_run("a", trajectories=True) / "manifest.json"
    walls = [[-1, -1, 9, -1], [-1, 9, 9, 9]]
    path.write_text(json.dumps({**json.loads(path.read_text()), "walls": walls}))
    _, page = report_of()
    assert page.source.count('class="wall"') == 2
    assert page.source.count('class="trajectory') == 3
    path.write_text(json.dumps({**json.loads(path.read_text()), "walls": "nonsense"}))
    _, page = report_of()
    assert 'class="wall"' not in page.source
    assert page.source.count('class="trajectory') == 3


def test_damaged_trajectories_are_said(make_run, report_of):
    folder = make_run("a", trajectories=True)
    (folder / "trajectories.csv").write_text("timestep,episode\n1,2\n")
    report, page = report_of()
    assert any("column 'x'" in note for note in report.notes)
    assert "Trajectories" not in page.headings()


def render(template, value):
    return open_templates().from_string(template).render(value=value)


def test_templates_escape_what_they_are_given():
    assert render('<b class="{{ value }}">{{ value }}</b>', "<'\">") == (
        '<b class="&lt;&#39;&#34;&gt;">&lt;&#39;&#34;&gt;</b>'
    )


def test_script_data_cannot_end_its_element():
    assert "</script" not in render("{{ value | tojson }}", {"x": "</script><script>"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        render("{{ value | tojson }}", float("nan"))


def test_a_name_that_a_template_does_not_know_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="no attribute 'metod'"):
        render("{{ value.metod }}", {"method": 1})


def test_style_and_script_stand_in_the_page_as_they_are(make_run, report_of):
    make_run("a")
    _, page = report_of()
    for name in ("page.css", "page.js"):
        assert (resources.files("scrubjay.report") / "templates" / name).read_text() in page.source


def test_without_jinja_the_extra_is_named_before_any_work(tmp_path):
    program = f"""
import sys
sys.modules["jinja2"] = None
from scrubjay.report.page import write_report
from scrubjay.report.rendering import open_templates
try:
    write_report("no such runs", {str(tmp_path / "new" / "page.html")!r})
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    message = 'jinja2 is needed for this and is not installed: pip install "scrubjay[plots]"'
    assert done.stdout.strip() == message
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 100_000, [0, 20_000, 40_000, 60_000, 80_000, 100_000]),
        (-0.04, 1.04, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-350, -100, [-350, -300, -250, -200, -150, -100]),
    ],
)
def test_ticks_are_round_and_inside(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.25, "0.25"), (1500, "1.5k"), (2e6, "2M"), (-20_000, "-20k")]
)
def test_numbers_are_written_short(value, text):
    assert number(value) == text


def test_png_is_read_back():
    image = np.random.default_rng(0).integers(0, 256, size=(5, 7, 4), dtype=np.uint8)
    data = png(image)
    start, length = data.index(b"IDAT") + 4, data.index(b"IDAT") - 4
    size = int.from_bytes(data[length : length + 4], "big")
    rows = np.frombuffer(zlib.decompress(data[start : start + size]), np.uint8).reshape(5, 29)
    np.testing.assert_array_equal(rows[:, 1:].reshape(5, 7, 4), image)


def test_runs_are_linked_with_their_videos(make_run, tmp_path):
    with_video = make_run("a run", seed=0)
    (with_video / "videos").mkdir()
    (with_video / "videos" / "episode 1.mp4").write_bytes(b"")
    make_run("other", seed=1)
    write_report(tmp_path / "runs", tmp_path / "pages" / "report.html")
    page = (tmp_path / "pages" / "report.html").read_text()
    assert '<a href="../runs/a%20run/">' in page
    assert '<a href="../runs/a%20run/videos/episode%201.mp4">video</a>' in page
    assert page.count(">video</a>") >= 2  # beside its curve, and in the table of runs
    curves = page.partition('id="curves"')[2].partition("</svg>")[0]
    assert '<a href="../runs/other/" tabindex="-1">' in curves


def test_settings_with_several_values_name_their_tasks(make_run, tmp_path):
    for task, radius in (("A", 1), ("B", 1), ("C", 3)):
        make_run(f"cec-{task}", task=task, radius=radius)
        make_run(f"sac-{task}", agent="sac", task=task, radius=1)
    write_report(tmp_path / "runs", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    row = page.partition("<code>radius</code>")[2].partition("</tr>")[0]
    cells = row.split("<td>")[1:]
    assert "<div>1 <small>A, B</small></div><div>3 <small>C</small></div>" in cells[0]
    assert "<div>1</div>" in cells[1]


def test_what_callbacks_recorded_can_be_compared(make_run, tmp_path):
    run = make_run("run")
    (run / "logged.csv").write_text("timestep,name,value\n10,loss,2.5\n20,loss,1.5\n20,word,abc\n")
    write_report(run, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert '<option value="loss">loss</option>' in page
    assert "word" not in page.partition('id="curves"')[2].partition("</select>")[0]
