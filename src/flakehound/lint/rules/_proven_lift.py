"""How much likelier a test with a finding of each rule is flaky, on the design projects."""

from __future__ import annotations

from collections.abc import Mapping

PROVEN_LIFT: Mapping[str, float] = {}
