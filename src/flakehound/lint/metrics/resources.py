"""Which files, databases and network connections a test uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from flakehound.lint.metrics.code_nodes import Code, called_name
from flakehound.lint.metrics.import_names import resolve_alias
from flakehound.lint.source.definitions import dotted_name

_OPEN_FUNCTIONS = frozenset({"open", "io.open", "codecs.open", "gzip.open", "os.open", "aiofiles.open"})
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
_FILE_CREATING_FUNCTIONS = frozenset({"os.mkdir", "os.makedirs", "numpy.save", "numpy.savetxt"})
_FILE_METHODS = frozenset({"read_text", "read_bytes", "iterdir", "unlink", "rmdir"})
_FILE_CREATING_METHODS = frozenset({"write_text", "write_bytes", "touch", "mkdir"})
_CONNECT_FUNCTIONS = frozenset(
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
_HTTP_FUNCTIONS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request", "stream"})
_EXISTENCE_CHECKS = frozenset({"exists", "lexists", "is_file", "is_dir", "isfile", "isdir", "access"})
# Fixtures of pyfakefs, and of pytest for testing plugins.
_TEMPORARY_FIXTURES = frozenset({"fs", "testdir", "pytester"})
_TEMPORARY_NAME = re.compile(r"(?i)(^|_)(tmp|temp)(_|$|dir|path|file|folder)|tempfile")
_IN_MEMORY = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUse:
    """A call that uses a file, a database or a connection."""

    is_file: bool
    creates_it: bool  # False: it must exist already


def resource_uses(code: Code, imports: Mapping[str, str]) -> list[ResourceUse]:
    """Uses of files, databases and connections, without temporary and in-memory ones."""
    uses = [(call, use) for call in code.all_nodes(ast.Call) if (use := _resource_use(call, imports)) is not None]
    not_temporary = [(call, use) for call, use in uses if not _is_temporary(call, _TEMPORARY_FIXTURES)]
    temporary_names = _temporary_names(code) if not_temporary else _TEMPORARY_FIXTURES
    return [use for call, use in not_temporary if not _is_temporary(call, temporary_names)]


def existence_checks(code: Code) -> int:
    """The number of calls that check whether a file exists."""
    return sum(called_name(call) in _EXISTENCE_CHECKS for call in code.all_nodes(ast.Call))


def _resource_use(call: ast.Call, imports: Mapping[str, str]) -> ResourceUse | None:
    name = resolve_alias(dotted_name(call.func) or "", imports)
    short_name = called_name(call)
    if name in _OPEN_FUNCTIONS or (
        short_name == "open" and isinstance(call.func, ast.Attribute) and not _is_open_of_other_module(name)
    ):
        return ResourceUse(is_file=True, creates_it=_is_for_writing(call, 1 if name in _OPEN_FUNCTIONS else 0))
    if name in _FILE_FUNCTIONS or name in _FILE_CREATING_FUNCTIONS:
        return ResourceUse(is_file=True, creates_it=name in _FILE_CREATING_FUNCTIONS)
    if name in _CONNECT_FUNCTIONS or (name.startswith(_HTTP_PACKAGES) and short_name in _HTTP_FUNCTIONS):
        return ResourceUse(is_file=False, creates_it=False)
    if isinstance(call.func, ast.Attribute) and short_name in _FILE_METHODS | _FILE_CREATING_METHODS:
        return ResourceUse(is_file=True, creates_it=short_name in _FILE_CREATING_METHODS)
    return None


def _is_open_of_other_module(name: str) -> bool:
    # `Image.open` and `webbrowser.open` are functions of other modules; `path.open()` opens a file.
    return name[:1].isupper() or name.startswith(("webbrowser.", "PIL.", "zipfile.", "tarfile."))


def _is_for_writing(call: ast.Call, position: int) -> bool:
    by_name = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    mode = next(iter(by_name or call.args[position : position + 1]), None)
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(set(mode.value) & set("wxa"))


def _temporary_names(code: Code) -> set[str]:
    """Local names whose values come from temporary names; bindings are followed in the order of their lines."""
    temporary_names = set(_TEMPORARY_FIXTURES)
    for target, value in sorted(_bindings(code), key=lambda pair: pair[1].lineno):
        if _mentions_temporary(value, temporary_names):
            temporary_names |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return temporary_names


def _bindings(code: Code) -> Iterator[tuple[ast.expr, ast.expr]]:
    for assign in code.all_nodes(ast.Assign):
        yield from ((target, assign.value) for target in assign.targets)
    for annotated_assign in code.all_nodes(ast.AnnAssign):
        if annotated_assign.value is not None:
            yield annotated_assign.target, annotated_assign.value
    for item in code.all_nodes(ast.withitem):
        if item.optional_vars is not None:
            yield item.optional_vars, item.context_expr
    for loop in code.all_nodes(ast.For):
        yield loop.target, loop.iter


def _is_temporary(call: ast.Call, temporary_names: Collection[str]) -> bool:
    if any(isinstance(node, ast.Constant) and node.value == _IN_MEMORY for node in ast.walk(call)):
        return True
    return any(_mentions_temporary(part, temporary_names) for part in (call.func, *call.args[:1]))


def _mentions_temporary(node: ast.expr, temporary_names: Collection[str]) -> bool:
    for part in ast.walk(node):
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
        if name in temporary_names or _TEMPORARY_NAME.search(name):
            return True
    return False
