"""What two runs cannot share: native threads, connections, names of containers and databases made at import."""

from __future__ import annotations

import socket

import pytest
from engine_samples import Sample

TEST = "def test_it(): pass\n"
# As polars names them; a thread of C code, because a thread of Python is a reason of its own.
NATIVE_THREAD = """
    import ctypes, sys, types, time
    sys.modules["polars"] = types.ModuleType("polars")
    libc = ctypes.CDLL(None, use_errno=True)
    thread = ctypes.c_ulong()
    start = ctypes.cast(libc.pause, ctypes.c_void_p)
    assert not libc.pthread_create(ctypes.byref(thread), None, start, None)
    assert not libc.pthread_setname_np(thread, b"polars-0")
    """
TESTCONTAINERS = {
    "testcontainers/__init__.py": "",
    "testcontainers/core/__init__.py": "",
    "testcontainers/core/labels.py": "from uuid import uuid4\nSESSION_ID = str(uuid4())\n",
    "testcontainers/core/container.py": "from testcontainers.core.labels import SESSION_ID\n",
    "conftest.py": "import testcontainers.core.container\n",
    "test_it.py": """
        from testcontainers.core import container, labels
        def test_ids():
            assert container.SESSION_ID == labels.SESSION_ID
            with open("seen", "a") as file:
                file.write(labels.SESSION_ID + "\\n")
        """,
}
DJANGO = {
    "pytest_django.py": "",
    "conftest.py": "import pytest_django\n",
    "test_it.py": """
        import os
        def test_suffix():
            with open("seen", "a") as file:
                file.write(os.environ.get("TOX_PARALLEL_ENV", "none") + "\\n")
        """,
}


def test_native_threads_of_a_library_that_needs_them_are_a_reason_against_forks(open_sample):
    sample = open_sample({"conftest.py": NATIVE_THREAD, "test_it.py": TEST})

    assert sample.handshake.against_forking == ("polars has started native threads, which a fork does not have",)


def test_the_peer_of_a_connection_is_named(open_sample):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"import socket\nconnection = socket.create_connection(('127.0.0.1', {port}))\n"
        sample = open_sample({"conftest.py": connect, "test_it.py": TEST})

        (reason,) = sample.handshake.against_forking

    assert reason.endswith(f"connected to 127.0.0.1:{port}")
    assert reason.startswith("handles are open after collection: socket:")


def seen_by(sample: Sample, test: str) -> list[str]:
    sample.fork(test)
    sample.fork(test)
    sample.fork_tree([], [[test], [test]])
    return (sample.root / "seen").read_text().split()


def test_each_run_has_its_own_session_of_testcontainers(open_sample):
    seen = seen_by(open_sample(TESTCONTAINERS), "test_it.py::test_ids")

    assert len(seen) == 4
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    ("given", "expected"), [({}, "flakehound0"), ({"TOX_PARALLEL_ENV": "py"}, "py_flakehound0")]
)
def test_the_databases_of_pytest_django_are_those_of_the_slot(open_sample, given, expected):
    sample = open_sample(DJANGO, env=given)

    assert set(seen_by(sample, "test_it.py::test_suffix")) == {expected}


def test_two_slots_have_different_databases_and_a_new_interpreter_has_the_usual_ones(open_sample):
    sample = open_sample(DJANGO, slots=2)
    for slot in (0, 1):
        sample.fork("test_it.py::test_suffix", slot=slot)
    sample.spawn()

    assert (sample.root / "seen").read_text().split() == ["flakehound0", "flakehound1", "none"]
