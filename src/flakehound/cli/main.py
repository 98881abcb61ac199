"""Entry point: names the commands, imports each only when it is called, and tells errors."""

from __future__ import annotations

import importlib
import sys

import click

from flakehound import __version__
from flakehound.core.errors import ExitCode, FlakehoundError

# Command -> module and one-line help; the module is imported only when the command runs.
COMMANDS = {
    "hunt": ("flakehound.cli.hunt", "Find the flaky tests of a suite, their kind, cause and polluter."),
    "polluter": ("flakehound.cli.polluter", "Find which earlier tests make one test fail (or pass)."),
    "explain": ("flakehound.cli.explain", "Tell everything the last hunt knows about one test."),
    "replay": ("flakehound.cli.replay", "Make a test fail again, with the shortest run known to do it."),
    "history": ("flakehound.cli.history", "List the hunts in the store."),
    "merge": ("flakehound.cli.merge", "Copy the hunts of another store into this one."),
}


class LazyGroup(click.Group):
    """Loads a command's module on first use, so that `flakehound --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The named command, None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

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
    3 the suite could not be collected or run, 130 interrupted.
    """


def run() -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = main.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else ExitCode.NOTHING_FLAKY)
    except FlakehoundError as error:
        tell(error)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        sys.exit(ExitCode.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`flakehound hunt | head`); Python would complain once more at exit.
        sys.stderr.close()
        sys.exit(ExitCode.NOTHING_FLAKY)


def tell(error: FlakehoundError) -> None:
    """Print an error: what happened, the evidence, the remedy."""
    click.echo(f"flakehound: {error.what}", err=True)
    if error.detail:
        click.echo("\n".join("    " + line for line in error.detail.splitlines()), err=True)
    if error.remedy:
        click.echo(f"try: {error.remedy}", err=True)
