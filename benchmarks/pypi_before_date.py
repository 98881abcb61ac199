"""A local package index that serves PyPI without the files that were uploaded on or after a date.

Old suites fail with today's packages, which says nothing about flakiness. pip itself can filter by date only where
the index answers in JSON; this index reads the dates from the HTML pages.
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
_UPLOAD_TIME = re.compile(rb'data-upload-time="([^"]+)"')
# With this header the index includes the upload times.
HEADERS = {"Accept": "application/vnd.pypi.simple.v1+json", "User-Agent": "flakehound-benchmark"}


def page_url(name: str) -> str:
    """The URL of a project's page on the index that pip uses on this machine."""
    index = os.environ.get("PIP_INDEX_URL") or PyPI.simple_url
    return f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"


def page_before(date: str, page: bytes) -> bytes:
    """A project's page with only the links to files that were uploaded before the date."""
    links = [anchor for anchor in _ANCHOR.findall(page) if _upload_time(anchor) < date.encode()]
    return b"<!DOCTYPE html><html><body>\n" + b"<br>\n".join(links) + b"\n</body></html>\n"


def _upload_time(anchor: bytes) -> bytes:
    match = _UPLOAD_TIME.search(anchor)
    return match.group(1) if match else b"9999"


@contextmanager
def serve_index_before(date: str) -> Iterator[str]:
    """Serve the index while the block runs; yields its URL for pip's --index-url."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").rpartition("/")[2]
            try:
                request = urllib.request.Request(page_url(name), headers=HEADERS)
                with urllib.request.urlopen(request, timeout=60) as answer:
                    page = page_before(date, answer.read())
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
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/"
    finally:
        server.shutdown()
        server.server_close()
