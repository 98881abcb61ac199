"""Entry point: lists the commands, imports each only when it is called, and prints errors."""

from __future__ import annotations

import difflib
import importlib
import io
import signal
import sys
import traceback
from typing import Any

import click

from flakehound import __version__
from flakehound.app.output_streams import (
    ReaderGone,
    broken_pipe_as_reader_gone,
    discard_output,
    replace_closed_streams,
)
from flakehound.app.sessions.default_paths import current_folder
from flakehound.core.errors import ExitCode, FlakehoundError

READER_GONE = 128 + signal.SIGPIPE  # the exit code that a shell reports for a program that SIGPIPE ended

# Command -> module and one-line help; the module is imported only when the command runs.
COMMANDS = {
    "hunt": ("flakehound.cli.hunt", "Find the flaky tests of a suite, their kind, cause and polluter."),
    "lint": ("flakehound.cli.lint", "Predict flaky tests from their source; nothing is run."),
    "features": ("flakehound.cli.features", "Measure each test: what it reads, waits for, covers and starts."),
    "calls": ("flakehound.cli.calls", "Trace which functions each test calls, and which causes they suggest."),
    "polluter": ("flakehound.cli.polluter", "Find which earlier tests make one test fail (or pass)."),
    "explain": ("flakehound.cli.explain", "Show everything the last hunt found out about one test."),
    "replay": ("flakehound.cli.replay", "Make a test fail again, with the shortest run known to do it."),
    "history": ("flakehound.cli.history", "List the hunts in the store."),
    "merge": ("flakehound.cli.merge", "Copy the hunts of another store into this one."),
    "data": ("flakehound.cli.data", "Make and check the tables that models learn from."),
    "train": ("flakehound.cli.train", "Train lint's score on what your own hunts have found."),
    "study": ("flakehound.cli.study", "Recompute the published evaluations on your own project."),
}
# For other programs: neither listed in the help nor suggested for a mistyped name.
INTERNAL_COMMANDS = {"triage-facts": "flakehound.cli.triage_facts"}


class LazyGroup(click.Group):
    """Imports a command's module on first use, so that `flakehound --help` stays quick."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the command line; `--help` prints here."""
        with broken_pipe_as_reader_gone():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with broken_pipe_as_reader_gone():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The named command; None if there is no such command."""
        module = INTERNAL_COMMANDS.get(cmd_name) or COMMANDS.get(cmd_name, ("",))[0]
        if not module:
            return None
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name is an error that suggests the most similar one."""
        similar = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if similar and args[0] not in (*COMMANDS, *INTERNAL_COMMANDS):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {similar[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_module, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flakehound")
def main() -> None:
    """Find flaky pytest tests: which, of which kind, why, and how to make each fail again.

    \b
    Start here, in the folder where you run pytest:
        flakehound hunt
    \b
    Exit codes: 0 nothing flaky, 1 flaky tests found, 2 usage,
    3 the suite could not be collected or run, or the store not used,
    130 interrupted, 141 the reader of the output closed it, as head does.
    """
    current_folder()  # raises an error for a removed folder, before any command needs it


def run() -> None:
    """Run the command line and exit with its exit code."""
    replace_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that the terminal cannot show must not prevent the report.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _exit_code()
    except (ReaderGone, BrokenPipeError):
        code = READER_GONE
        for stream in (sys.stdout, sys.stderr):
            discard_output(stream)
    sys.exit(code)


def _exit_code() -> int:
    """Run the command line; the one place where errors become exit codes."""
    try:
        code = main.main(standalone_mode=False)
    except FlakehoundError as error:
        show_error(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.exceptions.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        raise
    except Exception:
        # Python would exit with code 1, which means "flaky tests found".
        traceback.print_exc()
        click.echo("flakehound: this is a fault of flakehound, not of your suite", err=True)
        return ExitCode.SUITE_UNUSABLE
    return code if isinstance(code, int) else ExitCode.NOTHING_FLAKY


def show_error(error: FlakehoundError) -> None:
    """Print an error: what happened, the evidence, the remedy."""
    click.echo(f"flakehound: {error.what}", err=True)
    if error.detail:
        click.echo("\n".join("    " + line for line in error.detail.splitlines()), err=True)
    if error.remedy:
        click.echo(f"try: {error.remedy}", err=True)
