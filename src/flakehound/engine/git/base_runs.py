"""What runs of tests at the base gave, or why they prove nothing about the base."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_validity import BaseValidity
from flakehound.engine.git.worktree import BaseTree

NOT_AT_BASE = "does not exist at the base"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRuns:
    """The runs of an order of tests at the base."""

    records: tuple[RunRecord, ...] = ()
    problem: str = ""  # why they prove nothing about the base; then there are no records
    validity: BaseValidity = field(default_factory=BaseValidity)  # what recorded runs used, beside the base

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcome of the last test, per run."""
        return tuple(record.last for record in self.records)


def with_user_paths(record: RunRecord, tree: BaseTree) -> RunRecord:
    """The record with paths of the user's tree, so that its failures can be compared with those there."""
    user_top, base_top = str(tree.user_top), str(tree.top)
    failures = {
        place: replace(
            failure,
            message=failure.message.replace(base_top, user_top),
            where=failure.where.replace(base_top, user_top),
            text=failure.text.replace(base_top, user_top),
        )
        for place, failure in record.failures.items()
    }
    return replace(record, failures=failures)


def why_not_run(error: FlakehoundError, tree: BaseTree) -> str:
    """Our message, with the last error line of pytest's own output if there is one."""
    return _without_tree(f"the tests do not run at the base: {_last_error(error)}", tree)


def _last_error(error: FlakehoundError) -> str:
    """Our message, with the last error line of pytest's own output if there is one."""
    line = last_error_line(error.detail)
    return f"{error.what} ({line})" if line else error.what


def last_error_line(output: str) -> str:
    """The last line of pytest's output that names an error; empty if there is none."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [
        line.removeprefix("E ").strip() for line in lines if line.startswith(("E ", "ERROR", "ModuleNotFound"))
    ]
    return errors[-1] if errors else ""


def _without_tree(text: str, tree: BaseTree) -> str:
    return text.replace(f"{tree.top}/", "").replace(str(tree.top), "its folder")


def missing_test(order: Order, collected: Collection[NodeId]) -> str:
    """The problem that the last of the tests that were not collected does not exist at the base; empty: none."""
    missing = [test for test in order if test not in set(collected)]
    return f"{missing[-1]} {NOT_AT_BASE}" if missing else ""
