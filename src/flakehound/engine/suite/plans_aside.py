"""Plans that write files which runs share: they are put aside until nothing else runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from flakehound.core.plans import RunPlan

# Seconds after which nothing new is started until the plans that were put aside have run. Shorter: cores wait more
# often until all is quiet; longer: what such plans would show comes later.
MAX_WAIT_S = 30.0
MAX_PLANS = 8  # of the same reason: then the others wait, too


class PlansAside:
    """Other plans go on meanwhile, for a while."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._since_s = 0.0  # when the first of them was put aside
        self.plans: deque[RunPlan] = deque()

    def add(self, plan: RunPlan) -> None:
        """Put a plan aside."""
        if not self.plans:
            self._since_s = self._clock_s()
        self.plans.append(plan)

    @property
    def are_due(self) -> bool:
        """Whether nothing else should be started before them."""
        has_waited_long = self._clock_s() - self._since_s > MAX_WAIT_S
        return bool(self.plans) and (has_waited_long or len(self.plans) >= MAX_PLANS)

    def next(self, fits_budget: Callable[[RunPlan], bool]) -> RunPlan | None:
        """The next of them that there is time for."""
        while self.plans:
            plan = self.plans.popleft()
            if fits_budget(plan):
                return plan
        return None
