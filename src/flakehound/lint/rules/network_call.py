"""A call that uses the network or a local socket."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import surroundings_in
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import string_value

_HTTP_FUNCTIONS = frozenset(
    {"delete", "get", "head", "options", "patch", "post", "put", "request", "session", "stream"}
)
_HTTP_CLIENTS = frozenset(
    {
        "AsyncClient",
        "Client",
        "ClientSession",
        "FuturesSession",
        "HTMLSession",
        "Http",
        "PoolManager",
        "Session",
    }
)
_NETWORK_FUNCTIONS = frozenset(
    {
        "asyncio.open_connection",
        "asyncio.start_server",
        "cloudscraper.create_scraper",
        "dns.resolver.query",
        "dns.resolver.resolve",
        "feedparser.parse",
        "ftplib.FTP",
        "ftplib.FTP_TLS",
        "gdown.download",
        "git.Repo.clone_from",
        "http.client.HTTPConnection",
        "http.client.HTTPSConnection",
        "httplib.HTTPConnection",
        "httplib.HTTPSConnection",
        "httplib2.Http",
        "imaplib.IMAP4_SSL",
        "keras.utils.get_file",
        "nltk.download",
        "pandas_datareader.data.DataReader",
        "paramiko.SSHClient",
        "pycurl.Curl",
        "pythonwhois.get_whois",
        "six.moves.urllib.request.urlopen",
        "smtplib.SMTP",
        "smtplib.SMTP_SSL",
        "socket.create_connection",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.socketpair",
        "suds.client.Client",
        "telnetlib.Telnet",
        "tensorflow.keras.utils.get_file",
        "torchvision.datasets.MNIST",
        "tornado.httpclient.AsyncHTTPClient",
        "urllib.request.Request",
        "urllib.request.build_opener",
        "urllib.request.urlopen",
        "urllib.request.urlretrieve",
        "urllib.urlopen",
        "urllib.urlretrieve",
        "urllib2.urlopen",
        "urllib3.PoolManager",
        "websocket.WebSocketApp",
        "websocket.create_connection",
        "websockets.connect",
        "wget.download",
        "whois.whois",
        "xmlrpc.client.ServerProxy",
        "zeep.Client",
    }
)
_NETWORK_PREFIXES = (
    "grpc.insecure_channel",
    "grpc.server",
    "http.server.HTTPServer",
    "http.server.ThreadingHTTPServer",
    "mechanize.",
    "playwright.",
    "pyppeteer.",
    "requests_html.",
    "selenium.webdriver.",
    "socket.socket",
    "socketserver.",
    "splinter.Browser",
    "wsgiref.simple_server.make_server",
    "xmlrpc.server.",
    "zmq.Context",
)
_FETCHING_PREFIXES = (
    "cloudscraper.",
    "dns.resolver.",
    "feedparser.parse",
    "gdown.",
    "git.Repo.clone_from",
    "nltk.download",
    "pandas_datareader.",
    "playwright.",
    "pyppeteer.",
    "selenium.webdriver.",
    "torchvision.datasets.",
    "wget.",
    "whois.",
)
_INTERNET_ADDRESS = re.compile(
    r"^(https?|ftp|wss?|git|ssh)://(?![\w.-]*localhost|{}:|127\.|0\.0\.0\.0|\[::1\]|testserver|.{0,40}example\.|.{0,40}\.(test|invalid|local)\b)[\w{]",
    re.I,
)
_HTTP_LIBRARIES = (
    "aiohttp.",
    "asks.",
    "curl_cffi.",
    "grequests.",
    "httpx.",
    "requests.",
    "requests_futures.",
    "treq.",
    "urllib3.",
)
MOCKING_TOOLS = (
    "aiohttp_client",
    "aioresponses",
    "betamax",
    "cassette",
    "disable_socket",
    "flexmock",
    "httmock.",
    "httpretty",
    "httpserver",
    "httpx_mock",
    "m.get",
    "mock_requests",
    "mocket",
    "moto.",
    "pook",
    "pytest_httpserver",
    "pytest_socket",
    "recwarn_network",
    "requests_mock",
    "responses",
    "responses.",
    "respx",
    "rmock",
    "socket_disabled",
    "test_client",
    "vcr",
)


def is_internet_address(text: str | None) -> bool:
    """Whether a text is an address with a host outside of the machine."""
    return bool(text and _INTERNET_ADDRESS.match(text))


def is_network(call: Call) -> bool:
    """Whether a call opens a connection or fetches something."""
    name = call.name
    if name in _NETWORK_FUNCTIONS or name.startswith(_NETWORK_PREFIXES):
        return True
    return name.startswith(_HTTP_LIBRARIES) and (
        call.short_name in _HTTP_FUNCTIONS or call.short_name in _HTTP_CLIENTS
    )


def is_mocked(context: CaseContext) -> bool:
    """Whether the test mocks the network."""
    return (
        context.uses(*MOCKING_TOOLS)
        or context.uses_in_process_transport
        or any("requests" in name or "urlopen" in name for name in context.replaced_names)
    )


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.name and is_network(call) and not _is_in_process(function, call):
            yield sign_for(call, "{} needs the network or a server to answer in time", _why_weak(function, call))


def _why_weak(function: ReachedFunction, call: Call) -> str:
    """Why a call may not leave the machine; "" if it asks an address on the internet."""
    if call.short_name[:1].isupper() and not call.name.startswith(_FETCHING_PREFIXES):
        return "it only makes a client"
    if call.name.startswith("socket.socket"):
        return (
            "" if call.short_name == "connect" and _asks_internet(function, call) else "it may stay on the machine"
        )
    if any("server" in other.short_name.lower() for other in function.facts.calls):
        return "the test has a server"
    if call.name.startswith(_FETCHING_PREFIXES) or _asks_internet(function, call):
        return "in an inner function" if surroundings_in(function).is_in_inner_function(call.node) else ""
    return "the address may be of this machine"


def _asks_internet(function: ReachedFunction, call: Call) -> bool:
    values = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    for value in values:
        value = function.facts.value_of(value)
        parts = value.elts[:1] if isinstance(value, ast.Tuple) else [value]
        if any(is_internet_address(string_value(part)) for part in parts):
            return True
    return False


def _is_in_process(function: ReachedFunction, call: Call) -> bool:
    """Whether the client that makes the call has a transport or an application that answers in the process."""
    clients = [call.node]
    if isinstance(call.node.func, ast.Attribute):
        client = function.facts.value_of(call.node.func.value)
        clients += [client] if isinstance(client, ast.Call) else []
    return any(
        keyword.arg in ("app", "mounts", "transport") and "HTTPTransport" not in ast.unparse(keyword.value)
        for client in clients
        for keyword in client.keywords
    )


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
