"""The few outside functions that a green triage needs; `real` has them and many more, and costs more to import."""

from __future__ import annotations

import json
import time


class untouched:  # noqa: N801 (read as an adjective: untouched.clock)
    """Held as attributes of a class, for the reason told in `real`."""

    clock = staticmethod(time.perf_counter)  # on Linux the same clock in every process
    dumps = staticmethod(json.JSONEncoder().encode)
    loads = staticmethod(json.JSONDecoder().decode)
