"""Class 4: rules of thumb about new tests, names and earlier failures that a regression can satisfy."""

from __future__ import annotations

from .project import Project
from .situation import Situations

RULES = Situations("4-rules-of-thumb")

DICE = """
    from random import SystemRandom


    def roll(share):
        return SystemRandom().random() < share


    def fails():
        return False
"""
TEST = "from shop.dice import fails\n\n\ndef test_dice():\n    assert not fails()\n"
OTHER = "def test_other():\n    assert True\n"


def dice(share_before: float, share_after: float, project: Project) -> None:
    """A test whose share of failures changes with the commit on the branch."""
    before = "False" if not share_before else f"roll({share_before})"
    project.write_all({"shop/dice.py": DICE, "tests/test_dice.py": TEST, "tests/test_a.py": OTHER})
    project.replace("shop/dice.py", "return False", f"return {before}")
    project.commit("the base")
    project.branch()
    project.replace("shop/dice.py", f"return {before}", f"return roll({share_after})")
    project.commit("the change")


@RULES.add("test_dice", sometimes=True, quick=True)
def it_fails_in_30_percent_and_never_at_the_base(project: Project) -> None:
    dice(0, 0.3, project)


@RULES.add("test_dice", sometimes=True)
def it_fails_in_60_percent_and_never_at_the_base(project: Project) -> None:
    dice(0, 0.6, project)


@RULES.add("test_dice")
def it_was_flaky_in_10_percent_and_fails_always(project: Project) -> None:
    dice(0.1, 1.1, project)


@RULES.add("test_dice", sometimes=True)
def it_was_flaky_in_20_percent_and_fails_in_80(project: Project) -> None:
    dice(0.2, 0.8, project)


@RULES.add("test_dice", sometimes=True)
def it_was_flaky_in_10_percent_and_fails_in_60(project: Project) -> None:
    dice(0.1, 0.6, project)


@RULES.add("test_dice", base_runs=False, sometimes=True)
def a_new_test_of_new_code_fails_sometimes(project: Project) -> None:
    project.start({"tests/test_a.py": OTHER})
    project.write_all({"shop/dice.py": DICE.replace("False", "roll(0.5)"), "tests/test_dice.py": TEST})
    project.commit()


@RULES.add("test_dice", base_runs=False)
def a_new_test_of_new_code_fails_at_first_only(project: Project) -> None:
    project.start({"tests/test_a.py": OTHER})
    dice = "SEEN = []\n\n\ndef fails():\n    SEEN.append(1)\n    return len(SEEN) == 1\n"
    project.write_all({"shop/dice.py": dice, "tests/test_dice.py": TEST})
    project.commit()


@RULES.add("test_dice", base_runs=False, sometimes=True)
def the_test_file_is_renamed_in_the_commit_that_breaks_it(project: Project) -> None:
    project.start({"shop/dice.py": DICE, "tests/test_dice.py": TEST, "tests/test_a.py": OTHER})
    project.git("mv", "tests/test_dice.py", "tests/test_rolls.py")
    project.replace("shop/dice.py", "return False", "return roll(0.6)")
    project.commit()


@RULES.add("test_dice[2.0]", base_runs=False, sometimes=True)
def the_version_is_in_the_id_of_the_parameter(project: Project) -> None:
    test = """
        import pytest

        from shop import __version__
        from shop.dice import fails


        @pytest.mark.parametrize("version", [__version__])
        def test_dice(version):
            assert not fails()
    """
    files = {"shop/__init__.py": '__version__ = "1.0"\n', "shop/dice.py": DICE, "tests/test_dice.py": test}
    project.start(files)
    project.replace("shop/__init__.py", "1.0", "2.0")
    project.replace("shop/dice.py", "return False", "return roll(0.6)")
    project.commit()


@RULES.add("test_b_victim", base_runs=False)
def a_new_test_shows_that_changed_code_leaks(project: Project) -> None:
    state = "NAMES = []\n\n\ndef register(name):\n    return [*NAMES, name]\n"
    victim = "from shop import state\n\n\ndef test_b_victim():\n    assert state.NAMES == []\n"
    project.start({"shop/state.py": state, "tests/test_b.py": victim})
    project.stored()
    project.replace("shop/state.py", "return [*NAMES, name]", "NAMES.append(name)\n    return NAMES")
    project.write("tests/test_a.py", "from shop import state\n\n\ndef test_a():\n    assert state.register('x')\n")
    project.commit()


@RULES.add("test_b_victim")
def an_old_test_becomes_a_polluter_because_the_code_leaks(project: Project) -> None:
    state = "NAMES = []\n\n\ndef register(name):\n    return [*NAMES, name]\n"
    polluter = "from shop import state\n\n\ndef test_a():\n    assert state.register('x')\n"
    victim = "from shop import state\n\n\ndef test_b_victim():\n    assert state.NAMES == []\n"
    project.start({"shop/state.py": state, "tests/test_a.py": polluter, "tests/test_b.py": victim})
    project.stored()
    project.replace("shop/state.py", "return [*NAMES, name]", "NAMES.append(name)\n    return NAMES")
    project.commit()


@RULES.add("test_variant", sometimes=True)
def a_module_with_the_name_of_a_test_file_is_broken(project: Project) -> None:
    test = "from shop.ab_test import variant\n\n\ndef test_variant():\n    assert variant() in 'ab'\n"
    module = "from random import SystemRandom\n\n\ndef variant():\n    return SystemRandom().choice('ab')\n"
    project.start({"shop/ab_test.py": module, "tests/test_variant.py": test})
    project.stored()
    project.replace("shop/ab_test.py", "choice('ab')", "choice('abc')")
    project.commit()


@RULES.add("test_dice", sometimes=True)
def the_store_has_the_failure_of_a_commit_that_was_amended(project: Project) -> None:
    dice(0, 0.6, project)
    for _ in range(6):
        project.stored()
    project.write("tests/test_c.py", OTHER)
    project.git("add", "-A")
    project.git("commit", "-q", "--amend", "-m", "amended")


@RULES.add("test_total", sometimes=True)
def another_cause_fails_at_the_assertion_of_an_old_flake(project: Project) -> None:
    test = """
        from random import SystemRandom

        from shop.cart import total


        def test_total():
            noise = 1 if SystemRandom().random() < 0.3 else 0
            assert total([1, 2]) + noise == 3
    """
    cart = "def total(prices):\n    return sum(prices)\n"
    project.write_all({"shop/cart.py": cart, "tests/test_total.py": test, "tests/test_a.py": OTHER})
    project.commit()
    for _ in range(8):
        project.stored()
    project.branch()
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 5")
    project.commit()


@RULES.add("test_dice", sometimes=True)
def failures_of_a_rebased_branch_are_in_the_store(project: Project) -> None:
    dice(0, 0.5, project)
    for _ in range(6):
        project.stored()
    project.git("checkout", "-q", "main")
    project.write("notes.txt", "a note\n")
    project.commit()
    project.git("checkout", "-q", "work")
    project.git("rebase", "-q", "main")
