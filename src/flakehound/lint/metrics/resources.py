"""What a test uses of the world outside: files, databases, the network."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from flakehound.lint.metrics.code import Code, called_name
from flakehound.lint.metrics.imported import full_name
from flakehound.lint.source.definitions import dotted_name

_OPENERS = frozenset({"open", "io.open", "codecs.open", "gzip.open", "os.open", "aiofiles.open"})
_FILE_FUNCTIONS = frozenset(
    {
        "os.listdir",
        "os.scandir",
        "os.walk",
        "os.stat",
        "os.remove",
        "os.unlink",
        "os.rename",
        "os.replace",
        "os.rmdir",
        "os.removedirs",
        "os.truncate",
        "os.chmod",
        "os.link",
        "os.symlink",
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "shutil.rmtree",
        "glob.glob",
        "glob.iglob",
        "numpy.load",
        "numpy.loadtxt",
        "numpy.genfromtxt",
        "pandas.read_csv",
        "pandas.read_excel",
        "pandas.read_json",
        "pandas.read_parquet",
    }
)
_FILE_MAKERS = frozenset({"os.mkdir", "os.makedirs", "numpy.save", "numpy.savetxt"})
_FILE_METHODS = frozenset({"read_text", "read_bytes", "iterdir", "unlink", "rmdir"})
_FILE_MAKING_METHODS = frozenset({"write_text", "write_bytes", "touch", "mkdir"})
_CONNECTIONS = frozenset(
    {
        "sqlite3.connect",
        "psycopg.connect",
        "psycopg2.connect",
        "pymysql.connect",
        "MySQLdb.connect",
        "mysql.connector.connect",
        "asyncpg.connect",
        "aiosqlite.connect",
        "pymongo.MongoClient",
        "redis.Redis",
        "redis.StrictRedis",
        "redis.from_url",
        "sqlalchemy.create_engine",
        "elasticsearch.Elasticsearch",
        "urllib.request.urlopen",
        "urllib.request.urlretrieve",
        "http.client.HTTPConnection",
        "http.client.HTTPSConnection",
        "socket.socket",
        "socket.create_connection",
        "smtplib.SMTP",
        "ftplib.FTP",
        "telnetlib.Telnet",
        "paramiko.SSHClient",
        "aiohttp.ClientSession",
    }
)
_HTTP_PACKAGES = ("requests.", "httpx.", "urllib3.")
_HTTP_CALLS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request", "stream"})
_CHECKS = frozenset({"exists", "lexists", "is_file", "is_dir", "isfile", "isdir", "access"})
_OWN_FIXTURES = frozenset({"fs", "testdir", "pytester"})  # pyfakefs, and pytest's own for plugins
_TEMPORARY = re.compile(r"(?i)(^|_)(tmp|temp)(_|$|dir|path|file|folder)|tempfile")
_IN_MEMORY = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUse:
    """A call that uses something outside the test."""

    is_file: bool
    makes_it: bool  # False: what is used must already be there


def resource_uses(code: Code, imports: Mapping[str, str]) -> list[ResourceUse]:
    """Files, databases and connections that the code uses, apart from temporary and in-memory ones."""
    found = [(call, use) for call in code.all(ast.Call) if (use := _resource_use(call, imports)) is not None]
    foreign = [(call, use) for call, use in found if not _is_temporary(call, _OWN_FIXTURES)]
    temporary = _temporary_names(code) if foreign else _OWN_FIXTURES
    return [use for call, use in foreign if not _is_temporary(call, temporary)]


def existence_checks(code: Code) -> int:
    """Calls that ask whether a file is there."""
    return sum(called_name(call) in _CHECKS for call in code.all(ast.Call))


def _resource_use(call: ast.Call, imports: Mapping[str, str]) -> ResourceUse | None:
    name = full_name(dotted_name(call.func) or "", imports)
    last = called_name(call)
    if name in _OPENERS or (last == "open" and isinstance(call.func, ast.Attribute) and not _is_module(name)):
        return ResourceUse(is_file=True, makes_it=_is_for_writing(call, 1 if name in _OPENERS else 0))
    if name in _FILE_FUNCTIONS or name in _FILE_MAKERS:
        return ResourceUse(is_file=True, makes_it=name in _FILE_MAKERS)
    if name in _CONNECTIONS or (name.startswith(_HTTP_PACKAGES) and last in _HTTP_CALLS):
        return ResourceUse(is_file=False, makes_it=False)
    if isinstance(call.func, ast.Attribute) and last in _FILE_METHODS | _FILE_MAKING_METHODS:
        return ResourceUse(is_file=True, makes_it=last in _FILE_MAKING_METHODS)
    return None


def _is_module(name: str) -> bool:
    # `Image.open` and `webbrowser.open` are somebody else's; `path.open()` is a file's.
    return name[:1].isupper() or name.startswith(("webbrowser.", "PIL.", "zipfile.", "tarfile."))


def _is_for_writing(call: ast.Call, position: int) -> bool:
    given = [one.value for one in call.keywords if one.arg == "mode"] or call.args[position : position + 1]
    mode = given[0] if given else None
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(set(mode.value) & set("wxa"))


def _temporary_names(code: Code) -> set[str]:
    """Local names whose values come from temporary places; bindings are followed in the order of their lines."""
    temporary = set(_OWN_FIXTURES)
    for target, value in sorted(_bindings(code), key=lambda pair: pair[1].lineno):
        if _mentions(value, temporary):
            temporary |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return temporary


def _bindings(code: Code) -> Iterator[tuple[ast.expr, ast.expr]]:
    for assign in code.all(ast.Assign):
        yield from ((target, assign.value) for target in assign.targets)
    for annotated in code.all(ast.AnnAssign):
        if annotated.value is not None:
            yield annotated.target, annotated.value
    for item in code.all(ast.withitem):
        if item.optional_vars is not None:
            yield item.optional_vars, item.context_expr
    for loop in code.all(ast.For):
        yield loop.target, loop.iter


def _is_temporary(call: ast.Call, temporary: Collection[str]) -> bool:
    if any(isinstance(node, ast.Constant) and node.value == _IN_MEMORY for node in ast.walk(call)):
        return True
    return any(_mentions(part, temporary) for part in (call.func, *call.args[:1]))


def _mentions(node: ast.expr, temporary: Collection[str]) -> bool:
    for part in ast.walk(node):
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        if name in temporary or _TEMPORARY.search(name):
            return True
    return False
