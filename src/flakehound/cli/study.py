"""`flakehound study`: experiments from the literature, repeated on your own project."""

from __future__ import annotations

import importlib

import click

# Study -> module and one-line help, as in cli/main.py.
STUDIES = {
    "triage": (
        "flakehound.cli.study_triage",
        "What reruns cost, and how often a change cannot affect a test.",
    ),
    "models": (
        "flakehound.cli.study_models",
        "How well models recognise flaky tests, by random folds and by projects.",
    ),
    "calls": (
        "flakehound.cli.study_calls",
        "Which functions mark flaky tests, and what it saves to rerun only tests that call one.",
    ),
    "metrics": ("flakehound.cli.study_metrics", "Which metrics are related to flakiness."),
    "pareto": ("flakehound.cli.study_pareto", "What model-assisted rerunning finds and costs, by its thresholds."),
    "explain": (
        "flakehound.cli.study_explain",
        "Which features decide for a model, test by test; needs flakehound[study].",
    ),
    "policies": ("flakehound.cli.study_policies", "How long each policy of a search takes to find flaky tests."),
}


class LazyStudies(click.Group):
    """Loads a study's module on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all studies."""
        return list(STUDIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The named study; None if there is no such study."""
        if cmd_name not in STUDIES:
            return None
        found = importlib.import_module(STUDIES[cmd_name][0]).command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of studies, without importing any."""
        with formatter.section("Studies"):
            formatter.write_dl([(name, text) for name, (_module, text) in STUDIES.items()])


@click.group("study", cls=LazyStudies)
def command() -> None:
    """Repeat experiments from the literature on your own project."""
