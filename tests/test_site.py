"""The documentation as a site: it builds without a warning, all links lead somewhere, and it needs
no network: equations and search work in a browser on pages that are opened from the disk."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from test_docs import ROOT

pytest.importorskip("mkdocs", reason='pip install "scrubjay[docs]"')

CHROMIUM = next((found for name in ("chromium", "chrome") if (found := shutil.which(name))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--virtual-time-budget=10000", "--allow-file-access-from-files"),
)
needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]


class Page(HTMLParser):
    """The ids, links and loaded files of an HTML page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        if tag in ("img", "script", "iframe", "source") and found.get("src"):
            self.loaded.add(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.add(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; MkDocs counts warnings as errors."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_all_links_lead_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute, for a server
            continue
        for link in sorted(page.links | page.loaded):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not to.is_file() or (to in pages and fragment and fragment not in pages[to].ids):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []
    assert len(pages) > 30


def test_nothing_is_loaded_from_the_network(site, pages):
    """Links may lead out of the site; fonts, scripts, styles and pictures may not."""
    elsewhere = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert elsewhere == set()
    for sheet in site.rglob("*.css"):
        found = re.findall(r"url\(['\"]?(https?:[^)]*)|@import", sheet.read_text(encoding="utf-8"))
        assert found == [], sheet.name


def test_every_page_is_in_the_search_index(site):
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert f'"location":"{place}' in index.replace(": ", ":"), f"{place} cannot be found"


def browse(page: Path, query: str, profile: Path) -> str:
    """The page after its scripts have run, opened from the disk; fails if one complains."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri() + query]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    complaints = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    assert complaints == []
    return result.stdout


@pytest.mark.parametrize("name", ["cec", "plus", "emac", "sac", "tqc", "crossq", "dqn", "metrics"])
@pytest.mark.usefixtures("site")
def test_equations_are_valid(name):
    """KaTeX stops at the first equation that it does not understand, so each page is counted."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("$$") % 2 == 0
    assert "\\\\(" not in text, "equations are written between dollar signs, as on GitHub"


class TestInABrowser:
    pytestmark = needs_browser

    def test_equations_are_drawn(self, site, tmp_path):
        text = browse(site / "plus.html", "", tmp_path / "profile")
        written = text.count('class="arithmatex"')
        assert written > 10
        assert len(re.findall(r'class="arithmatex"><span class="katex', text)) == written

    def test_search_finds_pages(self, site, tmp_path):
        text = browse(site / "index.html", "?q=stitching", tmp_path / "profile")
        results = re.findall(r'href="([^"]*)" class="md-search-result__link"', text)
        assert any("plus.html" in result for result in results)
