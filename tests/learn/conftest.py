"""The room of learning needs its extra; where that is missing its tests are skipped, with the reason."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn", reason="needs flakehound[learn]")
pytest.importorskip("imblearn", reason="needs flakehound[learn]")
