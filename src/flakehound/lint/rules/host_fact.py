"""The test reads facts about the machine that runs it."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.surroundings import is_compared
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_HOST_FUNCTIONS = frozenset(
    {
        "getpass.getuser",
        "multiprocessing.cpu_count",
        "os.cpu_count",
        "os.environ.get",
        "os.getenv",
        "os.getloadavg",
        "os.getlogin",
        "os.path.expanduser",
        "os.uname",
        "pathlib.Path.home",
        "platform.node",
        "psutil.cpu_percent",
        "shutil.disk_usage",
        "socket.getfqdn",
        "socket.gethostname",
        "torch.cuda.is_available",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    # A fixture often reads a variable only to restore it later.
    if not function.is_fixture:
        yield from _reads_of_host_facts(function)


def _reads_of_host_facts(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _HOST_FUNCTIONS):
        weak = "" if is_compared(function, call.node, "equal", "less") else "the answer is not compared"
        yield sign_for(call, "{} asks the machine, and the answer differs between machines", weak)
    for node in function.facts.subscripts:
        if function.facts.dotted_name(node.value) == "os.environ":
            yield Sign(node, "os.environ[...] reads what the machine happens to hold", "the test may have set it")


def _sets_environment(context: CaseContext) -> bool:
    return any(name.endswith(("setenv", "patch.dict", "delenv")) for name in context.used_names)


RULE = LintRule(
    id="FH803",
    name="host-fact",
    cause=Cause.ENVIRONMENT,
    title="Facts of the machine are read",
    why="Users, variables, processors and programs differ between a laptop and a build machine.",
    fix="Hand the fact in, or set it with `monkeypatch.setenv` for the test.",
    bad="import os\n\ndef test_home():\n    assert home() == os.environ['HOME']\n",
    good="def test_home(monkeypatch):\n    monkeypatch.setenv('HOME', '/h')\n    assert home() == '/h'\n",
    check=in_each_function(_find, in_production=False, unless=_sets_environment),
)
