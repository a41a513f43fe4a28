"""The templates of the page. Whatever is put into them is escaped."""

from typing import TYPE_CHECKING, Any

from scrubjay.optional import require

if TYPE_CHECKING:
    from jinja2 import Environment


def open_templates() -> "Environment":
    """The templates of this package.

    Raises:
        ImportError: If Jinja2 is not installed; the message says how to install it.
    """
    jinja2: Any = require("jinja2", "plots")
    templates: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # `tojson` also escapes "<", so that no text can end the script element it stands in
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    templates.globals["verbatim"] = lambda name: _source(templates, name)
    return templates


def _source(templates: "Environment", name: str) -> Any:
    """The text of a file of this package, for the page's style and script."""
    assert templates.loader is not None
    text, _, _ = templates.loader.get_source(templates, name)
    return require("markupsafe", "plots").Markup(text)
