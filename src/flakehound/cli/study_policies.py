"""`flakehound study policies`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flakehound.cli.json_file import check_writable, write_json
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("policies", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seeds", type=click.IntRange(min=2), default=20, show_default=True, help="Suites to draw.")
@click.option(
    "--auc", type=click.FloatRange(0.5, 0.99), default=0.75, show_default=True, help="How good the score is."
)
@click.option(
    "--costs",
    type=click.Choice(["python", "by-kind", "alike"]),
    default="python",
    show_default=True,
    help="python: drawn after published figures on Python tests; by-kind: Java's flaky tests and Java's others; "
    "alike: all of Java's tests.",
)
@click.option(
    "--counts",
    type=click.Choice(["python", "java"]),
    default="python",
    show_default=True,
    help="Whose failure rates; java has times of the same tests, so that --costs and --share do not matter.",
)
@click.option("--flaky", type=click.IntRange(min=10), default=100, show_default=True, help="NOD tests of a suite.")
@click.option(
    "--share", type=click.FloatRange(0.0001, 0.5), default=0.01, show_default=True, help="Their share of it."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of every random choice."
)
@click.option("--json", "json_file", type=_FILE, help="Also write every figure as JSON.")
def command(
    seeds: int, auc: float, costs: str, counts: str, flaky: int, share: float, seed: int, json_file: Path | None
) -> int:
    """Replay policies of a search on published outcome counts: when are 80 % of the NOD tests found?

    \b
    Example:
        flakehound study policies --auc 0.9
    """
    from flakehound.cli.study_replaying import PolicyWishes, replayed
    from flakehound.report.learn_policies import policy_lines

    check_writable(json_file)
    wishes = PolicyWishes(seeds=seeds, auc=auc, costs=costs, counts=counts, flaky=flaky, share=share, seed=seed)
    told = replayed(wishes, tell=lambda words: click.echo(words, err=True))
    click.echo("\n".join(policy_lines(told)))
    write_json(json_file, json.dumps(told, indent=1) + "\n")
    return ExitCode.NOTHING_FLAKY
