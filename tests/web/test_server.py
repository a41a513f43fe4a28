"""The server from outside: who is answered, with which headers, and how it ends."""

import http.client
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from web_pages import serving

from scrubjay.web.server import open_socket

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")


def ask(address, path="", host=None, method="GET"):
    """A raw request: clients of the standard library would tidy the path up."""
    parts = urlsplit(address)
    made = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    with closing(made) as connection:
        connection.putrequest(method, f"{parts.path}{path}", skip_host=True)
        if host != "":
            connection.putheader("Host", host or parts.netloc)
        connection.endheaders()
        response = connection.getresponse()
        return response, response.read()


def test_the_page_and_its_files_are_served(page):
    for path, kind in (
        *(("", "text/html"), ("page.css", "text/css"), ("page.js", "text/javascript")),
        *(("map.js", "text/javascript"), ("panels.js", "text/javascript")),
        *(("icon.svg", "image/svg+xml"), ("api/about", "application/json")),
    ):
        response, body = ask(page, path)
        assert response.status == 200
        assert response.headers["Content-Type"].startswith(kind)
        assert body


def test_headers_forbid_everything_from_elsewhere(page):
    response, _ = ask(page)
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Server" not in response.headers


def test_nothing_is_answered_without_the_token(page):
    parts = urlsplit(page)
    root = f"{parts.scheme}://{parts.netloc}"
    token = parts.path.strip("/")
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for start in ("/", f"/{wrong}/", f"/{token[:-1]}/", f"/{token}x/", "/api/", "/%c3%a9/"):
        for path in ("", "api/about", "page.css"):
            assert ask(root, f"{start}{path}")[0].status == 404


@pytest.mark.parametrize(
    "host", ["", "example.com", "127.0.0.1", "localhost:1", "127.0.0.1.example.com:{port}"]
)
def test_another_host_is_refused(page, host):
    name = host.format(port=urlsplit(page).port)
    assert ask(page, host=name)[0].status in (400, 403)


def test_localhost_is_this_host(page):
    assert ask(page, host=f"localhost:{urlsplit(page).port}")[0].status == 200


@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "static/page.css", "server.py", "%00", "api/"],
)
def test_no_path_leads_to_a_file(page, path):
    assert ask(page, path)[0].status == 404


def test_only_reading_is_allowed(page):
    for method in ("POST", "PUT", "DELETE"):
        assert ask(page, "api/about", method=method)[0].status == 405


def test_wrong_questions_are_answered_with_an_error(page):
    response, body = ask(page, "api/explain?checkpoint=99")
    assert response.status == 400
    assert b"expected checkpoint to be a whole number below 3" in body


def test_it_listens_on_the_loopback_interface_only(page):
    port = urlsplit(page).port
    for number in range(2, 5):  # other addresses of this machine, 127.0.0.2 among them
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((f"127.0.0.{number}", port), timeout=5)


def test_ctrl_c_ends_it_cleanly(finished):
    with serving(finished) as (process, address):
        assert ask(address, "api/replay?checkpoint=2&episode=0")[0].status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert process.stdout.read() == "Ctrl-C ends it\n"
        assert process.stderr.read() == "stopped\n"


def test_a_port_that_does_not_exist_is_a_message():
    with pytest.raises(OSError, match=r"port 99999 cannot be used \(the largest is 65535\)"):
        open_socket(99_999)


def test_a_port_that_is_taken_is_a_message(page, finished):
    command = [sys.executable, "-m", "scrubjay", "inspect", str(finished), "--web", "--no-browser"]
    port = str(urlsplit(page).port)
    done = subprocess.run([*command, "--port", port], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert f"port {port} cannot be used" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_static_files_are_part_of_the_package():
    from scrubjay.web import server

    folder = Path(server.__file__).parent / "static"
    assert {path.name for path in folder.iterdir()} == {name for name, _ in server.FILES.values()}
