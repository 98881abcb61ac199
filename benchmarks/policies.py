"""How long each policy of a search takes to find 80 % of the NOD tests, replayed on published rates and times.

Both cost settings and two qualities of the score; the goals are judged at the first, where flaky tests cost what
flaky tests were measured to cost. Needs the published tables; FLAKEHOUND_DATA names their folder.
"""

from __future__ import annotations

from typing import Any

from side_by_side import Row, Series, arguments, at_most, ratio, told

from flakehound.cli.study_replaying import PolicyWishes, replayed

GOALS = {"rerun": 0.2, "cannier": 0.5, "calls": 0.5}
SETTINGS = [(costs, auc) for costs in ("by-kind", "alike") for auc in (0.75, 0.9)]


def rows_of(found: dict[str, Any], costs: str, auc: float) -> list[Row]:
    series = {name: Series(values=tuple(one["seconds"])) for name, one in found["policies"].items()}
    return [
        at_most(
            f"80 % of the NOD tests, costs {costs}, AUC {auc}: index against {peer}",
            ours=series["index"].text(),
            peer=series[peer].text(),
            figure=ratio(series["index"], series[peer]),
            limit=limit,
        )
        for peer, limit in GOALS.items()
    ]


def main() -> None:
    given = arguments(__doc__ or "", repeats=20).parse_args()
    rows = []
    for costs, auc in SETTINGS:
        wishes = PolicyWishes(seeds=given.repeats, auc=auc, costs=costs, flaky=100, share=0.01, seed=1)
        rows += rows_of(replayed(wishes, tell=print), costs, auc)
    told(rows, given.json)


if __name__ == "__main__":
    main()
