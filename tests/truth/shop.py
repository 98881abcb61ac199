"""A small project under git whose tests can be broken by a change, or fail for reasons outside of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": """
        TAX = 2


        def total(prices):
            return sum(prices) * TAX


        def count(prices):
            return len(prices)
    """,
    "shop/names.py": """
        SUFFIX = ""


        def shout(text):
            return text.upper() + SUFFIX
    """,
    "shop/registry.py": """
        NAMES = []


        def register(name):
            NAMES.append(name)


        register("a")
        register("b")
    """,
    "shop/rates.py": """
        import json
        from pathlib import Path

        DATA = Path(__file__).parent.parent / "data"


        def rate(name):
            return json.loads((DATA / "rates.json").read_text())[name]
    """,
    "shop/tool.py": """
        def main():
            print("fine")


        if __name__ == "__main__":
            main()
    """,
    "shop/clock.py": """
        def ticks(n):
            return list(range(n))
    """,
    "data/rates.json": '{"eur": 2}\n',
    "tests/conftest.py": """
        import pytest


        @pytest.fixture
        def prices():
            return [1, 2]
    """,
    "tests/test_a_flakes.py": """
        import os
        import random
        import socket
        import time
        import urllib.request
        from pathlib import Path

        import shop.names

        FLAKES = os.environ.get("SHOP_FLAKES", "").split(",")
        OUTSIDE = Path(os.environ.get("SHOP_OUTSIDE", "."))


        def attempt(name):
            with open(OUTSIDE / name, "a") as file:
                file.write("tried\\n")


        def test_lucky():
            assert "randomness" not in FLAKES or random.random() > 0.5


        def test_port():
            if "port" not in FLAKES:
                return
            attempt("port-attempts")
            with socket.socket() as server:
                server.bind(("127.0.0.1", int(os.environ["SHOP_PORT"])))


        def test_service():
            if "service" not in FLAKES:
                return
            with urllib.request.urlopen(os.environ["SHOP_SERVICE"], timeout=0.3) as answer:
                assert answer.status == 200


        def test_polluter():
            if "pollution" in FLAKES:
                shop.names.SUFFIX = "!"


        def test_down():
            assert not (OUTSIDE / "down").exists()
    """,
    "tests/test_shop.py": """
        import subprocess
        import sys

        from shop import names, rates, registry
        from shop.cart import count, total


        def test_total(prices):
            assert total(prices) == 6


        def test_count(prices):
            assert count(prices) == 2


        def test_victim():
            assert names.shout("a") == "A"


        def test_registry():
            assert registry.NAMES == ["a", "b"]


        def test_rates():
            assert rates.rate("eur") == 2


        def test_tool():
            told = subprocess.run([sys.executable, "-m", "shop.tool"], capture_output=True, text=True)
            assert told.stdout == "fine\\n"


        def test_clock():
            from shop.clock import ticks

            assert ticks(2) == [0, 1]
    """,
    "tests/test_unit.py": """
        import unittest

        from shop.cart import total


        class CartCase(unittest.TestCase):
            def test_total(self):
                self.assertEqual(total([2]), 4)
    """,
    "tests/test_async.py": """
        import asyncio

        import pytest
        from shop.cart import total


        @pytest.mark.asyncio
        async def test_total_later():
            await asyncio.sleep(0)
            assert total([3]) == 6
    """,
    "tests/test_z_last.py": """
        import os
        import time
        from pathlib import Path


        def test_last():
            wanted = os.environ.get("SHOP_WAITS_FOR")
            deadline = time.monotonic() + 20
            while wanted and not Path(wanted).exists() and time.monotonic() < deadline:
                time.sleep(0.02)
    """,
    "pytest.ini": """
        [pytest]
        asyncio_mode = strict
        asyncio_default_fixture_loop_scope = function
        pythonpath = .
    """,
    ".gitignore": "__pycache__/\n.pytest_cache/\n*.log\n",
}
PLAIN = ("-p", "no:randomly")
_WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
# Importing all plugins of our environment takes most of a small session's time.
_FEW_PLUGINS = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "flakehound_inside.plugin,pytest_asyncio.plugin",
}
ALL_PLUGINS = dict.fromkeys(_FEW_PLUGINS, "")  # as most users have it
_OF_OUR_RUN = ("PYTEST_", "COV_", "COVERAGE_", "FLAKEHOUND", "PYTHONPATH")


@dataclass
class Shop:
    """The project in a folder of its own, and a folder outside of it that its tests look at."""

    folder: Path
    outside: Path
    env: dict[str, str] = field(default_factory=dict)
    output: str = ""

    @classmethod
    def made(cls, tmp_path: Path, *, git: bool = True) -> Shop:
        shop = cls(folder=tmp_path / "project", outside=tmp_path / "outside")
        shop.outside.mkdir()
        for path, text in FILES.items():
            shop.write(path, text)
        if git:
            shop.git("init", "-q", "-b", "main")
            shop.commit("the shop")
        return shop

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        assert old in text
        (self.folder / path).write_text(text.replace(old, new), encoding="utf-8")

    def git(self, *words: str) -> str:
        env = {**os.environ, **_WHO}
        told = subprocess.run(
            ["git", *words], cwd=self.folder, env=env, capture_output=True, text=True, check=True
        )
        return told.stdout

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def pytest(self, *args: str, plain: bool = False) -> int:
        """Run pytest as a user would; with `plain`, without us."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OUR_RUN)}
        env |= {**_WHO, **_FEW_PLUGINS, "SHOP_OUTSIDE": str(self.outside), **self.env}
        # "=": a path as a word of its own, outside the project, would move the rootdir that pytest chooses.
        ours = [] if plain else ["--flakehound", f"--flakehound-json={self.outside / 'triage.json'}"]
        command = [sys.executable, "-m", "pytest", *PLAIN, *ours, *args]
        told = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300, check=False
        )
        self.output = told.stdout + told.stderr
        return told.returncode

    def triage(self) -> dict[str, dict[str, object]]:
        """The failures that were judged, by the name of their test."""
        written = json.loads((self.outside / "triage.json").read_text(encoding="utf-8"))
        return {failure["id"].rpartition("::")[2]: failure for failure in written["failures"]}
