"""What the user asked a hunt to do."""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.plans import Isolation

TECHNIQUES = ("rerun", "idflakies", "pairwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """The shape of a hunt; the defaults need no thought."""

    seed: int
    jobs: int = 1
    isolation: Isolation = Isolation.FORK
    techniques: tuple[str, ...] = TECHNIQUES
    runs: int | None = None  # original-order runs; None: as many as fit
    shuffles: int | None = None  # other orders; None: as many as fit
    hash_seeds: bool = True  # False where the user pins PYTHONHASHSEED
    endless: bool = False  # go on rerunning until the budget is spent
    pairs: str = "auto"  # auto, exact, grouped, none
