"""The report in a real browser: its script runs, hides, switches and reads out; nothing leaks."""

import csv
import html
import io
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

from probes import Corridor
from run_folders import write_run
from scrubjay.agents import CEC
from scrubjay.report.page import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=2000"),
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason=f"no Chromium is installed ({', '.join(NAMES)})"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    for seed in range(3):
        write_run(folder / "runs" / f"cec-{seed}", seed=seed, trajectories=True)
        changes = {"agent": "sac", "success": [0, 0, 0, 0, 4]}
        write_run(folder / "runs" / f"sac-{seed}", seed=seed, **changes)
    write_report(folder / "runs", folder / "report.html")
    return folder / "report.html"


def browse(page, tmp_path, *flags, fragment="", window="1200,900"):
    """What Chromium prints; fails if the page complains in the console."""
    command = [
        *(CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={window}"),
        *(*flags, f"{page.as_uri()}{fragment}"),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    complaints = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    assert complaints == []
    return result.stdout


def dom(page, tmp_path, fragment="", script="", window="1200,900"):
    """The page as it stands after its own script and then `script` have run."""
    if script:
        driven = page.with_name("driven.html")
        text = page.read_text(encoding="utf-8")
        driven.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
        page = driven
    return browse(page, tmp_path, "--dump-dom", fragment=fragment, window=window)


def body_of(text):
    return re.search(r"<body[^>]*>", text)[0]


def hidden_series(text):
    return re.findall(r'class="series[^"]* hidden" data-series="(.*?)"', text)


def pressed(text):
    buttons = re.findall(r"<button[^>]*>", text)
    return [
        re.search(r'data-(?:toggle|choose)="(.*?)"', button)[1]
        for button in buttons
        if 'aria-pressed="true"' in button
    ]


def test_script_runs_without_an_error(page, tmp_path):
    text = dom(page, tmp_path)
    assert 'data-ready="yes"' in body_of(text)
    assert "data-error" not in body_of(text)
    assert hidden_series(text) == []
    assert pressed(text) == ["cec", "sac", "iqm"]


def test_the_address_hides_methods_and_chooses_the_summary(page, tmp_path):
    text = dom(page, tmp_path, "#hide=sac&mode=mean")
    assert set(hidden_series(text)) == {"sac"}
    assert len(hidden_series(text)) == 2
    assert 'data-mode="mean"' in body_of(text)
    assert pressed(text) == ["cec", "mean"]


def test_clicks_hide_show_and_are_kept_in_the_address(page, tmp_path):
    script = """
        document.querySelector('[data-toggle="cec"]').click();
        document.querySelector('[data-toggle="sac"]').click();
        document.querySelector('[data-toggle="sac"]').click();
        document.querySelector('[data-choose="mean"]').click();
        document.body.dataset.address = location.hash;
    """
    text = dom(page, tmp_path, script=script)
    assert set(hidden_series(text)) == {"cec"}
    assert 'data-address="#hide=cec&amp;mode=mean"' in body_of(text)


def test_the_pointer_reads_out_the_nearest_step(page, tmp_path):
    script = """
        const svg = document.querySelector(".chart svg"), box = svg.getBoundingClientRect();
        // a little right of the middle of the field, which is step 2000 of 0 to 4000
        const x = box.left + box.width * (58 + 0.52 * (560 - 58 - 22)) / 560;
        svg.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: box.top + 50 }));
    """
    text = dom(page, tmp_path, script=script)
    readout = re.search(r'<div class="readout"[^>]*>(.*?)</div></div>', text)[1]
    assert "step 2,000" in readout
    assert "0.5 [0.5, 0.5]" in readout
    assert "0 [0, 0]" in readout


def test_the_keyboard_reads_out_too(page, tmp_path):
    script = """
        const svg = document.querySelector(".chart svg");
        for (let i = 0; i < 2; i++)
            svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    """
    assert "step 1,000" in dom(page, tmp_path, script=script)


def test_hostile_names_do_nothing(make_run, tmp_path):
    harm = "document.body.dataset.harm=1"
    evil = f"<img src=x onerror={harm}></script><script>{harm}</script>"
    make_run("a", agent=evil, task=evil, option=evil)
    make_run("b", agent=evil, task=evil, option="else")
    write_report(tmp_path / "runs", tmp_path / "report.html")
    text = dom(tmp_path / "report.html", tmp_path)
    assert 'data-ready="yes"' in body_of(text)
    assert "harm" not in body_of(text)


@pytest.mark.parametrize("width", [500, 1400])
def test_nothing_is_wider_than_the_window(page, tmp_path, width):
    script = "document.body.dataset.wide = document.documentElement.scrollWidth > innerWidth;"
    shown = dom(page, tmp_path, script=script, window=f"{width},900")
    assert 'data-wide="false"' in body_of(shown)


def test_it_can_be_seen_and_printed(page, tmp_path):
    picture, paper = tmp_path / "shot.png", tmp_path / "print.pdf"
    browse(page, tmp_path, f"--screenshot={picture}")
    browse(page, tmp_path, f"--print-to-pdf={paper}")
    # an empty page of this size has 5 kB
    assert picture.stat().st_size > 30_000
    assert paper.read_bytes().startswith(b"%PDF")
    assert paper.stat().st_size > 20_000


# what a click would write to a file stands in the page instead
CATCH = "download = (name, text) => (body.dataset.file = name + '\\n' + text);"


def saved(page, tmp_path, script, **how):
    """The name and the text of the file that a script makes the page save."""
    text = dom(page, tmp_path, script=CATCH + script, **how)
    found = re.search(r'data-file="(.*?)"', text, re.DOTALL)
    name, _, text = html.unescape(found[1]).partition("\n")
    return name, text


def click(what, kind):
    return f"document.querySelector('{what} [data-export={kind}]').click();"


def shown_quantities(text):
    """The quantities whose charts have been made, and which of them are hidden."""
    made = re.sub(r"<template.*?</template>", "", text, flags=re.DOTALL)
    return re.findall(r'<div class="charts" data-quantity="(.*?)"( hidden="")?', made)


def test_methods_are_compared_by_any_logged_quantity(page, tmp_path):
    text = dom(page, tmp_path, "#by=memory%2Fhit_rate")
    assert shown_quantities(text) == [("", ' hidden=""'), ("memory/hit_rate", "")]
    options = re.findall(r'<option value="(.*?)"', text)
    assert options[:4] == ["", "success", "return", "length"]
    assert {"memory/size", "memory/hit_rate", "time/fps"} <= set(options)


def test_an_unknown_quantity_in_the_address_shows_the_first_view(page, tmp_path):
    assert shown_quantities(dom(page, tmp_path, "#by=nothing")) == [("", "")]


def test_a_chart_is_saved_as_a_table(page, tmp_path):
    name, text = saved(page, tmp_path, click("#curves", "csv"))
    assert name == "PointUMaze-success-rate-the-return-is-the-same-.csv"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["method"] for row in rows} == {"cec", "sac"}
    assert len(rows) == 2 * 5 * (3 + 1)  # methods, steps, seeds and their summary
    last = [row for row in rows if (row["method"], row["step"]) == ("sac", "4000")]
    assert [row["seed"] for row in last] == ["0", "1", "2", "all"]
    assert {row["value"] for row in last} == {"1"}


def test_a_chart_is_saved_as_a_picture_that_stands_alone(page, tmp_path):
    name, text = saved(page, tmp_path, click("#curves", "svg"), fragment="#hide=sac")
    assert name.endswith(".svg")
    root = ElementTree.fromstring(text)
    words = [found.text for found in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "cec" in words
    assert "sac" not in words  # hidden on the page, and so in the file
    assert any("success rate" in word for word in words)
    assert "stroke" in root.find("{http://www.w3.org/2000/svg}style").text
    assert "<a " not in text


def test_trajectories_are_saved_as_a_table(page, tmp_path):
    _, text = saved(page, tmp_path, click("#trajectories", "csv"))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 3 * 60
    assert {row["episode"] for row in rows} == {"1", "2", "3"}
    assert float(rows[0]["x"]) == pytest.approx(0.0, abs=1e-4)
    assert float(rows[59]["y"]) == pytest.approx(8.0, abs=1e-4)


def test_a_table_is_saved_as_a_table(page, tmp_path):
    name, text = saved(page, tmp_path, click("#results", "table"))
    assert name == "Results.csv"
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:2] == ["method", "success"]
    assert rows[2][0] == "cec"


def test_the_map_of_a_memory_is_saved_with_its_values(tmp_path):
    agent = CEC(Corridor([0.0, 0.0, 1.0]), seed=0)
    agent.learn(40, run_folder=tmp_path / "run", eval_freq=20, eval_env=Corridor([0.0, 0.0, 1.0]))
    manifest = tmp_path / "run" / "manifest.json"  # the corridor has no id
    manifest.write_text(manifest.read_text().replace('"task": null', '"task": "corridor"'))
    write_report(tmp_path / "run", tmp_path / "report.html")
    _, text = saved(tmp_path / "report.html", tmp_path, click("#memory .gallery", "csv"))
    values = sorted({float(row["value"]) for row in csv.DictReader(io.StringIO(text))})
    expected = sorted(set(agent.memory.values.tolist()))
    assert values == pytest.approx(expected, abs=1e-4)
