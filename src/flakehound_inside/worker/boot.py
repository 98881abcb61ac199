"""Start a pytest session that belongs to a hunt, as `python -m pytest` would start it."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from flakehound_inside.message_types import Settings
    from flakehound_inside.observe.dependencies import Dependencies


def main(settings_path: str, pytest_args: list[str]) -> int:
    """Run pytest with our plugins; never returns normally when the session gets as far as its tests."""
    with open(settings_path, encoding="utf-8") as file:
        settings: Settings = isolated_os.loads(file.read())
    if settings["mode"] == "once" and isolated_os.fork is not None:
        from flakehound_inside.worker.guardian import guard

        guard(settings["request"], settings["peer"])
    _put_the_project_on_the_path()
    _look_like_python_m_pytest(pytest_args)
    recording = _recording(settings)
    import pytest

    from flakehound_inside.worker.disable_plugins import Quiet
    from flakehound_inside.worker.session import HuntSession

    watch = None
    notes = settings.get("watch")
    if notes:
        from flakehound_inside.observe.addresses import AddressWatch
        from flakehound_inside.observe.writes import WriteWatch

        watch = WriteWatch(notes, settings["ours"])
        watch.start()
        AddressWatch(notes, settings["ours"]).start()
    quiet = Quiet(settings.get("keep_plugins", ()))
    code = pytest.main(pytest_args, plugins=[quiet, HuntSession(settings, quiet, watch), *recording])
    for recorder in recording:
        recorder.finish()
    return code


def _recording(settings: Settings) -> list[Dependencies]:
    """What records, already listening: before pytest or anything of the project is imported."""
    wish = settings.get("record")
    if not wish:
        return []
    from flakehound_inside.observe.dependencies import Dependencies

    recorder = Dependencies(wish, settings["ours"])
    recorder.start()
    return [recorder]


def _put_the_project_on_the_path() -> None:
    # `python -c` starts the path with an empty entry, `python -m` with the folder; -P with neither.
    if sys.path and sys.path[0] == "":
        sys.path[0] = os.getcwd()


def _look_like_python_m_pytest(pytest_args: list[str]) -> None:
    # multiprocessing's spawn method imports the main module again by the name in its spec.
    spec = importlib.util.find_spec("pytest.__main__")
    module = types.ModuleType("__main__")
    if spec is not None:
        module.__spec__ = spec
        module.__file__ = spec.origin
        sys.argv[:] = [spec.origin or "pytest", *pytest_args]
    sys.modules["__main__"] = module
