"""A package index on this machine, whose answers tests write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

SIMPLE, INTEGRITY = "application/vnd.pypi.simple.v1+json", "application/vnd.pypi.integrity.v1+json"
FILE = "*/*"

Answers = dict[str, tuple[str, str | bytes]]
"""Path of a URL -> media type that a request must accept, and the answer."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Answers]]:
    """The URL of an index, and its answers, which tests fill."""
    answers: Answers = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            media_type, content = answers.get(self.path, ("", ""))
            if self.headers["Accept"] != media_type:  # the index has nothing in that form
                self.send_error(404 if not media_type else 406)
                return
            self.send_response(200)
            self.send_header("Content-Type", media_type)
            self.end_headers()
            self.wfile.write(content.encode() if isinstance(content, str) else content)

        def log_message(self, *arguments: Any) -> None:
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple", answers
        server.shutdown()
        thread.join()
