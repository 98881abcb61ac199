"""The functions that a test reaches."""

from __future__ import annotations

from lint_samples import only_case, project_of

from flakehound.lint.links.reached_code import MAX_REACHED_FUNCTIONS, Role, reached_functions


def reached_by_name(files, path="test_a.py", name=None, depth=2):
    project = project_of(files)
    reached = reached_functions(only_case(project, path, name), project, depth)
    return {".".join(function.via[-1:]): function for function in reached}


def test_helpers_are_followed_two_calls_deep():
    text = """
        def one(): two()
        def two(): three()
        def three(): pass
        def test_it(): one()
    """

    reached = reached_by_name({"test_a.py": text})

    assert {name: function.depth for name, function in reached.items()} == {"one": 1, "two": 2}
    assert reached["two"].via == ("one", "two")
    assert reached["two"].role is Role.HELPER


def test_imported_helpers_and_production_code_are_distinguished():
    files = {
        "tests/test_a.py": "from helpers import make\nfrom shop import total\ndef test_it(): total(make())\n",
        "tests/helpers.py": "def make(): pass\n",
        "shop.py": "def total(x): pass\n",
    }

    reached = reached_by_name(files, "tests/test_a.py")

    assert reached["make"].role is Role.HELPER
    assert reached["total"].role is Role.PRODUCTION
    assert reached["total"].module.path == "shop.py"


def test_fixtures_come_from_the_file_and_the_conftest_chain():
    files = {
        "conftest.py": "import pytest\n@pytest.fixture\ndef base(): pass\n@pytest.fixture\ndef unused(): pass\n",
        "a/conftest.py": "import pytest\n@pytest.fixture(scope='session')\ndef shop(base): pass\n",
        "a/test_a.py": "def test_it(shop): pass\n",
    }

    reached = reached_by_name(files, "a/test_a.py")

    assert set(reached) == {"shop", "base"}
    assert reached["base"].via == ("shop", "base")
    assert reached["shop"].fixture.scope == "session"
    assert {function.role for function in reached.values()} == {Role.FIXTURE}


def test_an_autouse_fixture_needs_no_request():
    text = """
        import pytest
        @pytest.fixture(autouse=True)
        def always(): pass
        def test_it(): pass
    """

    assert set(reached_by_name({"test_a.py": text})) == {"always"}


def test_an_override_that_requests_its_own_name_reaches_the_overridden_fixture():
    fixture = "import pytest\n@pytest.fixture\ndef shop({}): pass\n"
    files = {
        "conftest.py": fixture.format(""),
        "a/conftest.py": fixture.format("shop"),
        "a/test_a.py": "def test_it(shop): pass\n",
    }
    project = project_of(files)

    reached = reached_functions(only_case(project, "a/test_a.py"), project)

    assert [function.module.path for function in reached] == ["a/conftest.py", "conftest.py"]


def test_renamed_imported_class_and_used_fixtures_are_found():
    files = {
        "shared.py": "import pytest\n@pytest.fixture(name='till')\ndef make_till(): pass\n",
        "conftest.py": "from shared import make_till\n",
        "test_a.py": """
            import pytest
            @pytest.mark.usefixtures("till")
            class TestIt:
                @pytest.fixture(autouse=True)
                def inside(self): self.helper()
                def helper(self): pass
                def test_it(self): pass
        """,
    }

    assert set(reached_by_name(files)) == {"till", "inside", "TestIt.helper"}


def test_fixtures_of_a_plugin_file_are_found():
    files = {
        "plugins/shop.py": "import pytest\n@pytest.fixture\ndef till(): pass\n",
        "conftest.py": "pytest_plugins = ['plugins.shop']\n",
        "test_a.py": "def test_it(till): pass\n",
    }

    assert set(reached_by_name(files)) == {"till"}


def test_a_cycle_of_fixtures_ends():
    text = """
        import pytest
        @pytest.fixture
        def a(b): pass
        @pytest.fixture
        def b(a): pass
        def test_it(a): pass
    """

    assert set(reached_by_name({"test_a.py": text})) == {"a", "b"}


def test_setup_of_unittest_is_reached_through_bases():
    files = {
        "base.py": """
            import unittest
            class Base(unittest.TestCase):
                @classmethod
                def setUpClass(cls): pass
                def setUp(self): self.prepare()
                def tearDown(self): pass
                def prepare(self): pass
        """,
        "test_a.py": """
            import base
            def setUpModule(): pass
            class ShopTest(base.Base):
                def prepare(self): helper()
                def test_it(self): pass
            def helper(): pass
        """,
    }

    reached = reached_by_name(files)

    assert {name for name, function in reached.items() if function.role is Role.SETUP} == {
        "Base.setUpClass",
        "Base.setUp",
        "Base.tearDown",
        "setUpModule",
    }
    assert "ShopTest.prepare" in reached
    assert "helper" in reached


def test_setup_of_pytest_is_reached():
    text = """
        def setup_module(): pass
        def setup_function(): pass
        class TestIt:
            def setup_method(self): pass
            def test_it(self): pass
        def test_alone(): pass
    """

    assert set(reached_by_name({"test_a.py": text}, name="test_it")) == {"setup_module", "TestIt.setup_method"}
    assert set(reached_by_name({"test_a.py": text}, name="test_alone")) == {"setup_module", "setup_function"}


def test_creating_an_object_reaches_its_constructor_and_its_methods():
    files = {
        "shop.py": """
            class Cart:
                def __init__(self): self.load()
                def load(self): pass
                def add(self): pass
        """,
        "test_a.py": "from shop import Cart\ndef test_it():\n    cart = Cart()\n    cart.add()\n",
    }

    assert set(reached_by_name(files)) == {"Cart.__init__", "Cart.add", "Cart.load"}


def test_a_function_passed_to_another_is_reached():
    text = "import threading\ndef work(): pass\ndef test_it(): threading.Thread(target=work).start()\n"

    assert set(reached_by_name({"test_a.py": text})) == {"work"}


def test_a_cycle_of_calls_ends():
    text = "def a(): b()\ndef b(): a()\ndef test_it(): a(); test_it()\n"

    assert set(reached_by_name({"test_a.py": text}, depth=9)) == {"a", "b"}


def test_the_number_of_reached_functions_is_limited():
    many = "".join(f"def f{n}(): pass\n" for n in range(500))
    text = many + "def test_it():\n" + "".join(f"    f{n}()\n" for n in range(500))

    assert len(reached_by_name({"test_a.py": text})) == MAX_REACHED_FUNCTIONS
