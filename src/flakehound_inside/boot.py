"""Start a pytest session that belongs to a hunt, as `python -m pytest` would start it."""

import importlib.util
import os
import sys
import types


def main(settings_path, pytest_args):
    """Run pytest with our plugins; never returns normally when the session gets as far as its tests."""
    sys.path[0] = os.getcwd()
    _look_like_python_m_pytest(pytest_args)
    import pytest

    from flakehound_inside.quiet import Quiet
    from flakehound_inside.real import real
    from flakehound_inside.session import HuntSession

    with open(settings_path, encoding="utf-8") as file:
        settings = real.loads(file.read())
    watch = None
    if settings.get("watch"):
        from flakehound_inside.watch import WriteWatch

        watch = WriteWatch(settings["watch"], settings["ours"])
        watch.start()
    quiet = Quiet(settings.get("keep_plugins", ()))
    return pytest.main(pytest_args, plugins=[quiet, HuntSession(settings, quiet, watch)])


def _look_like_python_m_pytest(pytest_args):
    # multiprocessing's spawn method imports the main module again by the name in its spec.
    spec = importlib.util.find_spec("pytest.__main__")
    module = types.ModuleType("__main__")
    if spec is not None:
        module.__spec__ = spec
        module.__file__ = spec.origin
        sys.argv[:] = [spec.origin or "pytest", *pytest_args]
    sys.modules["__main__"] = module
