"""The validated options of one hunt, and how they are made from the options that all commands share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flakehound.app.sessions.store_file import check_store, session_to_resume
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.app.sessions.target import isolation_from, seed_from, target_from, target_of, test_limit_from
from flakehound.core.errors import UsageError, same_command
from flakehound.core.plans import Isolation
from flakehound.engine.processes.launch import Target
from flakehound.hunt.options import INDEX, TECHNIQUES
from flakehound.store import SessionInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """The policy that orders a hunt's runs, and what only `cannier` takes."""

    policy: str = INDEX
    training: Path | None = None  # the table to learn from; None: the one we ship
    features: Path | None = None  # of this suite's tests; None: measured in the hunt
    detection: float | None = None  # the MCC to reach at the lowest cost
    cost: float | None = None  # the share of all reruns' time that may be spent


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """Validated options of one `flakehound hunt`."""

    target: Target
    seed: int  # of a new hunt; a resumed one keeps its own
    store_path: Path
    seed_is_given: bool = False  # by the user; else a hunt takes the seed of the last one of the same code
    jobs: int | None = None  # None: as many as the suite can run in parallel
    budget_s: float | None = None  # None: derived from the time that the suite takes
    runs: int | None = None  # in the original order; None: as many as fit
    shuffles: int | None = None  # in other orders; None: as many as fit
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    techniques: tuple[str, ...] = TECHNIQUES
    pairs: str = "auto"
    states: bool = False
    measure: bool = False
    isolation: Isolation | None = None  # None: fork where a fork behaves like a new process
    test_limit_s: float | None = None
    shown_store: str | None = None  # how the user named the store, None for the default
    resumed: SessionInfo | None = None  # the stored hunt to continue
    fresh: bool = False  # whether runs of earlier hunts are no evidence even if the code is the same

    def __post_init__(self) -> None:
        if self.resumed is not None and self.fresh:
            raise UsageError("either --resume or --fresh, not both", remedy=same_command(fresh=None))

    @property
    def base_seed(self) -> int:
        """The seed of the whole hunt, also after it was resumed."""
        return self.seed if self.resumed is None else self.resumed.base_seed

    @property
    def is_counted(self) -> bool:
        """Whether the user named a number of runs to make; `--shuffles 0` only excludes shuffled runs."""
        return bool(self.runs or self.shuffles)

    @property
    def starts_afresh(self) -> bool:
        """Whether earlier runs do not count: the user asked for that, or for a number of runs of this hunt."""
        return self.fresh or self.is_counted

    @property
    def ends_by_count_only(self) -> bool:
        """Whether the user named a number of runs without a time; then the default time does not limit them."""
        return self.is_counted and self.budget_s is None


def options_for_suite(
    suite: SuiteOptions,
    store_path: Path,
    *,
    shown_store: str | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> HuntOptions:
    """The options of a hunt in a folder, by default the current one; those of the search have their defaults.

    Raises an error for a store that cannot be written and, with `resume`, for a folder without an earlier hunt.
    """
    check_store(store_path)
    resumed = session_to_resume(store_path, folder) if resume else None
    return HuntOptions(
        target=target_from(suite, target_of(resumed) if resumed else None, folder=folder),
        seed=seed_from(suite),
        seed_is_given=suite.seed is not None,
        jobs=suite.jobs,
        isolation=isolation_from(suite),
        test_limit_s=test_limit_from(suite),
        store_path=store_path,
        shown_store=shown_store,
        resumed=resumed,
    )
