"""The clock and the JSON functions, bound at import: what a run without failures needs of `isolated_os`."""

from __future__ import annotations

import json
import time


class isolated:  # noqa: N801 (used like a module: isolated.clock)
    """Functions as attributes of a class, for the reason given in `isolated_os`."""

    clock = staticmethod(time.perf_counter)  # on Linux the same clock in every process
    dumps = staticmethod(json.JSONEncoder().encode)
    loads = staticmethod(json.JSONDecoder().decode)
