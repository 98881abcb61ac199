"""A port number that another process may hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import number_of, told

_SERVING = ("bind", "listen", "HTTPServer", "TCPServer", "UDPServer", "ThreadingHTTPServer", "make_server",
    "serve_forever",
            "start_server", "run_app", "create_server", "run", "serve", "ThreadedTCPServer", "TestServer",
            "connect")  # fmt: skip


def _port(part: Part, call: Call) -> int | None:
    candidates: list[ast.expr | None] = [call.keyword("port")]
    for argument in call.node.args:
        value = part.sights.value_of(argument)
        candidates += value.elts[1:2] if isinstance(value, ast.Tuple) else []
    if call.last in ("listen", "create_server", "start_server"):
        candidates += call.node.args
    numbers = (number_of(part.sights.value_of(one)) for one in candidates if one is not None)
    return next((int(number) for number in numbers if number and 1024 <= number <= 65535), None)


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if call.last in _SERVING or call.keyword("port") is not None:
            port = _port(part, call)
            if port:
                yield told(call, f"{{}} uses the fixed port {port}")


RULE = Rule(
    id="FH404",
    name="fixed-port",
    cause=Cause.NETWORK,
    title="A fixed port number",
    why="Another test, another run or a connection that is still closing may hold the port.",
    fix="Bind port 0 and ask the socket which port it got.",
    bad="import socket\n\ndef test_server():\n    server = socket.socket()\n    "
    "server.bind(('localhost', 8080))\n",
    good="import socket\n\ndef test_server():\n    server = socket.socket()\n    server.bind(('localhost', 0))\n",
    check=in_each(_look, production=False),
)
