"""A call that leaves the machine, or at least the process, through a socket."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for

_HTTP = frozenset(("get", "post", "put", "patch", "delete", "head", "options", "request", "stream", "session"))
_CLIENTS = frozenset(
    ("Session", "Client", "AsyncClient", "ClientSession", "PoolManager", "Http", "FuturesSession", "HTMLSession")
)
_NAMES = frozenset(
    (
        "urllib.request.urlopen", "urllib.request.urlretrieve", "urllib2.urlopen", "urllib.urlopen",
        "urllib.urlretrieve",
        "urllib.request.build_opener", "socket.create_connection", "socket.getaddrinfo", "socket.gethostbyname",
        "six.moves.urllib.request.urlopen", "wget.download", "pycurl.Curl", "gdown.download",
        "git.Repo.clone_from",
        "feedparser.parse", "whois.whois", "pythonwhois.get_whois", "dns.resolver.query", "dns.resolver.resolve",
        "ftplib.FTP", "ftplib.FTP_TLS", "smtplib.SMTP", "smtplib.SMTP_SSL", "imaplib.IMAP4_SSL",
        "telnetlib.Telnet",
        "http.client.HTTPConnection", "http.client.HTTPSConnection", "httplib.HTTPSConnection",
        "httplib.HTTPConnection",
        "asyncio.open_connection", "websockets.connect", "websocket.create_connection", "paramiko.SSHClient",
        "xmlrpc.client.ServerProxy", "suds.client.Client", "zeep.Client", "pandas_datareader.data.DataReader",
        "keras.utils.get_file", "nltk.download", "torchvision.datasets.MNIST", "tensorflow.keras.utils.get_file",
        "cloudscraper.create_scraper", "tornado.httpclient.AsyncHTTPClient", "urllib3.PoolManager",
        "httplib2.Http",
        "urllib.request.Request", "websocket.WebSocketApp", "asyncio.start_server", "socket.socketpair",
    )
)  # fmt: skip
_PREFIXES = ("selenium.webdriver.", "splinter.Browser", "playwright.", "socketserver.", "http.server.HTTPServer",
               "http.server.ThreadingHTTPServer", "wsgiref.simple_server.make_server", "xmlrpc.server.",
               "socket.socket",
               "zmq.Context", "grpc.insecure_channel", "grpc.server", "requests_html.", "mechanize.",
               "pyppeteer.")  # fmt: skip
_LIBRARIES = (
    "requests.",
    "httpx.",
    "aiohttp.",
    "urllib3.",
    "grequests.",
    "treq.",
    "asks.",
    "requests_futures.",
    "curl_cffi.",
)
MOCKED = (
    "responses.", "responses", "respx", "vcr", "httpretty", "requests_mock", "aioresponses",
    "pytest_httpserver", "httpserver",
    "betamax", "pook", "mocket", "pytest_socket", "disable_socket", "httmock.", "moto.", "flexmock",
    "recwarn_network",
    "httpx_mock", "aiohttp_client", "test_client", "cassette", "socket_disabled", "m.get", "rmock",
    "mock_requests",
)  # fmt: skip


def is_network(call: Call) -> bool:
    """Whether a call opens a connection or fetches something."""
    name = call.name
    if name in _NAMES or name.startswith(_PREFIXES):
        return True
    return name.startswith(_LIBRARIES) and (call.short_name in _HTTP or call.short_name in _CLIENTS)


def is_mocked(context: CaseContext) -> bool:
    """Whether the test brings its own answers."""
    return context.uses(*MOCKED) or any("requests" in name or "urlopen" in name for name in context.replaced_names)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.name and is_network(call):
            yield sign_for(call, "{} needs the network or a server to answer in time")


RULE = LintRule(
    id="FH401",
    name="network-call",
    cause=Cause.NETWORK,
    title="The network is used",
    why="The other side can be slow, away, rate-limited or changed; none of it is a fault of the code under test.",
    fix="Answer in the process: responses, respx, vcr, httpretty, or a fake handed in.",
    bad="import requests\n\ndef test_api():\n    assert requests.get('https://example.com').ok\n",
    good="import requests\nimport responses\n\n@responses.activate\ndef test_api():\n"
    "    responses.get('https://example.com')\n    assert requests.get('https://example.com').ok\n",
    check=in_each_function(_find, in_far_calls=True, unless=is_mocked),
)
