"""How likely each test is to flake, by a model or by the fixed weights of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flakehound.app.lint.model_file import NamedModel, model_for
from flakehound.core.verdicts import Cause
from flakehound.learn.static.reasons import explained
from flakehound.lint.findings import Finding
from flakehound.lint.metrics.table import METRIC_NAMES
from flakehound.lint.scoring.rule_weights import counts, score
from flakehound.lint.scoring.vocabulary import columns_of

RULES, MODEL = "rules", "model"
Told = Mapping[str, Any]  # a test as `lint_work` tells it


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """The chance that a test is flaky, and of which kind where that is known."""

    flaky: float
    nod: float | None = None
    order_dependent: float | None = None
    why: str = ""  # one line; "" where no model says it


class Scorer(Protocol):
    """Something that has an opinion on tests."""

    source: str  # RULES or MODEL
    name: str  # of the model; "" where there is none

    def opinions(self, tests: Sequence[Told], findings: Sequence[Sequence[Finding]]) -> list[Opinion]:
        """On every test, which come with all others of their files."""


class ByRules:
    """The fixed weights."""

    source, name = RULES, ""

    def opinions(self, tests: Sequence[Told], findings: Sequence[Sequence[Finding]]) -> list[Opinion]:
        """On each test by itself."""
        return [Opinion(flaky=score(found, test["row"])) for test, found in zip(tests, findings, strict=True)]


class ByModel:
    """A learned model."""

    source = MODEL

    def __init__(self, named: NamedModel) -> None:
        self.name = named.name
        self._model = named.model

    def opinions(self, tests: Sequence[Told], findings: Sequence[Sequence[Finding]]) -> list[Opinion]:
        """On each test, with a look at its file."""
        values = [values_of(test, found) for test, found in zip(tests, findings, strict=True)]
        files = [test["row"]["path"] for test in tests]
        return [
            Opinion(flaky=one.flaky, nod=one.nod, order_dependent=one.order_dependent, why=why)
            for one, why in explained(self._model, values, files)
        ]


def scorer_for(rootdir: Path, source: str) -> Scorer:
    """The one that the user wants."""
    return ByRules() if source == RULES else ByModel(model_for(rootdir))


def values_of(test: Told, found: Sequence[Finding]) -> dict[str, float | None]:
    """What a model can look at: metrics, what the test shares with others, how many rules speak, its words."""
    metrics = {name: test["row"][name] for name in METRIC_NAMES}
    return {**metrics, **test["sharing"], **counts(found), **columns_of(test["words"])}


def findings_in(test: Told) -> list[Finding]:
    """The findings of a test, as objects again."""
    return [Finding(**{**one, "cause": Cause(one["cause"]), "via": tuple(one["via"])}) for one in test["findings"]]
