"""The report in a real browser: its script runs, hides, switches and reads out; nothing leaks."""

import re
import shutil
import subprocess

import pytest

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


@pytest.fixture
def page(make_run, tmp_path):
    for seed in range(3):
        make_run(f"cec-{seed}", seed=seed, trajectories=True)
        make_run(f"sac-{seed}", agent="sac", seed=seed, success=[0, 0, 0, 0, 4])
    write_report(tmp_path / "runs", tmp_path / "report.html")
    return tmp_path / "report.html"


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
