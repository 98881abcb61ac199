"""Names of called functions: file, class and function of Python code, module, class and function of C code.

The class is the one that defines the function, also when it is called on a subclass. Nothing here keeps an object
of the test alive or runs its code: it reads only types and what they store, no `__class__` or `__getattr__`.
"""

from __future__ import annotations

import sys
import types
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Iterable, Sequence

    # module, class, function; the class is empty for a function of a module
    CName = tuple[str, str, str]

_BUILTIN = types.BuiltinFunctionType
_DESCRIPTOR = types.MethodDescriptorType
_METHOD = types.MethodType
_FUNCTION = types.FunctionType
_MODULE = types.ModuleType
_CYTHON = "cython_function_or_method"
_OLDEST_WITH_QUALNAME = (3, 11)
_name_of: Any = vars(type)["__name__"].__get__
_module_of: Any = vars(type)["__module__"].__get__
_mro_of: Any = vars(type)["__mro__"].__get__
_dict_of: Any = vars(type)["__dict__"].__get__


class CNames:
    """Names functions written in C; its cache holds only functions of modules, types and names."""

    def __init__(self) -> None:
        self._of_modules: dict[Any, CName] = {}
        self._of_types: dict[tuple[type, str], CName] = {}

    def of(self, function: Any) -> CName | None:
        """The name of a function written in C; None for all other objects, including classes."""
        kind = type(function)
        if kind is _FUNCTION:
            return None
        if kind is _DESCRIPTOR:
            return self._method(function.__objclass__, function.__name__)
        if kind is _BUILTIN:
            owner = function.__self__
            if owner is None or type(owner) is _MODULE:
                name = self._of_modules.get(function)
                if name is None:
                    name = self._of_modules[function] = (_text(function.__module__), "", function.__name__)
                return name
            return self._method(owner if issubclass(type(owner), type) else type(owner), function.__name__)
        if kind is _METHOD:
            return _cython_name(function.__func__)
        return self.of(function.func) if kind is partial else _cython_name(function)

    def _method(self, owner: type, name: str) -> CName:
        c_name = self._of_types.get((owner, name))
        if c_name is None:
            c_name = self._of_types[owner, name] = _method_name(owner, name)
        return c_name


def _method_name(owner: type, name: str) -> CName:
    for base in _mro_of(owner):
        if name in _dict_of(base):
            return _c_name(base, name)
    return _c_name(owner, name)


def _c_name(owner: type, name: str) -> CName:
    return (_text(_module_of(owner)), _name_of(owner), name)


def _cython_name(function: Any) -> CName | None:
    if _name_of(type(function)) != _CYTHON:
        return None
    _outer, _dot, owner = function.__qualname__.rpartition(".")[0].rpartition(".")
    return (_text(function.__module__), owner, function.__name__)


def _text(name: object) -> str:
    return name if isinstance(name, str) else ""


def python_name(code: CodeType, frame: FrameType | None = None) -> tuple[str, str]:
    """Class and function of code; before Python 3.11 the class is found in the frame of a call."""
    if sys.version_info >= _OLDEST_WITH_QUALNAME:
        return class_in(code.co_qualname), code.co_name
    return _class_of_call(code, frame) if frame is not None else "", code.co_name


def class_in(qualname: str) -> str:
    """The class in a qualified name; empty for functions of a module or of another function."""
    _function, _mark, inner = qualname.rpartition("<locals>.")
    return inner.rpartition(".")[0].rpartition(".")[2]


def _class_of_call(code: CodeType, frame: FrameType) -> str:
    if not code.co_argcount:
        return ""
    first = frame.f_locals.get(code.co_varnames[0])
    owner = first if issubclass(type(first), type) else type(first)
    for base in _mro_of(owner):
        function = _dict_of(base).get(code.co_name)
        function = getattr(function, "__func__", getattr(function, "fget", function))
        if getattr(function, "__code__", None) is code:
            name: str = _name_of(base)
            return name
    return ""


class FunctionPatterns:
    """The wanted functions, as rows of module, class and function.

    An empty module matches any, an empty class functions outside classes; `*` matches any class or function.
    """

    def __init__(self, rows: Iterable[Sequence[str]]) -> None:
        self._by_function: dict[str, list[Sequence[str]]] = {}
        for row in rows:
            self._by_function.setdefault(row[2], []).append(row)
        self._for_any_function = self._by_function.pop("*", [])
        self._cache: dict[object, bool] = {}

    def matches(self, file: str, owner: str, name: str) -> bool:
        """Whether a function is wanted; the file of a C function is its module in angle brackets."""
        key = (file, owner, name)
        is_match = self._cache.get(key)
        if is_match is None:
            rows = self._by_function.get(name, []) + self._for_any_function
            is_match = any(_row_matches(row, file, owner) for row in rows)
            self._cache[key] = is_match
        return is_match


def _row_matches(row: Sequence[str], file: str, owner: str) -> bool:
    module, wanted_owner, _function = row
    is_owner = wanted_owner == owner or (wanted_owner == "*" and owner != "")
    return is_owner and (not module or is_in(file, module))


def is_in(file: str, module: str) -> bool:
    """Whether a file belongs to a module, or to a module in that package."""
    if file.startswith("<"):
        file_module = file.strip("<>").rpartition(" ")[2]  # "<frozen os>"
        return file_module == module or file_module.startswith(module + ".")
    path = "/" + module.replace(".", "/")
    return ("/" + file).endswith(path + ".py") or path + "/" in "/" + file
