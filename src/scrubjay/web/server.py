"""The server of the page, for this machine only and for users who know the address.

It listens on the loopback interface. The address begins with a random token, without which every
request is refused, and the Host header must name the loopback interface, so that no other site can
reach it through a name of its own. Only files of this package are served, by name.
"""

import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING, Any

from scrubjay.optional import require
from scrubjay.web.api import Api, BadRequest, as_json
from scrubjay.web.episodes import one_line
from scrubjay.web.source import Source

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "map.js": ("map.js", "text/javascript; charset=utf-8"),
    "panels.js": ("panels.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
JSON_ROUTES = ("about", "memories", "explain", "replay", "overestimates")
BINARY_ROUTES = {
    "cloud": "application/octet-stream",
    "colors": "application/octet-stream",
    "path": "application/octet-stream",
    "frame": "image/png",
}


class Guard:
    """Lets only requests through that name this host and know the token.

    Args:
        app: The application behind it.
        port: The port of the server.
        token: The first part of every path.
    """

    def __init__(self, app: Any, port: int, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            await _refuse(send, 403, b"this page is for the machine it runs on")
            return
        _, _, rest = scope["path"].partition("/")
        token, _, path = rest.partition("/")
        if not secrets.compare_digest(token.encode(), self._token):
            await _refuse(send, 404, b"the address is not complete: it has a token")
            return
        await self._app({**scope, "path": f"/{path}", "raw_path": None}, receive, send)


async def _refuse(send: Any, status: int, text: bytes) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    headers.append((b"content-type", b"text/plain; charset=utf-8"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def make_app(api: Api, port: int, token: str) -> Guard:
    """The whole application.

    Args:
        api: The handlers of its requests.
        port: The port that it will listen on.
        token: The first part of every path.

    Returns:
        An ASGI application.
    """
    applications = require("starlette.applications", "web")
    routing = require("starlette.routing", "web")
    routes = [routing.Route(f"/{path}", _file(*file)) for path, file in FILES.items()]
    for name in JSON_ROUTES:
        routes.append(routing.Route(f"/api/{name}", _json(getattr(api, name))))
    for name, kind in BINARY_ROUTES.items():
        routes.append(routing.Route(f"/api/{name}", _binary(getattr(api, name), kind)))
    app: Starlette = applications.Starlette(routes=routes)
    return Guard(app, port, token)


def _response(body: bytes, kind: str, status: int = 200) -> "Response":
    responses = require("starlette.responses", "web")
    made: Response = responses.Response(body, status, {**HEADERS, "Content-Type": kind})
    return made


def _file(name: str, kind: str) -> "Callable[[Request], Response]":
    content = (resources.files(__package__) / "static" / name).read_bytes()
    return lambda request: _response(content, kind)  # noqa: ARG005


def _json(handler: Callable[[Any], Any]) -> "Callable[[Request], Response]":
    return _route(lambda query: as_json(handler(query)), "application/json")


def _binary(handler: Callable[[Any], bytes], kind: str) -> "Callable[[Request], Response]":
    return _route(handler, kind)


def _route(handler: Callable[[Any], bytes], kind: str) -> "Callable[[Request], Response]":
    """A route that returns errors as JSON. Starlette runs it in a thread."""

    def respond(request: "Request") -> "Response":
        try:
            return _response(handler(request.query_params), kind)
        except BadRequest as error:
            return _response(as_json({"error": str(error)}), "application/json", 400)
        except Exception as error:  # a damaged checkpoint, or a fault: the page shows it
            return _response(as_json({"error": one_line(error)}), "application/json", 500)

    return respond


def open_socket(port: int) -> socket.socket:
    """A socket that listens on the loopback interface.

    Args:
        port: The port; 0 takes a free one.

    Returns:
        The socket.

    Raises:
        OSError: If the port is taken.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except (OSError, OverflowError) as error:
        found.close()
        reason = error.strerror if isinstance(error, OSError) else "the largest is 65535"
        raise OSError(
            f"port {port} cannot be used ({reason}); choose another one with --port, or none "
            "to take a free one"
        ) from error
    return found


def serve(source: Source, *, port: int = 0, browser: bool = True) -> None:
    """Serve the page until Ctrl-C.

    Args:
        source: What is inspected.
        port: The port; 0 takes a free one.
        browser: Whether to open a browser.

    Raises:
        ImportError: If the extra `web` is not installed.
        OSError: If the port is taken.
    """
    uvicorn: Any = require("uvicorn", "web")
    require("starlette", "web")
    listening = open_socket(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    api = Api(source)
    config = uvicorn.Config(
        make_app(api, port, token), log_level="error", access_log=False, lifespan="off",
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    address = f"http://{HOST}:{port}/{token}/"
    print(f"{address}\nCtrl-C ends it", flush=True)
    if browser:
        threading.Thread(target=_open_browser, args=(address,), daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
        api.close()
    print("stopped", file=sys.stderr)


def _open_browser(address: str) -> None:
    with suppress(webbrowser.Error):
        webbrowser.open(address)
