"""One remark per cause, and which remarks are shown by default."""

from __future__ import annotations

import pytest

from flakehound.app.lint import default_view
from flakehound.app.lint.default_view import with_default_view
from flakehound.core.outcomes import NodeId
from flakehound.core.predictions import HiddenBy, LintFinding, Prediction, Remark, remarks_of
from flakehound.core.verdicts import Cause


def finding_at(line: int = 7, *, rule: str = "FH301", weak: str = "", via: tuple[str, ...] = ()) -> LintFinding:
    return LintFinding(
        rule=rule,
        cause=Cause.ASYNC_WAIT,
        path="shop.py",
        line=line,
        column=5,
        message="time.sleep() waits",
        test_id="",
        via=via,
        weak=weak,
    )


def prediction_of(*findings: LintFinding, name: str = "test_a", score: float = 0.1) -> Prediction:
    return Prediction(
        id=NodeId(f"test_shop.py::{name}"), path="test_shop.py", line=1, score=score, findings=findings
    )


def remarks_with_risks(*risks: float) -> list[Remark]:
    return [Remark(finding=finding_at(line), tests=(), risk=risk) for line, risk in enumerate(risks, 1)]


def test_findings_of_one_rule_at_one_line_are_one_remark_with_its_tests():
    first = prediction_of(finding_at(via=("buy", "wait")), name="test_a", score=0.2)
    second = prediction_of(finding_at(via=("wait",)), name="test_b", score=0.4)

    (remark,) = remarks_of([first, second])

    assert remark.tests == ("test_shop.py::test_a", "test_shop.py::test_b")
    assert remark.finding.via == ("wait",)
    assert remark.risk == 0.4


def test_other_lines_and_other_rules_are_other_remarks():
    prediction = prediction_of(finding_at(7), finding_at(8), finding_at(7, rule="FH101"))

    assert [(remark.finding.line, remark.finding.rule) for remark in remarks_of([prediction])] == [
        (7, "FH101"),
        (7, "FH301"),
        (8, "FH301"),
    ]


def test_a_remark_is_weak_only_if_every_test_reaches_it_weakly():
    strong, weak = prediction_of(finding_at()), prediction_of(finding_at(weak="in a constructor"), name="test_b")

    shown, hidden = (with_default_view(remarks_of(tests), 10)[0] for tests in ([weak, strong], [weak]))

    assert shown.hidden_by is None
    assert hidden.hidden_by is HiddenBy.PLACE


def test_the_riskiest_remarks_are_kept_one_for_ten_tests():
    remarks = with_default_view(remarks_with_risks(*(number / 10 for number in range(10))), 60)

    assert [remark.finding.line for remark in remarks if remark.hidden_by is None] == [5, 6, 7, 8, 9, 10]
    assert {remark.hidden_by for remark in remarks[:4]} == {HiddenBy.LIMIT}


def test_a_small_project_has_up_to_five():
    remarks = with_default_view(remarks_with_risks(*[0.5] * 7), 3)

    assert sum(remark.hidden_by is None for remark in remarks) == 5


@pytest.mark.parametrize(("rules", "expected"), [((), HiddenBy.RULE), (("FH3",), None)])
def test_a_rule_that_predicts_nothing_is_hidden_unless_it_is_asked_for(monkeypatch, rules, expected):
    monkeypatch.setattr(default_view, "PROVEN_LIFT", {"FH301": 1.0})

    (remark,) = with_default_view(remarks_with_risks(0.5), 10, rules)

    assert remark.hidden_by is expected
