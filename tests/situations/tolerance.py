"""Class 6: what `--flakehound-tolerate` must leave alone."""

from __future__ import annotations

from .project import Project
from .situation import Situations

TOLERANCE = Situations("6-tolerance")

FLAKE = """
    from random import SystemRandom


    def test_flake():
        assert SystemRandom().random() < 0.4
"""
CART = "def total(prices):\n    return sum(prices)\n"
TOTAL = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


def with_flake(project: Project, files: dict[str, str]) -> None:
    """A base with a flaky test, and a branch."""
    project.write_all({"shop/cart.py": CART, "tests/test_flake.py": FLAKE, **files})
    project.commit()
    project.branch()


def bug(project: Project) -> None:
    """Break `total`."""
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.commit("a bug")


def gate(project: Project, hook: str) -> None:
    """A conftest that sets the exit status at the end because of a bug."""
    with_flake(project, {"tests/conftest.py": f"import pytest\nimport shop.cart\n\n\n{hook}"})
    bug(project)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True, code=42, quick=True)
def a_conftest_sets_an_exit_status_of_its_own(project: Project) -> None:
    hook = """def pytest_sessionfinish(session):
    if shop.cart.total([1]) != 1:
        session.exitstatus = 42\n"""
    gate(project, hook)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True, code=3)
def a_conftest_sets_an_exit_status_as_the_last(project: Project) -> None:
    hook = """@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if shop.cart.total([1]) != 1:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR\n"""
    gate(project, hook)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True, code=9)
def a_conftest_sets_an_exit_status_around_the_others(project: Project) -> None:
    hook = """@pytest.hookimpl(hookwrapper=True)
def pytest_sessionfinish(session):
    yield
    if shop.cart.total([1]) != 1:
        session.exitstatus = 9\n"""
    gate(project, hook)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True)
def a_conftest_sets_the_status_of_failed_tests_itself(project: Project) -> None:
    hook = """@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if shop.cart.total([1]) != 1:
        session.exitstatus = 1\n"""
    gate(project, hook)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True)
def a_plugin_counts_a_failure_of_its_own(project: Project) -> None:
    hook = """@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session):
    yield
    if shop.cart.total([1]) != 1:
        session.testsfailed += 1\n"""
    gate(project, hook)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True)
def the_coverage_is_below_its_limit(project: Project) -> None:
    project.env["PYTEST_PLUGINS"] = "flakehound_inside.plugin,pytest_cov.plugin"
    project.args = ("--cov=shop", "--cov-fail-under=100")
    with_flake(project, {"tests/test_total.py": TOTAL})
    project.write("shop/more.py", "def unused():\n    return 1\n")
    project.write("shop/__init__.py", "from shop import more\n")
    project.commit()


@TOLERANCE.add("test_flake", sometimes=True, only_code=True, code=7)
def a_test_ends_the_run_with_a_status(project: Project) -> None:
    late = """
        import pytest

        from shop.cart import total


        def test_z():
            if total([1]) != 1:
                pytest.exit("the sums are wrong", returncode=7)
    """
    with_flake(project, {"tests/test_z.py": late})
    bug(project)


@TOLERANCE.add("test_total")
def a_flake_and_a_regression_fail_in_one_run(project: Project) -> None:
    with_flake(project, {"tests/test_total.py": TOTAL})
    bug(project)


@TOLERANCE.add("test_flake", sometimes=True, only_code=True)
def a_module_with_a_flake_cannot_be_collected_beside_it(project: Project) -> None:
    with_flake(project, {"tests/test_total.py": TOTAL})
    project.write("shop/cart.py", "def sum_of(prices):\n    return sum(prices)\n")
    project.commit()
    project.args = ("--continue-on-collection-errors",)


@TOLERANCE.add("test_both", sometimes=True, base_runs=False)
def the_teardown_of_a_flaky_test_is_broken(project: Project) -> None:
    test = """
        from random import SystemRandom

        import pytest
        from shop.cart import total


        @pytest.fixture
        def checked():
            yield
            assert total([1]) == 1


        def test_both(checked):
            assert SystemRandom().random() < 0.5
    """
    with_flake(project, {"tests/test_both.py": test, "tests/test_flake.py": ""})
    bug(project)


@TOLERANCE.add("test_last")
def the_teardown_of_the_session_is_broken(project: Project) -> None:
    conftest = """
        import pytest
        from shop.cart import total


        @pytest.fixture(scope="session", autouse=True)
        def checked():
            yield
            assert total([1]) == 1
    """
    project.start(
        {
            "shop/cart.py": CART,
            "tests/conftest.py": conftest,
            "tests/test_last.py": "def test_first():\n    pass\n\n\ndef test_last():\n    pass\n",
        }
    )
    bug(project)


@TOLERANCE.add("test_known")
def a_strict_expected_failure_passes(project: Project) -> None:
    test = """
        import pytest
        from shop.cart import total


        @pytest.mark.xfail(strict=True)
        def test_known():
            assert total([1]) == 2
    """
    project.start({"shop/cart.py": CART, "tests/test_known.py": test})
    bug(project)


@TOLERANCE.add("shop.cart.total")
def an_example_in_a_docstring_is_wrong(project: Project) -> None:
    cart = 'def total(prices):\n    """Sum.\n\n    >>> total([1, 2])\n    3\n    """\n    return sum(prices)\n'
    project.args = ("--doctest-modules", "shop")
    project.start({"shop/__init__.py": "", "shop/cart.py": cart})
    bug(project)
