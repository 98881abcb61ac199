"""Facts of the machine that runs the test."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part, in_each
from flakehound.lint.rules._values import matching, told

_NAMES = frozenset(
    ("os.getlogin", "getpass.getuser", "socket.gethostname", "socket.getfqdn", "os.cpu_count",
        "multiprocessing.cpu_count",
     "os.getloadavg", "psutil.cpu_percent", "shutil.disk_usage", "os.getenv",
     "os.environ.get", "os.uname",
     "platform.node", "os.path.expanduser", "pathlib.Path.home", "torch.cuda.is_available")
)  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    # A fixture that reads a variable saves it for later.
    if not part.fixture:
        yield from _questions(part)


def _questions(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES):
        yield told(call, "{} asks the machine, and the answer differs between machines")
    for node in part.sights.subscripts:
        if part.sights.dotted(node.value) == "os.environ":
            yield Sign(node, "os.environ[...] reads what the machine happens to hold")


def _is_set(context: Context) -> bool:
    return any(guard.endswith(("setenv", "patch.dict", "delenv")) for guard in context.guards)


RULE = Rule(
    id="FH803",
    name="host-fact",
    cause=Cause.ENVIRONMENT,
    title="Facts of the machine are read",
    why="Users, variables, processors and programs differ between a laptop and a build machine.",
    fix="Hand the fact in, or set it with `monkeypatch.setenv` for the test.",
    bad="import os\n\ndef test_home():\n    assert home() == os.environ['HOME']\n",
    good="def test_home(monkeypatch):\n    monkeypatch.setenv('HOME', '/h')\n    assert home() == '/h'\n",
    check=in_each(_look, production=False, unless=_is_set),
)
