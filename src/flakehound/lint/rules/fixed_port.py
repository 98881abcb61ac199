"""A fixed port number, which another process may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import number_value

_FUNCTIONS_WITH_PORT = (
    "HTTPServer",
    "TCPServer",
    "TestServer",
    "ThreadedTCPServer",
    "ThreadingHTTPServer",
    "UDPServer",
    "bind",
    "connect",
    "create_server",
    "listen",
    "make_server",
    "run",
    "run_app",
    "serve",
    "serve_forever",
    "start_server",
)


def _port(function: ReachedFunction, call: Call) -> int | None:
    candidates: list[ast.expr | None] = [call.keyword("port")]
    for argument in call.node.args:
        value = function.facts.value_of(argument)
        candidates += value.elts[1:2] if isinstance(value, ast.Tuple) else []
    if call.short_name in ("listen", "create_server", "start_server"):
        candidates += call.node.args
    numbers = (
        number_value(function.facts.value_of(candidate)) for candidate in candidates if candidate is not None
    )
    return next((int(number) for number in numbers if number and 1024 <= number <= 65535), None)


def _serves(call: Call) -> bool:
    name = call.short_name.lower()
    return any(word in name for word in ("server", "serve", "listen", "bind"))


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.short_name in _FUNCTIONS_WITH_PORT or (call.keyword("port") is not None and _serves(call)):
            port = _port(function, call)
            if port:
                yield sign_for(call, f"{{}} uses the fixed port {port}")


RULE = LintRule(
    id="FH404",
    name="fixed-port",
    cause=Cause.NETWORK,
    title="A fixed port number",
    why="Another test, another run or a connection that is still closing may hold the port.",
    fix="Bind port 0 and ask the socket which port it got.",
    bad="import socket\n\ndef test_server():\n    server = socket.socket()\n    "
    "server.bind(('localhost', 8080))\n",
    good="import socket\n\ndef test_server():\n    server = socket.socket()\n    server.bind(('localhost', 0))\n",
    check=in_each_function(_find, in_production=False),
)
