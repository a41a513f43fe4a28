"""The page in a real browser: by pointer and by keyboard, wide and narrow, and nothing leaves."""

import json
import shutil
import time

import numpy as np
import pytest
from web_pages import serving

from scrubjay import CECPlus
from scrubjay.agents import MemoryAgent, Spaces
from scrubjay.embedding import Identity

pytest.importorskip("uvicorn")
webdriver = pytest.importorskip("selenium.webdriver")

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next((found for name in NAMES if (found := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason=f"no Chromium is installed ({', '.join(NAMES)})"),
    pytest.mark.skipif(DRIVER is None, reason="no chromedriver is installed"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """A page that is open, and short ways to use it."""

    def __init__(self, browser, address, width=1400, dark=False):
        self.browser, self.address = browser, address
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(address)
        self.until("document.body.dataset.done === 'checkpoint:1'")

    def js(self, expression, *arguments):
        return self.browser.execute_script(f"return {expression}", *arguments)

    def text(self, name):
        return self.js("document.getElementById(arguments[0]).textContent", name)

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not self.js(condition):
            assert time.monotonic() < end, f"{condition}: {self.text('error')}"
            time.sleep(0.03)

    def keys(self, text):
        """Types into whatever has the focus."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(text).perform()

    def after(self, action, kind):
        """Does something and waits until that interaction is complete."""
        before = self.js("document.body.dataset.done")
        action()
        same = json.dumps(before)
        self.until(
            f"document.body.dataset.done !== {same} && "
            f"document.body.dataset.done.startsWith('{kind}:')"
        )

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def requests(self):
        """The addresses of everything that the page has asked for."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")
        ]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in sent]


@pytest.fixture
def opened(browser, page):
    return Page(browser, page)


def test_it_shows_the_memory_and_asks_nobody_else(opened, finished):
    rows = len(MemoryAgent.load(finished / "checkpoints" / "last.scrub").memory)
    assert f"{rows:,} rows" in opened.text("facts")
    assert opened.text("title") == "tree"
    assert opened.text("map-note") == f"All {rows:,} rows are drawn."
    assert opened.js("document.querySelectorAll('#neighbors tbody tr').length") > 0
    assert opened.complaints() == []
    asked = opened.requests()
    assert len(asked) > 8
    assert [url for url in asked if not url.startswith(opened.address)] == []


def test_a_click_picks_the_nearest_row(opened, finished):
    agent = MemoryAgent.load(finished / "checkpoints" / "last.scrub")
    opened.after(lambda: opened.browser.find_element("id", "overlay").click(), "pick")
    words = opened.text("state-about")
    row = int(words.split(":")[0].removeprefix("Row ").replace(",", ""))
    found = agent.explain_key(agent.memory.keys[row].astype(np.float64))
    followed = opened.js("document.querySelector('#neighbors tr.followed .link').textContent")
    assert int(followed.replace(",", "")) == found.neighbors[found.followed].row
    assert opened.js("document.querySelectorAll('#neighbors tbody tr').length") == len(
        found.neighbors
    )


def test_everything_works_by_keyboard(opened):
    from selenium.webdriver.common.keys import Keys

    for key, name in (("2", "age"), ("3", "density"), ("4", "trust"), ("1", "value")):
        opened.after(lambda key=key: opened.keys(key), "color")
        pressed = opened.js("document.querySelector('[data-color][aria-pressed=true]').textContent")
        assert pressed == name
    opened.keys("m")
    assert opened.js("document.activeElement.id") == "overlay"
    opened.after(lambda: opened.keys("b"), "pick")
    first = opened.text("state-about")
    opened.after(lambda: opened.keys(Keys.ARROW_LEFT), "pick")
    assert opened.text("state-about") != first
    for key in ("+", "-", "0"):
        opened.after(lambda key=key: opened.keys(key), "zoom")
    opened.after(lambda: opened.keys("["), "checkpoint")
    assert opened.js("document.getElementById('checkpoint').selectedOptions[0].text") == "step-2000"
    opened.after(lambda: opened.keys("]"), "checkpoint")
    opened.keys("?")
    assert opened.js("document.getElementById('keys').open")
    opened.keys(Keys.ESCAPE)
    assert not opened.js("document.getElementById('keys').open")
    assert opened.complaints() == []


def test_a_checkpoint_shows_its_own_memory(opened, finished):
    for name, key in (("step-2000", "["), ("step-1000", "[")):
        opened.after(lambda key=key: opened.keys(key), "checkpoint")
        rows = len(MemoryAgent.load(finished / "checkpoints" / f"{name}.scrub").memory)
        assert f"{rows:,} rows" in opened.text("facts")
    assert opened.js("document.getElementById('previous').disabled")


def test_an_episode_is_replayed_beside_its_frames(opened):
    opened.keys(".")
    opened.until("!document.getElementById('stage').hidden")
    opened.until("document.getElementById('replay-about').textContent.includes('steps, return')")
    opened.after(lambda: opened.keys("."), "step")
    assert opened.text("state-about").startswith("Step 1 of episode 0.")
    opened.until("document.getElementById('frame').complete")
    assert opened.js("document.getElementById('frame').naturalWidth") > 50
    assert opened.js("document.querySelector('#chart .estimated').getAttribute('d').length") > 5
    opened.after(lambda: opened.keys(","), "step")
    assert "0 of" in opened.text("step-facts")
    opened.keys(" ")
    opened.until("Number(document.getElementById('step').value) > 3")
    opened.keys(" ")
    assert opened.js("document.getElementById('play').textContent") == "Play"
    assert opened.complaints() == []


def test_overestimated_rows_are_listed_and_lead_to_their_moment(opened):
    opened.keys("f")
    opened.until("!document.getElementById('overestimates-box').hidden")
    assert opened.text("overestimates-about").startswith("5 greedy episodes")
    opened.after(
        lambda: opened.js("document.querySelector('#overestimate-table tbody .link').click()"),
        "pick",
    )
    row = opened.js("document.querySelector('#overestimate-table tbody .link').textContent")
    assert opened.text("state-about").startswith(f"Row {row}:")
    moment = "document.querySelector('#overestimate-table td:last-child .link')"
    opened.after(lambda: opened.js(f"{moment}.click()"), "step")
    assert opened.text("state-about").startswith("Step ")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_window(browser, page, width, dark):
    opened = Page(browser, page, width, dark)
    assert opened.js("document.documentElement.scrollWidth") <= width
    assert opened.complaints() == []


def test_hostile_names_do_nothing(browser, finished, tmp_path):
    evil = "<img src=x onerror=document.body.dataset.harm=1>"
    folder = shutil.copytree(finished, tmp_path / evil)
    with serving(folder) as (_, address):
        opened = Page(browser, address)
        assert opened.text("title") == evil
        assert opened.js("document.body.dataset.harm") is None


def test_a_server_that_has_stopped_is_a_message(browser, finished):
    with serving(finished) as (_, address):
        opened = Page(browser, address)
    opened.keys("2")
    opened.until("!document.getElementById('error').hidden")
    assert opened.text("error") == "The server does not answer; was it stopped?"


def test_a_hundred_thousand_rows_are_drawn_and_recoloured(browser, tmp_path):
    """Within 200 ms on an idle machine (`python -m benchmarks.inspect_page`); ten times as much
    is allowed here, where other tests run beside it."""
    import gymnasium

    rng, n = np.random.default_rng(0), 100_000
    box = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    spaces = Spaces(box, gymnasium.spaces.Box(-1, 1, (2,), np.float32))
    plain = {"planning": 0.0, "discovery": False}  # rows without where they led to
    agent = CECPlus(spaces, distance_threshold=1e-6, embedding=Identity(), seed=0, **plain)
    agent.memory.write_many(rng.normal(size=(n, 4)), rng.random(n), action=np.zeros((n, 2)))
    agent.memory_changed()
    agent.save(tmp_path / "large.scrub")
    with serving(tmp_path / "large.scrub") as (_, address):
        opened = Page(browser, address)
        assert opened.text("map-note") == "All 100,000 rows are drawn."
        for key, kind in (("2", "color"), ("m", None), ("b", "pick"), ("+", "zoom"), ("0", "zoom")):
            if kind is None:
                opened.keys(key)
            else:
                opened.after(lambda key=key: opened.keys(key), kind)
        entries = "performance.getEntriesByType('measure')"
        taken = opened.js(f"{entries}.map((entry) => [entry.name, entry.duration])")
    slow = [entry for entry in taken if entry[1] > 2000 and not entry[0].endswith("checkpoint")]
    assert slow == []
