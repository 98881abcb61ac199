"""Small projects as source code, and what pytest itself collects from files on disk."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path
from textwrap import dedent

from pytest_sessions import SessionServer

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.source.modules import Module, parse_source
from flakehound.lint.source.project import Project


def encode_source(text):
    return dedent(text).lstrip("\n").encode()


def parse_module(text, path="test_it.py"):
    parsed = parse_source(path, encode_source(text))
    assert isinstance(parsed, Module), parsed
    return parsed


def project_with(*, patterns=None, import_roots=(), **files):
    """A project of files given by keywords; `tests__test_a` is `tests/test_a.py`."""
    files_by_path = {
        f"{name.replace('__', '/').replace('/init/', '/__init__')}.py": text for name, text in files.items()
    }
    return project_of(files_by_path, patterns=patterns, import_roots=import_roots)


def project_of(files, *, patterns=None, import_roots=()):
    sources = {path: encode_source(text) for path, text in files.items()}
    return Project(sources, patterns=patterns, import_roots=import_roots)


def cases_in(text, **options):
    return cases_of(parse_module(text), CollectionPatterns(**options))


def ids_in(text, **options):
    """The ids of the tests of one file, without the path."""
    return [case.id.partition("::")[2] for case in cases_in(text, **options)]


def only_case(project, path, name=None):
    """The only test of a file, or the only one of that name."""
    cases = cases_of(project.module(path), project.patterns, project)
    (case,) = [case for case in cases if name in (None, case.name)]
    return case


def write_files(folder, files):
    for path, text in files.items():
        file = Path(folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else encode_source(text))
    return Path(folder)


def collect_with_pytest(folder, *arguments, cwd=None):
    """The ids that `pytest --collect-only` prints, without brackets, each once."""
    with tempfile.TemporaryDirectory() as outside:
        out = Path(outside, "out.txt")
        command = ["--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
        _sessions().run(command, cwd or folder, _environment(), out, Path(outside, "err.txt"))
        printed = out.read_text(encoding="utf-8")
    lines = [line for line in printed.splitlines() if "::" in line and not line.startswith("ERROR")]
    return list(dict.fromkeys(line.partition("[")[0] for line in lines))


@functools.cache
def _sessions():
    return SessionServer(_environment())


def _environment():
    return os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


# Each file is one way of writing tests; the tests compare with what pytest itself collects.
SAMPLE_SUITE = {
    "test_functions.py": """
        import pytest
        def test_one(): pass
        async def test_two(): pass
        def helper(): pass
        def testthree(): pass
        def test(): pass
        class NotCollected:
            def test_no(self): pass
        @pytest.mark.parametrize("x", [1, 2])
        def test_many(x): pass
        @pytest.fixture
        def test_fixture(): pass
        def _test_private(): pass
        test_number = 3
        test_lambda = lambda: None
        def tes_t(): pass
    """,
    "test_classes.py": """
        class TestPlain:
            def test_b(self): pass
            def test_a(self): pass
            def helper(self): pass
            class TestInner:
                def test_deep(self): pass
            class Inner:
                def test_no(self): pass
            @staticmethod
            def test_static(): pass
            @classmethod
            def test_class(cls): pass
            @property
            def test_property(self): return 1
            test_value = 7
            async def test_async(self): pass
        class TestInit:
            def __init__(self): pass
            def test_no(self): pass
        class TestNew:
            def __new__(cls): return object.__new__(cls)
            def test_no(self): pass
        class TestOff:
            __test__ = False
            def test_no(self): pass
        class TestInheritsOff(TestOff):
            def test_no_either(self): pass
        class TestOnAgain(TestOff):
            __test__ = True
            def test_yes(self): pass
        class Wanted:
            __test__ = True
            def test_yes(self): pass
        class TestInheritsInit(TestInit):
            def test_no_either(self): pass
        class TestError(Exception):
            def test_no(self): pass
    """,
    "test_inheritance.py": """
        import abc
        class Base:
            def test_base(self): pass
            def test_changed(self): pass
            def test_gone(self): pass
        class Mixin:
            def test_mixin(self): pass
        class TestChild(Mixin, Base):
            def test_own(self): pass
            def test_changed(self): pass
            test_gone = None
        class TestGrandchild(TestChild):
            def test_last(self): pass
        class TestAbstract(abc.ABC):
            @abc.abstractmethod
            def make(self): ...
            def test_made(self): pass
        class TestConcrete(TestAbstract):
            def make(self): ...
        class TestDiamond(TestChild, TestGrandchild.__mro__[-1]):
            pass
        class Outer:
            class TestNested:
                def test_nested(self): pass
        class TestOuter(Outer):
            pass
    """,
    "test_unittests.py": """
        import unittest
        from unittest import TestCase, IsolatedAsyncioTestCase as Loop
        class Plain(unittest.TestCase):
            def test_b(self): pass
            def test_a(self): pass
            def helper(self): pass
            def check_this(self): pass
        class Derived(Plain):
            def test_c(self): pass
            test_b = None
        class Async(Loop):
            async def test_wait(self): pass
        class OnlyRun(TestCase):
            def runTest(self): pass
        class Both(TestCase):
            def runTest(self): pass
            def test_it(self): pass
        class Off(TestCase):
            __test__ = False
            def test_no(self): pass
        class Initialised(TestCase):
            def __init__(self, *args): super().__init__(*args)
            def test_yes(self): pass
        class MixedIn:
            def test_from_mixin(self): pass
        class Mixed(MixedIn, TestCase):
            pass
        class TestHolder:
            class Inside(TestCase):
                def test_inside(self): pass
    """,
    "test_conditions.py": """
        import sys
        from typing import TYPE_CHECKING
        if sys.version_info >= (3, 0):
            def test_new(): pass
        else:
            def test_old(): pass
        if TYPE_CHECKING:
            def test_never(): pass
        if not TYPE_CHECKING and True:
            def test_always(): pass
        try:
            import json
        except ImportError:
            json = None
        else:
            def test_json(): pass
        finally:
            def test_final(): pass
        with open(__file__):
            def test_in_with(): pass
        for _ in range(2):
            def test_in_loop(): pass
        class TestIt:
            if sys.platform != "nowhere":
                def test_somewhere(self): pass
            else:
                def test_nowhere(self): pass
        def test_twice(): pass
        def test_between(): pass
        def test_twice(): pass
        def test_deleted(): pass
        del test_deleted
    """,
    "test_aliases.py": """
        import functools
        def check(): pass
        def test_first(): pass
        test_alias = test_first
        test_check = check
        test_partial = functools.partial(check)
        def make():
            def inner(): pass
            return inner
        test_made = make()
        class TestSource:
            def test_m(self): pass
            test_n = test_m
        TestAlias = TestSource
        def test_off(): pass
        test_off.__test__ = False
        def wanted(): pass
        wanted.__test__ = True
        @functools.lru_cache
        def test_cached(): pass
        test_a, test_b = test_first, check
    """,
    "test_imports.py": """
        from shared_tests import test_shared, TestShared, BaseCase
        from shared_tests import test_shared as test_renamed
        from starred import *
        import shared_tests
        class TestLocal(shared_tests.TestShared):
            def test_more(self): pass
        class Case(BaseCase):
            def test_case(self): pass
    """,
    "shared_tests.py": """
        from unittest import TestCase
        from deeper.base import DeepBase
        def test_shared(): pass
        class TestShared:
            def test_in_shared(self): pass
        class BaseCase(DeepBase, TestCase):
            def test_base(self): pass
    """,
    "starred.py": """
        __all__ = ["test_starred"]
        def test_starred(): pass
        def test_unlisted(): pass
    """,
    "deeper/__init__.py": "",
    "deeper/base.py": """
        from .mixin import Mixin as _Mixin
        class DeepBase(_Mixin):
            def test_deep(self): pass
    """,
    "deeper/mixin.py": "class Mixin:\n    def test_mixin(self): pass\n",
    "deeper/test_relative.py": """
        from . import base
        from .base import DeepBase as TestDeepBase
        class TestRelative(base.DeepBase): pass
    """,
    "test_silenced.py": "__test__ = False\ndef test_no(): pass\n",
    "sub_test.py": "def test_suffix(): pass\n",
    "other.py": "def test_no(): pass\n",
    "below/test_below.py": "def test_below(): pass\n",
    "below/conftest.py": "collect_ignore = ['test_ignored.py']\ncollect_ignore_glob = ['*_generated.py']\n",
    "below/test_ignored.py": "def test_no(): pass\n",
    "below/test_generated.py": "def test_no(): pass\n",
    "build/test_built.py": "def test_no(): pass\n",
    ".hidden/test_hidden.py": "def test_no(): pass\n",
    "pytest.ini": "[pytest]\n",
}
