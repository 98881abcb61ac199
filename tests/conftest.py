"""Our tests start as on a laptop, wherever they run: a build server's variables change what flakehound does."""

from __future__ import annotations

import os

_NAMES = ("CI", "TF_BUILD", "PYTHONDONTWRITEBYTECODE")  # with the last, every process that we start compiles us
_PREFIXES = ("CI_", "GITHUB_", "GITLAB_", "SYSTEM_")


def pytest_configure() -> None:
    for name in list(os.environ):
        if name in _NAMES or name.startswith(_PREFIXES):
            del os.environ[name]
