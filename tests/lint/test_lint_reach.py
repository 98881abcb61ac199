"""What a test executes besides its own lines."""

from __future__ import annotations

from lint_samples import only_case, project_of

from flakehound.lint.links.reached_code import MAX_REACHED_FUNCTIONS, Role, reached_functions


def ways(files, path="test_a.py", name=None, depth=2):
    found = project_of(files)
    results = reached_functions(only_case(found, path, name), found, depth)
    return {".".join(one.via[-1:]): one for one in results}


def test_helpers_are_followed_two_calls_deep():
    text = """
        def one(): two()
        def two(): three()
        def three(): pass
        def test_it(): one()
    """

    found = ways({"test_a.py": text})

    assert {name: one.depth for name, one in found.items()} == {"one": 1, "two": 2}
    assert found["two"].via == ("one", "two")
    assert found["two"].role is Role.HELPER


def test_imported_helpers_and_production_code_are_told_apart():
    files = {
        "tests/test_a.py": "from helpers import make\nfrom shop import total\ndef test_it(): total(make())\n",
        "tests/helpers.py": "def make(): pass\n",
        "shop.py": "def total(x): pass\n",
    }

    found = ways(files, "tests/test_a.py")

    assert found["make"].role is Role.HELPER
    assert found["total"].role is Role.PRODUCTION
    assert found["total"].module.path == "shop.py"


def test_fixtures_come_from_the_file_and_the_conftest_chain():
    files = {
        "conftest.py": "import pytest\n@pytest.fixture\ndef base(): pass\n@pytest.fixture\ndef unused(): pass\n",
        "a/conftest.py": "import pytest\n@pytest.fixture(scope='session')\ndef shop(base): pass\n",
        "a/test_a.py": "def test_it(shop): pass\n",
    }

    found = ways(files, "a/test_a.py")

    assert set(found) == {"shop", "base"}
    assert found["base"].via == ("shop", "base")
    assert found["shop"].fixture.scope == "session"
    assert {one.role for one in found.values()} == {Role.FIXTURE}


def test_an_autouse_fixture_needs_no_request():
    text = """
        import pytest
        @pytest.fixture(autouse=True)
        def always(): pass
        def test_it(): pass
    """

    assert set(ways({"test_a.py": text})) == {"always"}


def test_an_override_that_asks_for_its_own_name_reaches_the_overridden():
    fixture = "import pytest\n@pytest.fixture\ndef shop({}): pass\n"
    files = {
        "conftest.py": fixture.format(""),
        "a/conftest.py": fixture.format("shop"),
        "a/test_a.py": "def test_it(shop): pass\n",
    }
    found = project_of(files)

    results = reached_functions(only_case(found, "a/test_a.py"), found)

    assert [one.module.path for one in results] == ["a/conftest.py", "conftest.py"]


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

    assert set(ways(files)) == {"till", "inside", "TestIt.helper"}


def test_fixtures_of_a_plugin_file_are_found():
    files = {
        "plugins/shop.py": "import pytest\n@pytest.fixture\ndef till(): pass\n",
        "conftest.py": "pytest_plugins = ['plugins.shop']\n",
        "test_a.py": "def test_it(till): pass\n",
    }

    assert set(ways(files)) == {"till"}


def test_fixtures_that_ask_for_each_other_end():
    text = """
        import pytest
        @pytest.fixture
        def a(b): pass
        @pytest.fixture
        def b(a): pass
        def test_it(a): pass
    """

    assert set(ways({"test_a.py": text})) == {"a", "b"}


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

    found = ways(files)

    assert {name for name, one in found.items() if one.role is Role.SETUP} == {
        "Base.setUpClass",
        "Base.setUp",
        "Base.tearDown",
        "setUpModule",
    }
    assert "ShopTest.prepare" in found
    assert "helper" in found


def test_setup_of_pytest_is_reached():
    text = """
        def setup_module(): pass
        def setup_function(): pass
        class TestIt:
            def setup_method(self): pass
            def test_it(self): pass
        def test_alone(): pass
    """

    assert set(ways({"test_a.py": text}, name="test_it")) == {"setup_module", "TestIt.setup_method"}
    assert set(ways({"test_a.py": text}, name="test_alone")) == {"setup_module", "setup_function"}


def test_making_an_object_reaches_its_constructor_and_its_methods():
    files = {
        "shop.py": """
            class Cart:
                def __init__(self): self.load()
                def load(self): pass
                def add(self): pass
        """,
        "test_a.py": "from shop import Cart\ndef test_it():\n    cart = Cart()\n    cart.add()\n",
    }

    assert set(ways(files)) == {"Cart.__init__", "Cart.add", "Cart.load"}


def test_a_function_handed_to_another_is_reached():
    text = "import threading\ndef work(): pass\ndef test_it(): threading.Thread(target=work).start()\n"

    assert set(ways({"test_a.py": text})) == {"work"}


def test_functions_that_call_each_other_end():
    text = "def a(): b()\ndef b(): a()\ndef test_it(): a(); test_it()\n"

    assert set(ways({"test_a.py": text}, depth=9)) == {"a", "b"}


def test_the_work_for_one_test_is_bounded():
    many = "".join(f"def f{n}(): pass\n" for n in range(500))
    text = many + "def test_it():\n" + "".join(f"    f{n}()\n" for n in range(500))

    assert len(ways({"test_a.py": text})) == MAX_REACHED_FUNCTIONS
