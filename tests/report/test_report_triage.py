"""What `pytest --flakehound` prints: the worst first, evidence below, ids never broken."""

from __future__ import annotations

from flakehound.report.triage.lines import triage_lines


def a_failure(test="tests/test_cart.py::test_total", verdict="likely-real", **changes):
    usual = {
        "id": test,
        "verdict": verdict,
        "kind": None,
        "stage": "intersect",
        "evidence": "failed all of 4 reruns; touches shop/cart.py: total",
        "touches": ["shop/cart.py: total"],
        "polluters": [],
        "reruns": [],
    }
    return usual | changes


def a_triage(*failures, changed=("shop/cart.py: total",), since="1a2b3c"):
    return {"since": since, "since_why": "compared with 1a2b3c", "changed": list(changed), "failures": failures}


def test_verdict_evidence_and_sum_stand_in_this_order():
    lines = triage_lines(a_triage(a_failure()))

    assert lines == [
        "1 change: shop/cart.py: total (compared with 1a2b3c)",
        "LIKELY REAL  tests/test_cart.py::test_total",
        "             failed all of 4 reruns; touches shop/cart.py: total",
        "1 failure: 1 likely real",
    ]


def test_a_change_of_comments_is_told_from_no_change():
    of_comments = a_triage(a_failure(), changed=()) | {"changed_files": 2}

    assert triage_lines(of_comments)[0].startswith("only comments, layout or line endings changed, in 2 files")
    assert triage_lines(a_triage(a_failure(), changed=()))[0].startswith("nothing changed")


def test_what_needs_the_developer_comes_before_what_does_not():
    flaky = a_failure("a::flaky", "flaky", kind="not-bursty")
    order = [
        flaky,
        a_failure("b::unrelated", "unrelated"),
        a_failure("c::open", "undecided"),
        a_failure("d::real"),
    ]

    lines = triage_lines(a_triage(*order))

    told = [line.split("::")[1].split()[0] for line in lines if "::" in line]
    assert told == ["real", "open", "unrelated", "flaky"]
    assert lines[-1] == "4 failures: 1 likely real, 1 undecided, 1 unrelated, 1 flaky"


def test_a_flaky_test_has_its_kind_and_an_unknown_polluter_a_command():
    lines = triage_lines(a_triage(a_failure("a.py::t[x y]", "flaky", kind="state-dependent")))

    assert "FLAKY        a.py::t[x y]  (state dependent)" in lines
    assert "             flakehound polluter 'a.py::t[x y]'" in lines


def test_a_known_polluter_needs_no_command():
    known = a_failure("a.py::t", "flaky", kind="state-dependent", polluters=["a.py::p"])

    assert not any("flakehound polluter" in line for line in triage_lines(a_triage(known)))


def test_many_changes_are_cut_short():
    changed = [f"m{number}.py: f" for number in range(9)]

    first = triage_lines(a_triage(a_failure(), changed=changed), width=200)[0]

    assert first.startswith("9 changes: m0.py: f, m1.py: f,")
    assert "and 4 more" in first


def test_no_change_and_no_git_are_said_differently():
    unchanged = triage_lines(a_triage(a_failure(), changed=()))
    without_git = triage_lines(a_triage(a_failure(), changed=(), since=None))

    assert unchanged[0] == "nothing changed (compared with 1a2b3c)"
    assert without_git[0].startswith("LIKELY REAL")
