"""A situation in which `pytest --flakehound` must judge a failure, and what is true in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from shared_once import prepared_folder

from .project import Answer, Project

Build = Callable[[Project], None]
MAX_TRIES = 30  # until a test that fails sometimes does so


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A project that is built by a function whose name says what happened."""

    build: Build
    group: str  # regressions: the class of the issue; flakes: whether they touch the change
    tests: tuple[str, ...]  # that the regression breaks, or that are flaky
    base_runs: bool = True  # a base can be found and run, and passes: so a regression can be proven
    sometimes: bool = False  # the run is repeated until one of the tests fails
    quick: bool = False
    only_code: bool = False  # the test is a flake; what counts is the exit code that something else has set
    code: int = 1  # wanted with tolerance

    @property
    def name(self) -> str:
        return self.build.__name__

    def answer(self) -> Answer:
        """Build the project and run the triage, once for all tests that ask."""
        folder = prepared_folder(f"{self.group}-{self.name}", self._prepare)
        return Answer(**json.loads((folder / "answer.json").read_text(encoding="utf-8")))

    def _prepare(self, folder: Path) -> None:
        project = Project.made(folder / "room")
        self.build(project)
        answer = project.triage()
        for _ in range(MAX_TRIES if self.sometimes else 0):
            if self._is_reached(answer):
                break
            answer = project.triage()
        for path in project.left:
            path.unlink(missing_ok=True)
        (folder / "answer.json").write_text(json.dumps(asdict(answer)), encoding="utf-8")

    def _is_reached(self, answer: Answer) -> bool:
        if self.only_code:  # a flake that is not cleared would not be tolerated anyway
            cleared = "flaky" in answer.verdicts.values()
            return cleared or (not answer.verdicts and " failed" in answer.output)
        return bool(set(answer.verdicts) & set(self.tests))


class Situations(list[Situation]):
    """The situations of one class; used as a decorator of the function that builds one."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group

    def add(
        self,
        *tests: str,
        base_runs: bool = True,
        sometimes: bool = False,
        quick: bool = False,
        only_code: bool = False,
        code: int = 1,
    ) -> Callable[[Build], Build]:
        """Add the situation that the decorated function builds."""

        def added(build: Build) -> Build:
            self.append(
                Situation(
                    build=build,
                    group=self.group,
                    tests=tests,
                    base_runs=base_runs,
                    sometimes=sometimes,
                    quick=quick,
                    only_code=only_code,
                    code=code,
                )
            )
            return build

        return added
