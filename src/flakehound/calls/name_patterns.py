"""Whether a called function matches a pattern."""

from __future__ import annotations

from flakehound.core.calls import Function, FunctionPattern


def matches_name(pattern: FunctionPattern, function: Function) -> bool:
    """Whether a function matches, as `flakehound_inside.observe.calls.names` decides it in the suite's process."""
    if pattern.name not in ("*", function.name):
        return False
    if pattern.owner != function.owner and not (pattern.owner == "*" and function.owner):
        return False
    return not pattern.module or is_in_module(function.file, pattern.module)


def is_in_module(file: str, module: str) -> bool:
    """Whether a file is the source of a module or package, or of a module in that package."""
    if file.startswith("<"):
        file_module = file.strip("<>").rpartition(" ")[2]  # "<frozen os>"
        return file_module == module or file_module.startswith(f"{module}.")
    path = "/" + module.replace(".", "/")
    return f"/{file}".endswith(f"{path}.py") or f"{path}/" in f"/{file}"


def pattern_from(text: str) -> FunctionPattern:
    """Parse `package.module:Class.function`; module and class are optional, class and function may be `*`."""
    module, _colon, function = text.rpartition(":")
    owner, _dot, name = function.rpartition(".")
    if not name or " " in text or "." in owner:
        raise ValueError(f"no function: {text!r}")
    return FunctionPattern(module=module, owner=owner, name=name)
