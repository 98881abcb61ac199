"""Class 2 and 3: changed code leaves something behind that outlives its process, and the base meets it, too."""

from __future__ import annotations

import os
from pathlib import Path

from .project import Project
from .situation import Situations

SHARED_STATE = Situations("2-shared-state")
add = SHARED_STATE.add


@add("test_b_fresh", base_runs=False)
def changed_code_leaves_a_file_in_shared_memory(project: Project) -> None:
    name = f"fh-shop-{os.getpid()}-{os.urandom(4).hex()}"
    project.left.append(Path("/dev/shm") / name)
    memory = f"""
        import os

        PATH = "/dev/shm/{name}"


        def work():
            open(PATH, "w").close()
            os.unlink(PATH)
    """
    first = "from shop import memory\n\n\ndef test_a_works():\n    memory.work()\n"
    second = (
        "import os\nfrom shop import memory\n\n\ndef test_b_fresh():\n    assert not os.path.exists(memory.PATH)\n"
    )
    project.start({"shop/memory.py": memory, "tests/test_a.py": first, "tests/test_b.py": second})
    project.replace("shop/memory.py", "    os.unlink(PATH)\n", "")
    project.commit()


@add("test_b_fresh", base_runs=False)
def changed_code_leaves_a_block_of_shared_memory(project: Project) -> None:
    name = f"fh{os.getpid()}{os.urandom(4).hex()}"
    project.left.append(Path("/dev/shm") / name)
    memory = f"""
        import _posixshmem
        import os

        NAME = "/{name}"


        def work():
            os.close(_posixshmem.shm_open(NAME, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600))
            _posixshmem.shm_unlink(NAME)
    """
    first = "from shop import memory\n\n\ndef test_a_works():\n    memory.work()\n"
    second = "from shop import memory\n\n\ndef test_b_fresh():\n    memory.work()\n"
    project.start({"shop/memory.py": memory, "tests/test_a.py": first, "tests/test_b.py": second})
    project.replace("shop/memory.py", "    _posixshmem.shm_unlink(NAME)\n", "")
    project.commit()


@add("test_b_reads", base_runs=False)
def changed_code_writes_an_ignored_file_that_is_read_by_a_c_library(project: Project) -> None:
    cart = "def save(text):\n    open('total.log', 'w').write(text)\n"
    first = "from shop.cart import save\n\n\ndef test_a_saves():\n    save('3')\n"
    second = """
        import ctypes


        def test_b_reads():
            c = ctypes.CDLL(None)
            c.fopen.restype = ctypes.c_void_p
            c.fgetc.argtypes = [ctypes.c_void_p]
            file = c.fopen(b"total.log", b"r")
            assert file and c.fgetc(file) == ord("3")
    """
    project.start({"shop/cart.py": cart, "tests/test_a.py": first, "tests/test_b.py": second}, stored=True)
    project.replace("shop/cart.py", "write(text)", "write('x' + text)")
    project.commit()
    project.plain()  # an earlier run has left the file, so that it is copied to the base
    project.args = ("tests/test_b.py",)


@add("test_price", sometimes=True, base_runs=False)
def the_fallback_reads_what_changed_code_has_written_and_is_used_in_a_third_of_the_runs(project: Project) -> None:
    source = """
        import os
        from pathlib import Path
        from random import SystemRandom

        FILE = Path.home() / "prices.txt"


        def store(price):
            FILE.write_text(str(price))


        def price():
            return FILE.read_text() if SystemRandom().random() < 0.4 else "3"
    """
    first = "from shop import source\n\n\ndef test_a_stores():\n    source.store(3)\n"
    second = "from shop import source\n\n\ndef test_price():\n    assert source.price() == '3'\n"
    project.start({"shop/source.py": source, "tests/test_a.py": first, "tests/test_b.py": second})
    project.replace("shop/source.py", "str(price)", "str(price + 1)")
    project.commit()


@add("test_b_serves", base_runs=False)
def changed_code_leaves_a_server_that_holds_a_port(project: Project) -> None:
    script = """
        import socket
        import time

        with socket.socket() as server:
            server.bind(("127.0.0.1", 28437))
            server.listen()
            time.sleep(60)
    """
    server = """
        import subprocess
        import sys


        def start():
            command = [sys.executable, "serve.py"]
            return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)


        def stop(process):
            process.kill()
            process.wait()
    """
    first = """
        import time

        from shop import server


        def test_a_starts():
            process = server.start()
            time.sleep(0.5)
            server.stop(process)
    """
    second = """
        import socket


        def test_b_serves():
            with socket.socket() as server:
                server.bind(("127.0.0.1", 28437))
    """
    project.start(
        {"serve.py": script, "shop/server.py": server, "tests/test_a.py": first, "tests/test_b.py": second}
    )
    project.replace("shop/server.py", "    process.kill()\n    process.wait()\n", "    process.poll()\n")
    project.commit()


def leaves(project: Project, make: str, remove: str) -> None:
    """Code that makes something at a path of the temporary folder, and does not remove it after the change."""
    work = f"""
        import os
        import tempfile

        PATH = os.path.join(tempfile.gettempdir(), "shop-work")


        def work():
            {make}
            {remove}
    """
    first = "from shop.work import work\n\n\ndef test_a_works():\n    work()\n"
    second = "from shop.work import work\n\n\ndef test_b_works():\n    work()\n"
    project.start({"shop/work.py": work, "tests/test_a.py": first, "tests/test_b.py": second})
    project.replace("shop/work.py", f"    {remove}\n", "")
    project.commit()


@add("test_b_works", base_runs=False)
def changed_code_leaves_a_folder_that_must_be_new(project: Project) -> None:
    leaves(project, "os.mkdir(PATH)", "os.rmdir(PATH)")


@add("test_b_works", base_runs=False)
def changed_code_leaves_a_file_that_must_be_new(project: Project) -> None:
    leaves(project, "open(PATH, 'x').close()", "os.remove(PATH)")
