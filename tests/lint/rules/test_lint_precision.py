"""Code that looks like a cause of flakiness and is none, and code of which little follows."""

from __future__ import annotations

import pytest
from test_lint_rules import findings_in

NO_CAUSE = {
    "a letter is no number": (
        "order-marked",
        "def test_a_commit(): pass\ndef test_b_commit(): pass\n",
    ),
    "a version is no place in the order": (
        "order-marked",
        "def test_310_union(): pass\ndef test_311_groups(): pass\n",
    ),
    "a task group waits for its tasks": (
        "abandoned-task",
        "import asyncio\nasync def test_it():\n    async with asyncio.TaskGroup() as tasks:\n"
        "        tasks.create_task(work())\n    assert done\n",
    ),
    "a nursery waits for its tasks": (
        "abandoned-task",
        "import trio\nasync def test_it(runner):\n    runner.start_soon(work)\n    assert done\n",
    ),
    "an application answers in the process": (
        "network-call",
        "import httpx\ndef test_it(app):\n    client = httpx.Client(transport=httpx.WSGITransport(app=app))\n"
        "    assert client.get('https://shop.org/').text\n",
    ),
    "a test client answers in the process": (
        "network-call",
        "import requests\nfrom starlette.testclient import TestClient\ndef test_it(app):\n"
        "    assert TestClient(app).get('/').text == requests.get('https://shop.org').text\n",
    ),
    "a path of a URL is no path of a machine": (
        "platform-path",
        "def test_it(client):\n    assert client.get('/home/me').status_code == 200\n",
    ),
    "insert() of a table makes a statement": (
        "module-state",
        "from sqlalchemy import Table\nCARTS = Table('carts')\n\ndef test_it(db):\n"
        "    assert db.execute(CARTS.insert()).rowcount == 1\n",
    ),
    "an object that adds is no container": (
        "module-state",
        "from shop import Cart\nCART = Cart()\n\ndef test_it():\n    CART.add(1)\n",
    ),
    "a context manager goes back": (
        "working-directory",
        "import contextlib, os\n\n@contextlib.contextmanager\ndef inside(path):\n    old = os.path.abspath('.')\n"
        "    os.chdir(path)\n    try:\n        yield\n    finally:\n        os.chdir(old)\n\n"
        "def test_it(tmp_path):\n    with inside(tmp_path):\n        assert here()\n",
    ),
    "a class that enters also leaves": (
        "environment-variable",
        "import os\nclass Debug:\n    def __enter__(self):\n        os.environ['DEBUG'] = '1'\n"
        "    def __exit__(self, *error):\n        self.undo()\n\n"
        "def test_it():\n    with Debug():\n        assert x\n",
    ),
    "a fixture puts all variables back": (
        "environment-variable",
        "import os, pytest\n\n@pytest.fixture\ndef variables():\n    old = os.environ.copy()\n    yield\n"
        "    os.environ.clear()\n    os.environ.update(old)\n\n"
        "def test_it(variables):\n    os.environ['A'] = 'b'\n",
    ),
    "pytest restores the filters of warnings": (
        "global-registry",
        "import warnings\ndef test_it():\n    warnings.simplefilter('error')\n    assert work()\n",
    ),
    "joblib's marks remember nothing": (
        "cached-result",
        "from joblib.testing import parametrize\n\n@parametrize('a', [1])\ndef test_it(a):\n    assert a\n",
    ),
    "a settings object can make examples the same": (
        "generated-examples",
        "from hypothesis import given, settings, strategies as st\nSAME = settings(derandomize=True)\n\n@SAME\n"
        "@given(st.text())\ndef test_it(text):\n    assert text == text\n",
    ),
    "a port of a lookup is not bound": (
        "fixed-port",
        "def test_it(cluster):\n    assert cluster.get_node(host='a', port=7001)\n",
    ),
    "a slash joins paths": (
        "float-equality",
        "def test_it(project):\n    assert project.source == project.folder / 'src'\n",
    ),
    "an exception of a client asks nobody": (
        "remote-service",
        "import elasticsearch\ndef test_it():\n    assert str(elasticsearch.exceptions.ConflictError('a'))\n",
    ),
    "a handler that is put back": (
        "global-registry",
        "import signal, pytest\n\n@pytest.fixture\ndef handler():\n    old = signal.getsignal(15)\n    yield\n"
        "    signal.signal(15, old)\n\ndef test_it(handler):\n    assert handler\n",
    ),
    "a fixture chose the folder": (
        "file-outside-tmp",
        "import os, pytest\n\n@pytest.fixture\ndef folder(tmp_path):\n    os.chdir(tmp_path)\n\n"
        "def test_it(folder):\n    with open('out.txt', 'w') as out:\n        out.write('a')\n",
    ),
    "an option of a query is no limit": (
        "tight-timeout",
        "from shop import Query\ndef test_it(db):\n    assert db.ask(Query('a').timeout(1))\n",
    ),
    "a profile may have no deadline": (
        "generated-examples",
        "from hypothesis import given, settings, strategies as st\ndef pytest_configure():\n"
        "    settings.load_profile('slow')\n\n@given(st.text())\ndef test_it(text):\n    assert text == text\n",
    ),
    "variables that come back from a copy": (
        "environment-variable",
        "import os\ndef test_it():\n    old = dict(os.environ)\n    work()\n    os.environ.clear()\n"
        "    os.environ.update(old)\n",
    ),
    "a context manager with a copy of the variables": (
        "environment-variable",
        "import os, contextlib\n\n@contextlib.contextmanager\ndef variable(name):\n    old = dict(os.environ)\n"
        "    os.environ[name] = '1'\n    yield\n    os.environ.clear()\n    os.environ.update(old)\n\n"
        "def test_it():\n    with variable('A'):\n        work()\n",
    ),
    "a logger that is put back": (
        "logging-configuration",
        "import logging\ndef test_it():\n    logger = logging.getLogger('shop')\n    logger.propagate = False\n"
        "    work()\n    logger.propagate = True\n",
    ),
    "a filter that is removed": (
        "logging-configuration",
        "import logging\ndef test_it(rule):\n    logging.getLogger('shop').addFilter(rule)\n    work()\n"
        "    logging.getLogger('shop').removeFilter(rule)\n",
    ),
    "a lookup with a default is no wait": (
        "tight-timeout",
        "def test_it(client):\n    assert client.get('https://a', timeout=1)\n",
    ),
}


@pytest.mark.parametrize(("rule", "text"), NO_CAUSE.values(), ids=NO_CAUSE)
def test_no_cause_is_found(rule, text):
    assert findings_in(rule=rule, test_it=text) == []


WEAK = {
    "an identifier that nothing compares": (
        "random-identifier",
        "import uuid\ndef test_it(shop):\n    cart = shop.cart(uuid.uuid4())\n    assert cart.total == 0\n",
    ),
    "a moment that nothing compares": (
        "wall-clock",
        "import time\ndef test_it(shop):\n    shop.open(at=time.time())\n    assert shop.is_open\n",
    ),
    "a loop that polls": (
        "sleep-as-synchronisation",
        "import time\ndef test_it(worker):\n    while not worker.done:\n        time.sleep(0.1)\n"
        "    assert worker\n",
    ),
    "the work of an inner function": (
        "sleep-as-synchronisation",
        "import time\ndef test_it(pool):\n    def work():\n        time.sleep(0.1)\n    assert pool.run(work)\n",
    ),
    "a pause that a limit ends": (
        "wait-without-condition",
        "import anyio\nasync def test_it():\n    with anyio.move_on_after(0.1) as scope:\n"
        "        await anyio.sleep(5)\n    assert scope.cancelled_caught\n",
    ),
    "a pause before nothing": (
        "sleep-as-synchronisation",
        "import time\ndef test_it(worker):\n    assert worker.start()\n    time.sleep(0.1)\n",
    ),
    "a wait that is expected to give up": (
        "tight-timeout",
        "def test_it(event):\n    assert not event.wait(timeout=0.1)\n",
    ),
    "a pool that is closed before the check": (
        "parallel-workers",
        "from concurrent.futures import ThreadPoolExecutor\ndef test_it():\n"
        "    with ThreadPoolExecutor() as pool:\n        pool.map(work, [1])\n    assert done\n",
    ),
    "a number that is stored": (
        "float-equality",
        "def test_it(options):\n    assert options.timeout == 0.1\n",
    ),
    "a server of the test": (
        "network-call",
        "import requests\ndef test_it(server):\n    assert requests.get(server.url).ok\n",
    ),
    "a client without a request": (
        "network-call",
        "import requests\ndef test_it():\n    assert requests.Session().headers\n",
    ),
    "an address that is parsed": (
        "outside-address",
        "from shop import Link\ndef test_it():\n    assert Link('https://news.org/a').path == '/a'\n",
    ),
    "a path that a fixture makes": (
        "file-outside-tmp",
        "def test_it(project):\n    (project.folder / 'a').write_text('b')\n    assert project.files\n",
    ),
    "a path that is made of itself": (
        "file-outside-tmp",
        "def test_it(folder):\n    path = folder / 'a'\n    path = str(path)\n    with open(path, 'w') as out:\n"
        "        out.write('b')\n",
    ),
    "a client that asks nothing": (
        "remote-service",
        "import redis\ndef test_it():\n    assert redis.Redis().connection_pool\n",
    ),
    "a client with mocks": (
        "remote-service",
        "import redis\nfrom unittest.mock import MagicMock\n\nCLIENT = redis.Redis()\ndef test_it():\n"
        "    CLIENT.send = MagicMock()\n    assert CLIENT.ping()\n",
    ),
    "a program that is this Python": (
        "child-process",
        "import subprocess, sys\ndef test_it():\n    assert subprocess.check_output([sys.executable, '-V'])\n",
    ),
    "a weak reference that is a key": (
        "garbage-collection",
        "import weakref\ndef test_it(cart, cache):\n    ref = weakref.ref(cart)\n    assert ref in cache\n",
    ),
    "a socket that another object gets": (
        "leaked-handle",
        "import socket\ndef test_it(server):\n    sock = socket.socket()\n    assert server.run(sock)\n",
    ),
    "a moment that the code under test gets": (
        "wall-clock",
        "import time\ndef test_it(shop):\n    now = time.time()\n    assert shop.cart(at=now).made_at == now\n",
    ),
    "a class that each test prepares": (
        "class-state",
        "class TestCart:\n    @classmethod\n    def make(cls):\n        cls.cart = 1\n"
        "    def test_it(self):\n        self.make()\n        assert self.cart\n",
    ),
    "a logger of the test": (
        "logging-configuration",
        "import logging\ndef test_it():\n    logging.getLogger('test.cart').setLevel('INFO')\n    assert work()\n",
    ),
    "examples that a decorator of the project may fix": (
        "generated-examples",
        "from hypothesis import given, strategies as st\nfrom shop import SETTINGS\n\n@given(st.text())\n"
        "@SETTINGS\ndef test_it(text):\n    assert text == text\n",
    ),
    "a pool of one worker": (
        "parallel-workers",
        "from concurrent.futures import ThreadPoolExecutor\ndef test_it(lock):\n"
        "    assert lock(executor=ThreadPoolExecutor(max_workers=1))\n",
    ),
    "a part of a client": (
        "remote-service",
        "import redis\ndef test_it():\n    assert redis.Redis().names.get('a')\n",
    ),
    "a moment that another function changes": (
        "wall-clock",
        "import time\ndef test_it(shop):\n    cart = shop.cart(time.time())\n    assert cart.owner == 1\n",
    ),
    "a socket that is returned": (
        "leaked-handle",
        "import socket\n\ndef free():\n    sock = socket.socket()\n    return sock\n\n"
        "def test_it():\n    assert free()\n",
    ),
    "a thread that a finalizer joins": (
        "unjoined-thread",
        "import threading\ndef test_it(request):\n    thread = threading.Thread(target=work)\n"
        "    request.addfinalizer(thread.join)\n    assert thread\n",
    ),
    "a request that is expected to fail": (
        "outside-address",
        "import pytest\ndef test_it(shop):\n    with pytest.raises(ValueError):\n"
        "        shop.fetch('https://news.org/a')\n",
    ),
    "a file that is put back": (
        "file-outside-tmp",
        "def test_it():\n    try:\n        work()\n    finally:\n        open('state.txt', 'w').close()\n",
    ),
    "a folder with one entry": (
        "directory-order",
        "import os\ndef test_it(folder):\n    assert os.listdir(folder) == ['a']\n",
    ),
    "a counter of objects": (
        "class-state",
        "class TestCart:\n    made = 0\n    def test_it(self):\n        TestCart.made += 1\n",
    ),
    "a registry that may be the test's": (
        "global-registry",
        "from shop import plugins\ndef test_it():\n    plugins.register('a')\n    assert plugins.names\n",
    ),
    "collecting without looking": (
        "garbage-collection",
        "import gc\ndef test_it(cart):\n    gc.collect()\n    assert cart\n",
    ),
}


@pytest.mark.parametrize(("rule", "text"), WEAK.values(), ids=WEAK)
def test_little_follows_from_it(rule, text):
    (finding,) = findings_in(rule=rule, test_it=text)

    assert finding.weak


STRONG = {
    "identifiers in an order": (
        "random-identifier",
        "import uuid\ndef test_it():\n    assert sorted([uuid.uuid4(), uuid.uuid4()])\n",
    ),
    "two moments that must be equal": (
        "wall-clock",
        "import time\ndef test_it():\n    now = int(time.time())\n    assert stamp() == now\n",
    ),
    "a pause before a check": (
        "sleep-as-synchronisation",
        "import time\ndef test_it(worker):\n    worker.start()\n    time.sleep(0.1)\n    assert worker.done\n",
    ),
    "a pause in a fixture": (
        "sleep-as-synchronisation",
        "import time, pytest\n\n@pytest.fixture\ndef server():\n    time.sleep(0.1)\n\n"
        "def test_it(server):\n    assert server\n",
    ),
    "an address on the internet": (
        "network-call",
        "import requests\ndef test_it():\n    assert requests.get('https://news.org/').ok\n",
    ),
    "a computed number": (
        "float-equality",
        "def test_it():\n    assert sum([0.1, 0.2]) == 0.3\n",
    ),
    "a file below the current folder": (
        "file-outside-tmp",
        "def test_it():\n    with open('out.txt', 'w') as out:\n        out.write('a')\n",
    ),
    "entries in an order": (
        "directory-order",
        "import os\ndef test_it(folder):\n    names = os.listdir(folder)\n    assert names == ['a', 'b']\n",
    ),
    "tests with numbers": (
        "order-marked",
        "def test_1_login(): pass\n",
    ),
}


@pytest.mark.parametrize(("rule", "text"), STRONG.values(), ids=STRONG)
def test_it_is_shown_by_default(rule, text):
    others = "def test_2_logout(): pass\n" if rule == "order-marked" else ""

    found = findings_in(rule=rule, test_it=text + others)

    assert found
    assert not found[0].weak
