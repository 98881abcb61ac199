"""Suites whose runs all bind the same port or socket, so that parallel runs would disturb each other."""

from __future__ import annotations

import socket

import pytest
from engine_samples import HASH_SEED

from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

SUITE = """
    import os, socket
    def test_it(tmp_path):
        {body}
    """
BINDS = {
    "a port": "socket.socket().bind(('127.0.0.1', {port}))",
    "a port for datagrams": "socket.socket(type=socket.SOCK_DGRAM).bind(('127.0.0.1', {port}))",
    "a port in a child": "pid = os.fork()\n"
    "        if not pid: socket.socket().bind(('127.0.0.1', {port})); os._exit(0)\n"
    "        os.waitpid(pid, 0)",
}
FREE = {
    "any port": "socket.socket().bind(('127.0.0.1', 0))",
    "a port that was found free": "found = socket.socket(); found.bind(('127.0.0.1', 0))\n"
    "        port = found.getsockname()[1]; found.close(); socket.socket().bind(('127.0.0.1', port))",
    "a socket in a folder of its own": "socket.socket(socket.AF_UNIX).bind(str(tmp_path / 's'))",
    "any socket": "socket.socket(socket.AF_UNIX).bind('')",
}


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("flakehound.engine.suite.parallelism.usable_cores", lambda: 2)


def opened(sample, jobs=None):
    suite = open_suite(sample.target, jobs=jobs, isolation=None, hash_seed=HASH_SEED, limits=Limits())
    suite.close()
    return suite


@pytest.mark.parametrize("what", BINDS)
def test_runs_that_bind_the_same_port_go_one_at_a_time(open_sample, port, what):
    suite = opened(open_sample({"test_it.py": SUITE.format(body=BINDS[what].format(port=port))}))

    assert suite.pool.jobs == 1
    assert suite.notes == [
        f"every run binds the same addresses (port {port}): runs go one at a time; --jobs N allows more"
    ]


def test_runs_that_bind_the_same_name_go_one_at_a_time(open_sample, port):
    suite = opened(
        open_sample({"test_it.py": SUITE.format(body=rf"socket.socket(socket.AF_UNIX).bind('\0name{port}')")})
    )

    assert suite.pool.jobs == 1
    assert f"'name{port}'" in suite.notes[0]


def test_runs_that_bind_the_same_file_go_one_at_a_time(open_sample, tmp_path_factory):
    file = tmp_path_factory.mktemp("f") / "s"
    suite = opened(
        open_sample({"test_it.py": SUITE.format(body=f"socket.socket(socket.AF_UNIX).bind({str(file)!r})")})
    )

    assert suite.pool.jobs == 1
    assert str(file) in suite.notes[0]


@pytest.mark.parametrize("what", FREE)
def test_runs_that_bind_free_ports_go_in_parallel(open_sample, what):
    suite = opened(open_sample({"test_it.py": SUITE.format(body=FREE[what])}))

    assert suite.pool.jobs >= 2
    assert not any("addresses" in note for note in suite.notes)


def test_the_number_of_jobs_that_the_user_gives_overrules_bound_addresses(open_sample, port):
    suite = opened(open_sample({"test_it.py": SUITE.format(body=BINDS["a port"].format(port=port))}), jobs=2)

    assert suite.pool.jobs == 2
    assert suite.notes == []
