"""Sample projects that hold one of everything pytest can do with a test."""

ENDINGS = {
    "test_endings.py": """
        import unittest
        import pytest

        def test_passes(): pass
        def test_fails(): assert 1 == 2
        @pytest.mark.skip
        def test_is_skipped(): pass
        def test_skips_itself(): pytest.skip("now")
        @pytest.mark.xfail
        def test_is_expected_to_fail(): assert False
        @pytest.mark.xfail
        def test_passes_unexpectedly(): pass
        @pytest.mark.xfail(strict=True)
        def test_passes_against_a_strict_expectation(): pass
        @pytest.mark.xfail(run=False)
        def test_is_not_run(): raise SystemExit
        def test_expects_to_fail_itself(): pytest.xfail("now")

        @pytest.fixture
        def broken(): raise ValueError("setup")
        @pytest.fixture
        def breaks_later():
            yield
            raise ValueError("teardown")
        @pytest.fixture
        def skips(): pytest.skip("in setup")
        @pytest.fixture
        def xfails(): pytest.xfail("in setup")
        def test_setup_raises(broken): pass
        def test_teardown_raises(breaks_later): pass
        def test_fails_and_teardown_raises(breaks_later): assert False
        def test_skips_and_teardown_raises(breaks_later): pytest.skip("now")
        def test_setup_skips(skips): pass
        def test_setup_xfails(xfails): pass
        @pytest.mark.xfail
        def test_setup_is_expected_to_raise(broken): pass
        def test_is_marked_while_it_runs(request):
            request.node.add_marker(pytest.mark.xfail)
            assert False
        def test_leaves_by_exit(): raise SystemExit(4)

        class TestOld(unittest.TestCase):
            def test_passes(self): pass
            def test_fails(self): self.fail("no")
            def test_skips(self): self.skipTest("now")
            @unittest.expectedFailure
            def test_expected(self): self.fail("no")
            @unittest.expectedFailure
            def test_unexpected(self): pass
        class TestOldSetUp(unittest.TestCase):
            @classmethod
            def setUpClass(cls): raise ValueError
            def test_never(self): pass
        class TestOldTearDown(unittest.TestCase):
            @classmethod
            def tearDownClass(cls): raise ValueError
            def test_first(self): pass
            def test_last(self): pass
        """,
}

SUBTESTS = {
    "test_subtests.py": """
        import unittest
        import pytest

        def test_all_pass(subtests):
            for n in range(3):
                with subtests.test(n=n): pass
        def test_one_fails(subtests):
            for n in range(3):
                with subtests.test(n=n): assert n != 1
        def test_first_is_skipped(subtests):
            with subtests.test(n=0): pytest.skip("this one")
            with subtests.test(n=1): pass
        def test_last_is_skipped(subtests):
            with subtests.test(n=0): pass
            with subtests.test(n=1): pytest.skip("this one")
        def test_one_is_expected_to_fail(subtests):
            with subtests.test(n=0): pytest.xfail("this one")
            with subtests.test(n=1): pass
        def test_fails_after_good_subtests(subtests):
            with subtests.test(n=0): pass
            assert False

        class TestOld(unittest.TestCase):
            def test_one_fails(self):
                for n in range(3):
                    with self.subTest(n=n): self.assertNotEqual(n, 1)
            def test_all_pass(self):
                for n in range(3):
                    with self.subTest(n=n): pass
            def test_first_is_skipped(self):
                with self.subTest(n=1): self.skipTest("this one")
                with self.subTest(n=2): pass
        """,
}

DYNAMIC = {
    "conftest.py": """
        import pytest

        def pytest_generate_tests(metafunc):
            if "made" in metafunc.fixturenames:
                metafunc.parametrize("made", [1, 2, "a b", "x/y::z", "\\u00e9", "[]"])

        def pytest_collect_file(file_path, parent):
            if file_path.suffix == ".yml":
                return Sheet.from_parent(parent, path=file_path)

        class Sheet(pytest.File):
            def collect(self):
                for line in self.path.read_text().splitlines():
                    name, _, wanted = line.partition(":")
                    yield Row.from_parent(self, name=name, wanted=wanted.strip())

        class Row(pytest.Item):
            def __init__(self, *, wanted, **rest):
                super().__init__(**rest)
                self.wanted = wanted
            def runtest(self):
                assert self.wanted == "pass"
            def reportinfo(self):
                return self.path, 0, self.name
            def repr_failure(self, excinfo):
                return "%s wants %s" % (self.name, self.wanted)

        def pytest_collection_modifyitems(items):
            parent = next(item.parent for item in items if item.name.startswith("test_plain"))
            items.append(pytest.Function.from_parent(parent, name="test_added", callobj=lambda: None))
            items.insert(0, items.pop())
        """,
    "sheet.yml": "good: pass\nbad: fail\n",
    "test_dynamic.py": """
        import asyncio
        import pytest

        def test_plain(): pass
        def test_made(made): assert made != 2
        @pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.xfail), pytest.param(3, id="three")])
        @pytest.mark.parametrize("y", ["a", "b"])
        def test_grid(x, y): assert x != 2 and y != "b"
        def test_waits():
            async def answer():
                await asyncio.sleep(0)
                return 42
            assert asyncio.run(answer()) == 42
        def inc(x):
            '''
            >>> inc(1)
            2
            >>> y = inc(2)
            >>> y
            3
            '''
            return x + 1
        def wrong():
            '''
            >>> 1
            2
            '''
        """,
}

FIXTURES = {
    "keep_order.py": """
        # pytest groups tests by the values of wide fixtures; given arguments must stay as given.
        import _pytest.fixtures
        _pytest.fixtures.FixtureManager.pytest_collection_modifyitems = lambda self, items: None
        """,
    "spoken.py": """
        def say(words):
            with open("log", "a") as log:
                log.write(words + "\\n")
        """,
    "conftest.py": """
        import pytest
        from spoken import say

        def told(scope):
            @pytest.fixture(scope=scope, name=scope + "_wide")
            def wide(request):
                say("+" + scope)
                yield
                say("-" + scope)
            return wide
        in_session, in_package, in_module = told("session"), told("package"), told("module")
        in_class, in_function = told("class"), told("function")

        @pytest.fixture(scope="session", params=["x", "y"])
        def letter(request):
            say("+letter " + request.param)
            yield request.param
            say("-letter " + request.param)
        @pytest.fixture(autouse=True)
        def around(request):
            say("> " + request.node.name)
            yield
            say("< " + request.node.name)
        """,
    "one/__init__.py": "",
    "one/test_first.py": """
        from spoken import say
        def setup_module(): say("setup_module")
        def teardown_module(): say("teardown_module")
        def setup_function(f): say("setup_function " + f.__name__)
        def teardown_function(f): say("teardown_function " + f.__name__)
        def test_session(session_wide): say("session")
        def test_package(package_wide, module_wide): say("package")
        def test_letter(letter, function_wide): say("letter " + letter)
        class TestGroup:
            @classmethod
            def setup_class(cls): say("setup_class")
            @classmethod
            def teardown_class(cls): say("teardown_class")
            def setup_method(self, method): say("setup_method"); self.fresh = True
            def teardown_method(self, method): say("teardown_method")
            def test_in_group(self, class_wide):
                assert self.fresh and not hasattr(self, "used")
                self.used = True
            def test_also_in_group(self, class_wide, letter):
                assert self.fresh and not hasattr(self, "used")
                self.used = True
        """,
    "one/test_second.py": """
        import unittest
        from spoken import say
        def test_package_again(package_wide, module_wide): say("package")
        class TestCase(unittest.TestCase):
            @classmethod
            def setUpClass(cls): say("setUpClass"); cls.addClassCleanup(say, "class cleanup")
            @classmethod
            def tearDownClass(cls): say("tearDownClass")
            def setUp(self): say("setUp"); self.addCleanup(say, "cleanup")
            def tearDown(self): say("tearDown")
            def test_case(self): say("case")
            def test_other_case(self): say("other case")
        """,
    "test_outside.py": """
        from spoken import say
        def test_outside(session_wide, module_wide, letter): say("outside " + letter)
        """,
}
