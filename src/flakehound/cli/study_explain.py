"""`flakehound study explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from flakehound.app.output_files import check_writable, write_json
from flakehound.cli.data import columns_option, problem_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)
SCHEMA = "flakehound/study-explain/1"
SIZES = (15, 12, 9, 6, 3)


@click.command("explain", cls=CommandWithRemedies)
@columns_option
@problem_option
@click.option(
    "--tests", type=click.IntRange(min=1), default=500, show_default=True, help="Tests to explain, drawn."
)
@click.option("--retrain", is_flag=True, help="Also train with the 15, 12, 9, 6 and 3 strongest features only.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of every random choice."
)
@click.option("--json", "json_file", type=_FILE, help="Also write every contribution as JSON.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw the contributions as a beeswarm.")
@click.argument("table", type=_FILE)
def command(
    columns: str | None,
    problem: str | None,
    tests: int,
    retrain: bool,
    seed: int,
    json_file: Path | None,
    plot_file: Path | None,
    table: Path,
) -> int:
    """Say what a model of a table looks at, feature by feature and test by test.

    \b
    Example:
        flakehound study explain --plot swarm.png tests.csv
    """
    from flakehound.app.studies.plots import check_plot
    from flakehound.learn.extras import check_installed
    from flakehound.report.study.explain import explained_lines, plot_swarm

    check_installed("sklearn", "imblearn", "shap")
    check_writable(json_file)
    check_plot(plot_file)
    told = _explained(table, columns, problem, tests, retrain, seed)
    click.echo("\n".join(explained_lines(told)))
    write_json(json_file, json.dumps(told, indent=1) + "\n")
    if plot_file is not None:
        plot_swarm(told, plot_file)
    return ExitCode.NOTHING_FLAKY


def _explained(
    table: Path, columns: str | None, problem: str | None, tests: int, retrain: bool, seed: int
) -> dict[str, Any]:
    import numpy as np

    from flakehound.app.data.problems import asked_problem
    from flakehound.app.data.tables import read_table
    from flakehound.learn.models.explanation import ranking, shap_values, why, with_fewer
    from flakehound.learn.models.pipelines import Pipeline

    data = read_table(table, columns)
    asked = asked_problem(data, problem, table)
    pipeline = Pipeline(classifier="extra-trees", trees=100, balancing="smote")
    domain = data.labels(asked).domain
    places = np.sort(np.random.default_rng(seed).permutation(len(domain))[:tests])
    found, expected = shap_values(data, asked, pipeline, seed, places)
    ranked = ranking(data.features, found)
    names = [name for name, _mean in ranked]
    values = data.values[domain][places]
    return {
        "schema": SCHEMA,
        "table": data.name,
        "problem": asked.value,
        "seed": seed,
        "expected": expected,
        "features": list(data.features),
        "ranking": [{"feature": name, "mean": mean} for name, mean in ranked],
        "top": {} if not retrain else with_fewer(data, asked, pipeline, names, SIZES, seed),
        "tests": [
            {
                "id": data.ids[domain[place]],
                "values": value.tolist(),
                "shap": row.round(5).tolist(),
                "why": why(data.features, value, row),
            }
            for place, value, row in zip(places, values, found, strict=True)
        ],
    }
