"""Stands in for `flakehound triage-facts FACTS ANSWER`: judges by reruns, or misbehaves as `STAND_IN` says."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def verdict_of(failure: dict) -> dict:
    """Flaky when a rerun passed, else undecided."""
    passed = [rerun["stage"] for rerun in failure["reruns"] if rerun["outcome"] == "P"]
    return {
        "id": failure["id"],
        "verdict": "flaky" if passed else "undecided",
        "kind": {"immediate": "not-bursty", "postponed": "bursty"}[passed[0]] if passed else None,
        "stage": passed[0] if passed else None,
        "evidence": f"passed in the {passed[0]} rerun" if passed else "failed in every rerun",
        "touches": [],
        "polluters": [],
        "reruns": failure["reruns"],
        "tolerable": bool(passed),
    }


def answer_to(facts: dict) -> dict:
    """A valid answer."""
    verdicts = [verdict_of(failure) for failure in facts["failures"]]
    return {
        "triage": {
            "schema": "flakehound/triage/1",
            "failures": verdicts,
            "tolerable": all(verdict["verdict"] == "flaky" for verdict in verdicts),
        },
        "summary": [
            f"{verdict['verdict'].upper()}  {verdict['id']}  {verdict['evidence']}" for verdict in verdicts
        ],
        "notes": [],
    }


def main() -> int:
    """Save the facts, then behave as `STAND_IN` says."""
    facts, answer = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    Path(os.environ["STAND_IN_FACTS"]).write_text(json.dumps(facts))
    Path(os.environ["STAND_IN_FACTS"]).with_suffix(".env").write_text(json.dumps(dict(os.environ)))
    behaviour = os.environ.get("STAND_IN", "judge")
    if behaviour == "fail":
        print("working\nno such revision: nowhere", file=sys.stderr)
        return 3
    if behaviour in ("slow", "hang"):
        print("looking at the change", file=sys.stderr, flush=True)
        time.sleep(float(os.environ.get("STAND_IN_SECONDS", "1" if behaviour == "slow" else "60")))
    if behaviour == "no-answer":
        return 0
    content = {"garbage": "{", "shapeless": '{"triage": []}'}.get(behaviour, json.dumps(answer_to(facts)))
    answer.write_text(os.environ.get("STAND_IN_ANSWER", content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
