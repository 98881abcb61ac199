"""Writes verdicts and failed attempts into the JUnit file that pytest has written.

The file is changed afterwards, because pytest's own writer forgets to which test a finished element belongs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from _pytest.junitxml import bin_xml_escape, mangle_test_address

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Sequence

    from flakehound_inside.triage.facts import FailureFacts, RerunFacts

_PROPERTIES = ("verdict", "kind", "stage", "evidence")
_ERRORS = ("E", "C", "T")
_PASSED = ("P", "x", "X")


def write_verdicts(
    path: str, prefix: str | None, verdicts: Sequence[Mapping[str, Any]], failures: Sequence[FailureFacts]
) -> None:
    """Add properties and Surefire's elements to each failed test; the rest of the file stays as it is."""
    tree = ElementTree.parse(path)
    cases = list(tree.iter("testcase"))
    failures_by_id = {failure["id"]: failure for failure in failures}
    for verdict in verdicts:
        names = _names_of(verdict["id"], prefix)
        failed_cases = [
            case for case in cases if _has_failed(case) and (case.get("classname"), case.get("name")) == names
        ]
        for case in failed_cases:
            _add_properties(case, verdict)
        if failed_cases:
            _add_attempts(failed_cases[0], verdict, failures_by_id.get(verdict["id"]))
    _save(tree, path)


def _names_of(node_id: str, prefix: str | None) -> tuple[str, str]:
    *packages, name = mangle_test_address(node_id)
    return ".".join([prefix, *packages] if prefix else packages), bin_xml_escape(name)


def _has_failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def _add_properties(case: ElementTree.Element, verdict: Mapping[str, Any]) -> None:
    properties = case.find("properties")
    if properties is None:
        properties = ElementTree.Element("properties")
        case.insert(0, properties)
    for name in _PROPERTIES:
        if verdict.get(name) is not None:
            ElementTree.SubElement(
                properties, "property", name="flakehound." + name, value=bin_xml_escape(verdict[name])
            )


def _add_attempts(case: ElementTree.Element, verdict: Mapping[str, Any], failure: FailureFacts | None) -> None:
    """Add one element per failed attempt, after pytest's own elements and before the captured output."""
    reruns = _with_messages(verdict.get("reruns", ()), failure["reruns"] if failure else [])
    failed = [rerun for rerun in reruns if rerun["outcome"] not in (*_PASSED, "S", "-")]
    place = max(n for n, child in enumerate(case) if child.tag in ("failure", "error", "properties")) + 1
    passed = any(rerun["outcome"] in _PASSED for rerun in reruns)
    if passed and verdict.get("verdict") != "likely-real":  # readers of these elements take the test for flaky
        # Surefire lists every failed attempt of a flaky test, including the first.
        attempts = [_element("flaky", rerun) for rerun in (_first_attempt(failure), *failed) if rerun]
    else:
        attempts = [_element("rerun", rerun) for rerun in failed]
    for offset, attempt in enumerate(attempts):
        case.insert(place + offset, attempt)


def _with_messages(
    judged_reruns: Iterable[Mapping[str, Any]], own_reruns: Sequence[RerunFacts]
) -> list[Mapping[str, Any]]:
    """The controller's reruns; those of this process with the messages that only this process has."""
    remaining = list(own_reruns)
    reruns: list[Mapping[str, Any]] = []
    for rerun in judged_reruns:
        if remaining and (rerun["stage"], rerun["outcome"]) == (remaining[0]["stage"], remaining[0]["outcome"]):
            reruns.append({**rerun, **remaining.pop(0)})
        else:
            reruns.append(rerun)
    return reruns


def _first_attempt(failure: FailureFacts | None) -> Mapping[str, Any] | None:
    if failure is None:
        return None
    outcome = "F" if failure["phase"] == "call" else "E"
    return {**failure, "outcome": outcome, "stage": ""}


def _element(prefix: str, rerun: Mapping[str, Any]) -> ElementTree.Element:
    stage = rerun.get("stage") or ""
    message = rerun.get("message") or ("failed in the %s rerun" % stage if stage else "failed")
    element = ElementTree.Element(
        prefix + ("Error" if rerun["outcome"] in _ERRORS else "Failure"),
        message=bin_xml_escape(message),
        type=bin_xml_escape(rerun.get("exception") or ""),
    )
    trace = ElementTree.SubElement(element, "stackTrace")
    trace.text = bin_xml_escape(rerun.get("text") or message)
    if stage:
        seed = rerun.get("seed")
        system_out = ElementTree.SubElement(element, "system-out")
        system_out.text = "flakehound: %s rerun%s" % (stage, "" if seed is None else ", seed %s" % seed)
    return element


def _save(tree: ElementTree.ElementTree[Any], path: str) -> None:
    # Written to another file first, because an incomplete report is worse than one without verdicts.
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>')
        file.write(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    os.replace(path + ".part", path)
