"""Each rule on its own bad and good example, and on small samples that it must find or ignore."""

from __future__ import annotations

import pytest

from flakehound.core.predictions import LintFinding
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.rules.registry import all_rules, findings_of
from flakehound.lint.source.project import Project

RULES = {rule.name: rule for rule in all_rules()}


def findings_in(*, rule: str = "", **files: str) -> list[LintFinding]:
    """The findings in the tests of a project, of one rule or of all rules."""
    project = Project({f"{name}.py": text.encode() for name, text in files.items()})
    cache = FactsCache()
    rules = [RULES[rule]] if rule else None
    return [
        finding
        for module in project.test_modules()
        for case in cases_of(module, project.patterns, project)
        for finding in findings_of(context_of(case, project, cache), rules)
    ]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_its_own_bad_example(name):
    assert findings_in(rule=name, test_it=RULES[name].bad)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_ignores_its_own_good_example(name):
    assert findings_in(rule=name, test_it=RULES[name].good) == []


def findings_of_rule(rule: str, test_file: str, **others: str) -> list[LintFinding]:
    """The findings of one rule in a test file; `others` are further files of the project."""
    return findings_in(rule=rule, test_it=test_file, **others)


RANDOM = "unseeded-randomness"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (RANDOM, "import numpy as np\ndef test_it():\n    assert np.random.rand() < 1\n"),
        (
            RANDOM,
            "import numpy as np\ndef test_it():\n    rng = np.random.default_rng()\n    assert rng.normal() < 3\n",
        ),
        (RANDOM, "from random import choice\ndef test_it():\n    assert choice([1, 2]) == 1\n"),
        (RANDOM, "import torch\ndef test_it():\n    assert torch.randn(3).sum() < 9\n"),
        ("random-identifier", "import secrets\ndef test_it():\n    assert secrets.token_hex()[0] != '0'\n"),
        ("assigned-patch", "def test_it(cart):\n    type(cart).total = 3\n    assert cart.total == 3\n"),
        ("wall-clock", "from datetime import date\ndef test_it():\n    assert today() == date.today()\n"),
        ("wall-clock", "import time\ndef test_it():\n    assert time.strftime('%Y') == year()\n"),
        ("time-zone", "import time\ndef test_it():\n    assert time.localtime(0).tm_hour == 0\n"),
        ("measured-duration", "def test_it():\n    elapsed = run()\n    assert elapsed < 2\n"),
        ("sleep-as-synchronisation", "from time import sleep\ndef test_it():\n    sleep(1)\n"),
        ("wait-without-condition", "def test_it(event):\n    event.wait(2)\n    assert done()\n"),
        ("tight-timeout", "import asyncio\nasync def test_it():\n    await asyncio.wait_for(job(), 1)\n"),
        ("network-call", "import socket\ndef test_it():\n    socket.create_connection(('a.org', 80))\n"),
        ("network-call", "import requests\ndef test_it():\n    requests.Session().get('http://a')\n"),
        ("remote-service", "import boto3\ndef test_it():\n    boto3.client('s3').list_buckets()\n"),
        ("file-outside-tmp", "from pathlib import Path\ndef test_it():\n    Path('a.txt').write_text('a')\n"),
        ("file-outside-tmp", "import os\ndef test_it():\n    os.makedirs('out')\n"),
        ("temporary-name", "def test_it():\n    dump('/tmp/out.json')\n"),
        ("unordered-as-ordered", "def test_it():\n    assert ','.join({'a', 'b'}) == 'a,b'\n"),
        ("unordered-as-ordered", "def test_it():\n    names = set(f())\n    assert list(names)[0] == 'a'\n"),
        (
            "directory-order",
            "from pathlib import Path\ndef test_it(p):\n    assert list(Path(p).iterdir()) == [1]\n",
        ),
        (
            "directory-order",
            "import glob\ndef test_it():\n    files = glob.glob('*')\n    assert files == ['a']\n",
        ),
        ("identity-comparison", "def test_it():\n    assert repr(x) == '<X object at 0x7f>'\n"),
        ("environment-variable", "import os\ndef test_it():\n    os.environ.pop('A')\n"),
        ("environment-variable", "import os\ndef test_it():\n    del os.environ['A']\n"),
        ("interpreter-state", "import sys\ndef test_it():\n    sys.modules['a'] = None\n"),
        ("module-state", "N = 0\ndef test_it():\n    global N\n    N += 1\n"),
        ("class-state", "class TestIt:\n    n = 0\n    def test_it(self):\n        TestIt.n = 1\n"),
        ("order-marked", "import pytest\n@pytest.mark.order(1)\ndef test_it():\n    pass\n"),
        ("order-marked", "import pytest\n@pytest.mark.dependency(depends=['a'])\ndef test_it():\n    pass\n"),
        ("logging-configuration", "import logging\ndef test_it():\n    logging.getLogger('a').setLevel(10)\n"),
        ("host-fact", "import getpass\ndef test_it():\n    assert user() == getpass.getuser()\n"),
        ("platform-path", "def test_it():\n    assert load('/home/ann/data') == 1\n"),
    ],
)
def test_a_rule_finds_its_cause(rule, text):
    (finding, *_rest) = findings_of_rule(rule, text)

    assert finding.rule == RULES[rule].id
    assert finding.via == ()


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (RANDOM, "import random\ndef test_it():\n    random.seed(1)\n    assert random.random() < 1\n"),
        (RANDOM, "import numpy as np\ndef test_it():\n    assert np.random.RandomState(3).rand() < 1\n"),
        (RANDOM, "def test_it(random):\n    assert random.choice([1]) == 1\n"),
        (
            "unseeded-faker",
            "from faker import Faker\ndef test_it():\n    Faker.seed(1)\n    assert Faker().name()\n",
        ),
        ("wall-clock", "import time\ndef test_it(freezer):\n    assert time.time() == 0\n"),
        ("wall-clock", "import time\ndef test_it():\n    assert time.strftime('%Y', (1970,) * 9) == '1970'\n"),
        (
            "wall-clock",
            "import time\ndef test_it(monkeypatch):\n    monkeypatch.setattr('time.time', f)\n    time.time()\n",
        ),
        ("sleep-as-synchronisation", "import time\ndef test_it():\n    time.sleep(0)\n"),
        ("wait-without-condition", "def test_it(event):\n    assert event.wait(60)\n"),
        ("tight-timeout", "def test_it(future):\n    assert future.result() == 1\n"),
        ("network-call", "import requests\ndef test_it(requests_mock):\n    requests.get('http://a')\n"),
        ("network-call", "def test_it(client):\n    assert client.get('/').ok\n"),
        (
            "network-call",
            "from unittest.mock import patch\nimport requests\n"
            "@patch('requests.get')\ndef test_it(get):\n"
            "    requests.get('http://a')\n",
        ),
        ("outside-address", "def test_it():\n    fetch('http://localhost/a')\n    fetch('https://example.com')\n"),
        ("file-outside-tmp", "def test_it(tmpdir):\n    path = tmpdir.join('a')\n    open(path, 'w')\n"),
        ("file-outside-tmp", "def test_it():\n    open('a.txt')\n"),
        ("unordered-as-ordered", "def test_it():\n    assert len(list({1, 2})) == 2\n    assert set(a) == {1}\n"),
        (
            "directory-order",
            "import os\ndef test_it(p):\n    assert 'a' in os.listdir(p)\n    assert len(os.listdir(p)) == 1\n",
        ),
        ("directory-order", "import os\ndef test_it(p):\n    files = os.listdir(p)\n    files.sort()\n"),
        ("float-equality", "def test_it():\n    assert f() == 0.5\n    assert g() == 3\n"),
        ("float-equality", f"def test_it():\n    assert f() == 1 + {'9' * 400}\n    assert g() == -{'9' * 400}\n"),
        (
            "environment-variable",
            "import os\nfrom unittest import mock\ndef test_it():\n"
            "    with mock.patch.dict(os.environ):\n        os.environ['A'] = 'b'\n",
        ),
        ("module-state", "SEEN = []\ndef test_it():\n    SEEN = []\n    SEEN.append(1)\n"),
        ("order-marked", "def test_200_is_ok():\n    pass\n"),
        (
            "assigned-patch",
            "from unittest.mock import Mock\ndef test_it():\n    cart = Mock()\n    type(cart).total = 3\n",
        ),
        ("assigned-patch", "import flask\ndef test_it(app):\n    flask.g.user = 'me'\n"),
        (
            "class-state",
            "def test_it():\n    class Plugin:\n        def run(self):\n            type(self).ran = True\n",
        ),
        (
            "file-outside-tmp",
            "def test_it(runner):\n    def write(o):\n        open(o, 'w')\n    runner.invoke(write)\n",
        ),
        (
            "file-outside-tmp",
            "def test_it(modules_tmp_path):\n    app = modules_tmp_path / 'a'\n    app.mkdir()\n",
        ),
        (
            "file-outside-tmp",
            "def test_it(monkeypatch, tmp_path):\n    monkeypatch.chdir(tmp_path)\n    open('a', 'w')\n",
        ),
        (
            "file-outside-tmp",
            "import click\ndef test_it():\n    f = click.HelpFormatter()\n    f.write_text('a')\n",
        ),
        ("identity-comparison", "def test_it(out):\n    assert 'Broken object at 0x' in out\n"),
        ("identity-comparison", "def test_it(a, b):\n    old = hash(a)\n    assert old != hash(b)\n"),
        ("outside-address", "def test_it(client):\n    client.get('http://foo.bar/a')\n"),
        ("outside-address", "def test_it(host, port):\n    fetch(f'http://{host}:{port}/')\n"),
        ("platform-path", "def test_it():\n    assert split('C:\\\\Program Files') == 1\n"),
        ("wait-without-condition", "import threading\ndef test_it():\n    threading.Barrier(2).wait(5)\n"),
        (
            "interpreter-state",
            "import sys\ndef test_it(request):\n    sys.path.insert(0, 'a')\n    request.addfinalizer(reset)\n",
        ),
        (
            "assigned-patch",
            "import shop\ndef test_it():\n    old = shop.rate\n    shop.rate = 2\n    shop.rate = old\n",
        ),
        (
            "unjoined-thread",
            "import threading\ndef test_it():\n    t = threading.Thread(target=f)\n    t.start()\n    t.join()\n",
        ),
    ],
)
def test_a_rule_ignores_clean_code(rule, text):
    assert findings_of_rule(rule, text) == []


SHOP = "import random\n\n\ndef price():\n    return _drawn()\n\n\ndef _drawn():\n    return random.random()\n"
TEST = "from shop import price\n\n\ndef test_price():\n    assert price() < 1\n"


def test_a_finding_in_production_code_is_reported_where_it_can_be_mended():
    (finding,) = findings_in(rule=RANDOM, shop=SHOP, test_shop=TEST)

    assert (finding.path, finding.line) == ("shop.py", 9)
    assert (finding.call_path, finding.call_line) == ("test_shop.py", 5)
    assert finding.via == ("price", "_drawn")
    assert finding.weak == "several calls away from the test"


def test_a_finding_in_a_helper_is_reported_in_the_helper():
    text = (
        "import random\n\n\ndef dice():\n    return random.random()\n\n\ndef test_dice():\n    assert dice() < 1\n"
    )

    (finding,) = findings_in(rule=RANDOM, test_dice=text)

    assert (finding.line, finding.via) == (5, ("dice",))


def test_a_fixture_in_a_conftest_can_seed_the_generator():
    conftest = "import random, pytest\n\n\n@pytest.fixture(autouse=True)\ndef seeded():\n    random.seed(3)\n"

    assert findings_in(rule=RANDOM, shop=SHOP, test_shop=TEST, conftest=conftest) == []


def test_patched_functions_are_not_followed():
    text = (
        "from unittest.mock import patch\nfrom shop import price\n\n\n@patch('shop._drawn')\n"
        "def test_price(drawn):\n    price()\n"
    )

    assert findings_in(rule=RANDOM, shop=SHOP, test_shop=text) == []


def test_the_most_likely_cause_comes_first():
    text = "import os, requests\n\n\ndef test_it():\n    os.environ['A'] = 'b'\n    requests.get('http://a')\n"

    first, *_rest = findings_in(test_it=text)

    assert first.rule == "FH401"


def test_ids_and_names_are_unique_and_no_field_is_empty():
    rules = all_rules()

    assert len({rule.id for rule in rules}) == len({rule.name for rule in rules}) == len(rules)
    assert all(all((rule.title, rule.why, rule.fix, rule.bad, rule.good)) for rule in rules)


def test_a_fixture_that_restores_the_environment_is_ignored():
    text = (
        "import os, pytest\n\n\n@pytest.fixture\ndef env():\n    old = os.environ['A']\n"
        "    os.environ['A'] = 'b'\n"
        "    yield\n    os.environ['A'] = old\n\n\ndef test_it(env):\n    pass\n"
    )

    assert findings_in(rule="environment-variable", test_it=text) == []


def test_changes_by_an_autouse_fixture_in_a_conftest_are_ignored():
    conftest = "import os, pytest\n\n\n@pytest.fixture(autouse=True)\ndef env():\n    os.environ['A'] = 'b'\n"
    test = "def test_it():\n    pass\n"

    assert findings_of_rule("environment-variable", test, conftest=conftest) == []
    without_autouse = conftest.replace("(autouse=True)", "")
    assert findings_of_rule("environment-variable", "def test_it(env):\n    pass\n", conftest=without_autouse)


@pytest.mark.parametrize(
    "end",
    [
        "    def tearDown(self):\n        os.chdir(self.old)\n",
        "    def teardown_method(self):\n        os.chdir('/')\n",
    ],
)
def test_changes_that_the_tear_down_undoes_are_ignored(end):
    text = "import os\n\nclass TestIt:\n    def test_it(self):\n        os.chdir('a')\n\n"

    assert findings_of_rule("working-directory", text)
    assert findings_of_rule("working-directory", text + end) == []


def test_changes_that_a_finally_block_undoes_are_ignored():
    text = (
        "import os\n\ndef test_it():\n    os.environ['A'] = 'b'\n    try:\n        run()\n"
        "    finally:\n        del os.environ['A']\n"
    )

    assert findings_of_rule("environment-variable", text) == []


def test_harmless_environment_variables_are_ignored():
    assert (
        findings_of_rule(
            "environment-variable", "import os\ndef test_it():\n    os.environ['MPLBACKEND'] = 'agg'\n"
        )
        == []
    )


def test_network_calls_are_found_deeper_than_other_causes():
    shop = (
        "import requests, time\n\ndef a():\n    b()\n\ndef b():\n    c()\n\n"
        "def c():\n    time.time()\n    requests.get('x')\n"
    )

    findings = findings_in(shop=shop, test_shop="from shop import a\n\ndef test_a():\n    a()\n")

    assert [finding.rule for finding in findings] == ["FH401"]
