"""Tests that do the worst a test can do to the process that runs it."""

DYING = {
    "test_dying.py": """
        import ctypes, os, signal, sys, threading, time
        import pytest

        def test_before(): pass
        def test_after(): pass

        def test_hangs():
            while True: time.sleep(1)
        def test_hangs_in_a_loop():
            while True: pass
        def test_hangs_and_ignores_signals():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                signal.signal(number, signal.SIG_IGN)
            while True: time.sleep(1)
        def test_hangs_with_signals_blocked():
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
            while True: time.sleep(1)
        def test_segfaults(): ctypes.string_at(0)
        def test_leaves_with_3(): os._exit(3)
        def test_leaves_with_0(): os._exit(0)
        def test_aborts(): os.abort()
        def test_kills_itself(): os.kill(os.getpid(), signal.SIGKILL)
        def test_terminates_itself(): os.kill(os.getpid(), signal.SIGTERM)
        def test_kills_its_group(): os.killpg(os.getpgrp(), signal.SIGKILL)
        def test_kills_its_parent():
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        def test_exits_python(): sys.exit(5)
        def test_exits_pytest(): pytest.exit("enough of this")
        def test_interrupts(): raise KeyboardInterrupt("stop it")
        def test_interrupts_itself():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        def test_raises_the_base_of_all(): raise BaseException("the base")
        def test_recurses():
            def again(): return again()
            again()
        def test_recurses_in_repr():
            class Odd:
                def __repr__(self): return repr(self)
            assert Odd() == 1
        def test_raises_what_cannot_be_shown():
            class Odd(Exception):
                def __str__(self): raise ValueError("no words")
                __repr__ = __str__
            raise Odd
        def test_raises_surrogates(): raise ValueError("\\udcff \\x00 \\u2028 line")
        """,
}

MEDDLING = {
    "test_meddling.py": """
        import builtins, ctypes, io, json, os, signal, shutil, subprocess, sys, tempfile, threading, time
        from unittest import mock
        import pytest

        def test_before(): pass
        def test_after(): pass
        def test_fails(): assert 1 == 2

        def note(pid):
            with open("pids", "a") as pids:
                pids.write("%d\\n" % pid)
        def test_leaves_a_child():
            pid = os.fork()
            if pid == 0:
                time.sleep(600)
            note(pid)
        def test_leaves_a_daemon():
            pid = os.fork()
            if pid == 0:
                os.setsid()
                grandchild = os.fork()
                if grandchild == 0:
                    time.sleep(600)
                note(grandchild)
                os._exit(0)
            os.waitpid(pid, 0)
        def test_leaves_a_stopped_daemon():
            pid = os.fork()
            if pid == 0:
                os.setsid()
                signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
                os.kill(os.getpid(), signal.SIGSTOP)
                time.sleep(600)
            note(pid)
        def test_leaves_a_program():
            note(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
        def test_leaves_a_daemon_and_kills_its_parent():
            pid = os.fork()
            if pid == 0:
                os.setsid()
                time.sleep(600)
            note(pid)
            note(os.getpid())
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(600)
        def test_leaves_a_daemon_and_dies():
            test_leaves_a_daemon()
            os._exit(9)
        def test_child_returns():
            with open("returned", "a") as file:
                file.write("x")
                file.flush()
            os.fork()
        def test_child_fails():
            if os.fork() == 0:
                assert False
            os.wait()
        def test_is_counted():
            with open("counted", "a") as file:
                file.write("x")
        def test_leaves_a_thread():
            def forever():
                while True:
                    print("still here")
                    time.sleep(0.01)
            threading.Thread(target=forever).start()
        def test_closes_files(): os.closerange(3, 4096)
        def test_closes_everything(): os.closerange(0, 4096)
        def test_closes_standard_files():
            for number in range(3): os.close(number)
        def test_reuses_numbers():
            os.closerange(3, 256)
            path = os.path.join(tempfile.gettempdir(), "own")
            global own
            own = [os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(40)]
        def test_own_files_stay_clean():
            assert all(os.fstat(number).st_size == 0 for number in own)
        @pytest.mark.parametrize("name", [
            "builtins.open", "os.open", "os.write", "os.read", "os.close", "os.fstat", "os.getpid", "os.fork",
            "os.wait4", "os.kill", "os._exit", "json.dumps", "json.loads", "time.time", "time.perf_counter",
            "time.monotonic", "time.sleep", "signal.signal", "random.seed", "random.setstate",
        ])
        def test_leaves_a_mock(name):
            mock.patch(name).start()
        def test_freezes_every_clock():
            clocks = {time.time, time.perf_counter, time.monotonic, time.sleep, time.process_time}
            for module in list(sys.modules.values()):
                for name, value in list(vars(module).items()):
                    try:
                        if value in clocks: setattr(module, name, lambda *_: 0.0)
                    except (TypeError, ValueError):  # it has no hash
                        continue
        def test_replaces_stdout():
            sys.stdout = io.StringIO()
            sys.stderr = None
        def test_closes_stdout():
            sys.stdout.close()
        def test_moves_away():
            os.chdir(tempfile.gettempdir())
        def test_removes_its_folder():
            folder = tempfile.mkdtemp()
            os.chdir(folder)
            os.rmdir(folder)
        def test_removes_the_temporary_folder():
            shutil.rmtree(tempfile.gettempdir())
        def test_removes_the_folder_above():
            shutil.rmtree(os.path.dirname(tempfile.gettempdir()))
        def test_sets_signal_handlers():
            for number in set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
                signal.signal(number, lambda *_: None)
        def test_ignores_every_signal():
            for number in set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
                signal.signal(number, signal.SIG_IGN)
        def test_terminates_its_parent():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                os.kill(os.getppid(), number)
        def test_limits_file_size():
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        def test_limits_file_size_for_good():
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        def test_limits_files():
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        def test_prints_and_leaves():
            print("left behind", flush=True)
            os._exit(0)
        def test_removes_the_output():
            for number in range(64):
                try: path = os.readlink("/proc/self/fd/%d" % number)
                except OSError: continue
                if path.endswith(".output"): os.unlink(path)
        def test_cries_and_dies(capfd):
            with capfd.disabled():
                os.write(2, b"last words")
                os._exit(3)
        def test_clears_the_environment():
            os.environ.clear()
        def test_breaks_the_encoder():
            json.JSONEncoder.encode = json.JSONEncoder.default = None
        def test_writes_to_every_descriptor():
            for number in range(3, 64):
                try: os.write(number, b"e 0 F garbage\\nf 0 {nonsense\\nb 7 x\\nB x\\ns a b\\ne 99 P 1\\n")
                except OSError: pass
        """,
}

FLOOD = {
    "test_flood.py": """
        import os, sys
        def test_before(): pass
        def test_prints():
            for _ in range(200):
                sys.stdout.write("x" * 1_000_000)
        def test_writes():
            for _ in range(200):
                os.write(1, b"x" * 1_000_000)
        def test_prints_and_fails():
            sys.stdout.write("x" * 20_000_000)
            assert False
        def test_prints_and_dies():
            sys.stdout.write("x" * 20_000_000)
            sys.stdout.flush()
            os._exit(3)
        def test_after(): pass
        """,
}

GREEDY = {
    "test_greedy.py": """
        import pytest
        kept = []
        def test_before(): pass
        def test_takes_all():
            while True:
                kept.append(bytearray(10_000_000))
        def test_takes_all_in_small_pieces():
            while True:
                kept.append([0] * 1000)
        def test_takes_all_and_gives_it_back():
            mine = []
            while True:
                mine.append(bytearray(10_000_000))
        def test_after(): pass
        """,
}
