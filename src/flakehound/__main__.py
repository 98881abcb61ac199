"""`python -m flakehound` is `flakehound`."""

from flakehound.cli.main import run

if __name__ == "__main__":
    run()
