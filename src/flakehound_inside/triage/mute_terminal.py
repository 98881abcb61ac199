"""Keep what plugins print while a test runs off the terminal and out of the log file, for the time of a rerun."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from typing import Iterator

    import pytest


@contextlib.contextmanager
def muted(config: pytest.Config) -> Iterator[None]:
    """Neither live logs, nor lines of the log file, nor --setup-show."""
    handlers = _log_handlers(config)
    shows_setup = getattr(config.option, "setupshow", False)
    for handler in handlers:
        handler.addFilter(_nothing)
    config.option.setupshow = False
    try:
        yield
    finally:
        config.option.setupshow = shows_setup
        for handler in handlers:
            handler.removeFilter(_nothing)


def _nothing(_record: logging.LogRecord) -> bool:
    return False


def _log_handlers(config: pytest.Config) -> list[logging.Handler]:
    plugin = config.pluginmanager.getplugin("logging-plugin")
    handlers = (getattr(plugin, name, None) for name in ("log_cli_handler", "log_file_handler"))
    return [handler for handler in handlers if handler is not None]
