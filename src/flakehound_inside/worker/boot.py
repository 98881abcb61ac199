"""Start a pytest session that belongs to a hunt, as `python -m pytest` would start it."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from flakehound_inside.message_types import PytestSessionSettings
    from flakehound_inside.observe.dependencies.recorder import DependencyRecorder
    from flakehound_inside.observe.writes import WriteObserver


def main(settings_path: str, pytest_args: list[str]) -> int:
    """Run pytest with our plugins; does not return if the session reaches its tests."""
    with open(settings_path, encoding="utf-8") as file:
        settings: PytestSessionSettings = isolated_os.loads(file.read())
    if settings["mode"] == "once" and isolated_os.fork is not None:
        from flakehound_inside.worker.guardian import continue_under_guardian

        continue_under_guardian(settings["request"], settings["peer"])
    _set_first_path_entry()
    moved = settings.get("moved")
    if moved:
        from flakehound_inside.worker.moved_imports import move_imports

        move_imports(moved[0], moved[1])
    _imitate_python_m_pytest(pytest_args)
    recorders = _start_recorders(settings)
    import pytest

    from flakehound_inside.worker.collection_reporter import CollectionReporter
    from flakehound_inside.worker.disable_plugins import DisablePlugins
    from flakehound_inside.worker.session import HuntSession

    writes = _start_write_observer(settings)
    disable_plugins = DisablePlugins(settings.get("keep_plugins", ()))
    session = HuntSession(settings, disable_plugins, writes)
    reporters = [CollectionReporter(settings["collecting"])] if settings.get("collecting") else []
    code = pytest.main(pytest_args, plugins=[disable_plugins, session, *reporters, *recorders])
    for recorder in recorders:
        recorder.finish()
    return code


def _start_write_observer(settings: PytestSessionSettings) -> WriteObserver | None:
    """Start the observers of written files and bound addresses, if requested."""
    notes = settings.get("watch")
    if not notes:
        return None
    from flakehound_inside.observe.addresses import AddressObserver
    from flakehound_inside.observe.writes import WriteObserver

    writes = WriteObserver(notes, settings["ours"])
    writes.start()
    AddressObserver(notes, settings["ours"]).start()
    return writes


def _start_recorders(settings: PytestSessionSettings) -> list[DependencyRecorder]:
    """Start the recorder of dependencies, if requested, before pytest or the project is imported."""
    request = settings.get("record")
    if not request:
        return []
    from flakehound_inside.observe.dependencies.recorder import DependencyRecorder

    recorder = DependencyRecorder(request, settings["ours"])
    recorder.start()
    return [recorder]


def _set_first_path_entry() -> None:
    # The first entry is empty with `python -c`, the working folder with `python -m`; with -P there is neither.
    if sys.path and sys.path[0] == "":
        sys.path[0] = os.getcwd()


def _imitate_python_m_pytest(pytest_args: list[str]) -> None:
    # multiprocessing's spawn method imports the main module again by the name in its spec.
    spec = importlib.util.find_spec("pytest.__main__")
    module = types.ModuleType("__main__")
    if spec is not None:
        module.__spec__ = spec
        module.__file__ = spec.origin
        sys.argv[:] = [spec.origin or "pytest", *pytest_args]
    sys.modules["__main__"] = module
