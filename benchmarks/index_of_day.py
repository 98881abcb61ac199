"""PyPI as it was on a day: a package index on this machine that leaves out whatever was uploaded later.

Old suites fail with today's packages, and then say nothing about flakiness. pip itself can look back only where
the index answers in JSON; this one reads the days off its pages.
"""

from __future__ import annotations

import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pip._internal.models.index import PyPI

_ANCHOR = re.compile(rb"<a [^>]*>[^<]*</a>")
_DAY = re.compile(rb'data-upload-time="([^"]+)"')
# With this header the index gives the days of the uploads, too.
HEADERS = {"Accept": "application/vnd.pypi.simple.v1+json", "User-Agent": "flakehound-benchmark"}


def page_address(name: str) -> str:
    """The page of a project, on the index that pip asks on this machine."""
    index = os.environ.get("PIP_INDEX_URL") or PyPI.simple_url
    return f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"


def page_before(day: str, page: bytes) -> bytes:
    """The links of a project's page to files that were there before the day."""
    kept = [anchor for anchor in _ANCHOR.findall(page) if _uploaded(anchor) < day.encode()]
    return b"<!DOCTYPE html><html><body>\n" + b"<br>\n".join(kept) + b"\n</body></html>\n"


def _uploaded(anchor: bytes) -> bytes:
    found = _DAY.search(anchor)
    return found.group(1) if found else b"9999"


@contextmanager
def index_before(day: str) -> Iterator[str]:
    """The address of such an index, for pip's --index-url, as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").rpartition("/")[2]
            try:
                asked = urllib.request.Request(page_address(name), headers=HEADERS)
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    page = page_before(day, answer.read())
            except urllib.error.HTTPError as problem:
                self.send_error(problem.code)
                return
            except OSError:
                self.send_error(502)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_words: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/"
    finally:
        server.shutdown()
        server.server_close()
