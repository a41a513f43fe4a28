"""What MkDocs does beyond its configuration: pages link to files of the repository as on GitHub.

The pages are written for both readers. A link that leaves docs/, such as ../results/plus.png or
../examples/own_loop.py, works on GitHub as it is; here it gets a place in the site: figures and
data are copied, tables become pages, and source code becomes a page with line numbers.
CONTRIBUTING.md and CHANGELOG.md are pages of the site too.

A code block with the title of a source file quotes it; tests/test_docs.py checks that the file
contains these lines. Here it gets the line numbers of the file and a link to them.
"""

import contextlib
import io
import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

from scrubjay.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FROM_ROOT = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
AS_THEY_ARE = {".png", ".svg", ".gif", ".csv", ".json", ".md"}
COMMANDS = "cli.md"
METHODS = ("cec-plus", "cec", "mfec")  # those that need no extra

FENCE = re.compile(r"(^[ \t]*```.*?^[ \t]*```)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
QUOTE = re.compile(
    r'^```python title="(?P<path>[\w/]+\.py)"\n(?P<code>.*?)^```', re.DOTALL | re.MULTILINE
)

NOT_FOUND = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Page not found - {name}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; }}
body {{ padding: 0 1rem; }}
</style>
</head>
<body>
<h1>Page not found</h1>
<p>There is no page at this address. It may have been moved or renamed.</p>
<p><a href="{home}">Documentation of {name}</a></p>
</body>
</html>
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Show pages that the navigation of mkdocs.yml does not name at its end, under More."""
    named = set(re.findall(r"[\w/]+\.md", str(config.nav)))
    pages = (path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md")))
    if more := [page for page in pages if page not in named]:
        assert config.nav is not None
        config.nav.append({"More": more})
    return config


def on_post_template(output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
    """Replace the page for wrong addresses by one that needs no other file.

    A server shows it at any address, so that relative links would not work in it.
    """
    if template_name != "404.html":
        return output_content
    home = urlsplit(config.site_url or "").path or "/"
    return NOT_FOUND.format(name=config.site_name, home=home)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of files outside of docs/."""
    for name, uri in FROM_ROOT.items():
        files.append(generated(config, uri, (ROOT / name).read_text(encoding="utf-8")))
    files.append(generated(config, COMMANDS, command_page()))
    texts = [page.content_string for page in files.documentation_pages()]
    places = [origin(page.src_uri).parent for page in files.documentation_pages()]
    waiting = list(zip(texts, places, strict=True))
    while waiting:
        text, place = waiting.pop()
        for path in linked(text, place):
            uri = target(path)
            if files.get_file_from_path(uri) is None:
                file = outside_file(config, path, uri)
                files.append(file)
                if path.suffix == ".md":
                    waiting.append((file.content_string, path.parent))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links of a page to their places in the site, and quotes to their lines."""
    uri = page.file.src_uri
    parts = FENCE.split(markdown)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = QUOTE.sub(lambda match: numbered(match, uri), part)
        else:
            parts[i] = LINK.sub(lambda match: redirected(match, uri), part)
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Leave displayed equations out of search results, which would show their TeX code."""
    return html.replace('<div class="arithmatex"', '<div data-search-exclude class="arithmatex"')


def generated(config: MkDocsConfig, uri: str, text: str) -> File:
    return File.generated(config, uri, content=text, inclusion=InclusionLevel.INCLUDED)


def outside_file(config: MkDocsConfig, path: Path, uri: str) -> File:
    """The place in the site of a file that is not in docs/."""
    name = path.relative_to(ROOT).as_posix()
    if path.suffix == ".md":
        content = path.read_text(encoding="utf-8")
    elif path.suffix in AS_THEY_ARE:
        return File.generated(config, uri, abs_src_path=str(path))
    else:
        language = path.suffix.removeprefix(".").replace("cff", "yaml")
        code = path.read_text(encoding="utf-8").rstrip()
        options = f'{{ .{language or "text"} linenums="1" }}'
        content = f"# {path.name}\n\n`{name}`\n\n```{options}\n{code}\n```\n"
    excluded = "---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n"
    not_in_nav = InclusionLevel.NOT_IN_NAV
    return File.generated(config, uri, content=excluded + content, inclusion=not_in_nav)


def origin(uri: str) -> Path:
    """The file of the repository that a page was made of."""
    for name, page in FROM_ROOT.items():
        if page == uri:
            return ROOT / name
    if uri.startswith("repository/"):
        return ROOT / uri.removeprefix("repository/")
    return DOCS / uri


def target(path: Path) -> str:
    """Where a file of the repository is in the site."""
    if is_page(path):
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    if name == "README.md":
        return "index.md"
    if name in FROM_ROOT:
        return FROM_ROOT[name]
    return f"repository/{name}" + ("" if path.suffix in AS_THEY_ARE else ".md")


def linked(text: str, place: Path) -> Iterator[Path]:
    """The files outside of docs/ that a page links to or quotes."""
    for i, part in enumerate(FENCE.split(text)):
        if i % 2:
            yield from (ROOT / match["path"] for match in QUOTE.finditer(part))
            continue
        for match in LINK.finditer(part):
            path = resolved(match[2], place)
            if path is not None and path.is_file() and not is_page(path):
                yield path


def is_page(path: Path) -> bool:
    """Whether a file is a part of the site anyway."""
    return path.is_relative_to(DOCS) and path.suffix != ".py"


def resolved(link: str, place: Path) -> Path | None:
    if "://" in link or link.startswith("mailto:"):
        return None
    return Path(os.path.normpath(place / link))


def redirected(match: re.Match[str], uri: str) -> str:
    before, link, anchor, after = match.groups()
    path = resolved(link, origin(uri).parent)
    if path is None or not path.is_relative_to(ROOT) or not path.exists():
        return match[0]
    return f"{before}{relative(target(path), uri)}{anchor or ''}{after}"


def relative(uri: str, page: str) -> str:
    return os.path.relpath(uri, os.path.dirname(page) or ".").replace(os.sep, "/")


def numbered(match: re.Match[str], uri: str) -> str:
    """A quote with the line numbers of its file, and a link to the first of them."""
    path, code = match["path"], match["code"]
    line = first_line(ROOT / path, code)
    place = relative(target(ROOT / path), uri)
    heading = f'```{{ .python title="{path}" linenums="{line}" }}'
    # HTML, because MkDocs does not know the anchors of lines; tests/test_site.py checks them
    href = f"{place.removesuffix('.md')}.html#__codelineno-0-{line}"
    link = f'<p class="source-link"><a href="{href}">Line {line} of the file</a></p>'
    return f"{heading}\n{textwrap.dedent(code)}```\n\n{link}\n"


def first_line(path: Path, quote: str) -> int:
    """The line of a file with which a quote begins; the quote may be indented less.

    Raises:
        ValueError: If the file does not contain the quote.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    wanted = textwrap.dedent(quote).splitlines()
    for start in range(len(lines) - len(wanted) + 1):
        found = "\n".join(lines[start : start + len(wanted)])
        if textwrap.dedent(found).splitlines() == wanted:
            return start + 1
    raise ValueError(f"{path.relative_to(ROOT)} does not contain {wanted[0]!r} and what follows it")


def command_page() -> str:
    """The help of all commands, as they print it on a terminal of 90 columns."""
    overview = help_of()
    names = re.findall(r"^  ([a-z-]+) ", overview.partition("commands:")[2], re.MULTILINE)
    names = [name for name in names if f"  {name} " in overview.partition("options:")[0]]
    parts = [
        "# Command line\n\nWhat `scrubjay --help` and the help of each command print.\n",
        f"```text\n{overview}```\n",
    ]
    for name in dict.fromkeys(names):
        parts.append(f"## scrubjay {name}\n\n```text\n{help_of(name)}```\n")
        if name == "train":
            parts.extend(map(settings_of, METHODS))
    return "\n".join(parts)


def settings_of(method: str) -> str:
    """The settings of a method, which the help of train shows after its name."""
    text = help_of("train", method)
    listed = text[text.index("settings of ") : text.index("\nexamples:")]
    return f"### Settings of {method}\n\n```text\n{listed}```\n"


def help_of(*words: str) -> str:
    columns, text = os.environ.get("COLUMNS"), io.StringIO()
    os.environ["COLUMNS"] = "90"
    try:
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return text.getvalue()
