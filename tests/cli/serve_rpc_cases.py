"""The command serve: clients of TVM's RPC, each in a process of its own."""

import ctypes
import fcntl
import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import rpc_client
from case import FAILED, HAS_ASAN, HAS_TSAN, OPDYNO, USAGE, WORK, run
from rpc_client import Client, Refused, RemoteError, Tracker, argument, string
from rpc_server import ServerCliTest

CRASH = """
#include "kernels.c"
KERNEL(crashes) { UNUSED; *(volatile int *)8 = 1; return 0; }
KERNEL(never_ends) { UNUSED; for (volatile int go = 1; go;) {} return 0; }
"""


class ServeRpc(ServerCliTest):
    def test_its_folders_are_for_its_user_only(self):
        temporary = WORK / "folders"
        temporary.mkdir()
        self.serve(env=dict(os.environ, TMPDIR=str(temporary)))
        self.assertEqual([0o700], [stat.S_IMODE(path.stat().st_mode) for path in temporary.iterdir()])
        self.assertEqual(0, self.stop())
        self.assertEqual([], os.listdir(temporary))

    def test_a_library_is_sent_loaded_and_run(self):
        client = self.client(self.serve(), "k")
        self.assertEqual("server:k", client.server)
        client.upload("kernels.c", (WORK / "kernels.c").read_bytes())
        add_one = client.kernel("kernels.c", "add_one")
        x, y = client.floats([1, 2, 3, 4]), client.floats([0] * 4)
        client.call(add_one, argument(x, 4), argument(y, 4))
        self.assertEqual([2, 3, 4, 5], client.read(y, 4))
        with self.assertRaisesRegex(RemoteError, "ValueError: fails: it always does"):
            client.call(client.kernel("kernels.c", "fails"))
        self.expect_message(r"^session 1 of 127\.0\.0\.1:\d+ begins$")
        client.close()
        self.expect_message("^session 1 ends$")

    def test_what_one_client_does_reaches_no_other(self):
        port = self.serve()
        first, second = self.client(port, "k"), self.client(port, "k")
        first.upload("mine", b"first")
        self.assertEqual("", second.text_of("tvm.rpc.server.listdir", string(".")))
        second.upload("mine", b"second")
        self.assertEqual("first", first.text_of("tvm.rpc.server.download", string("mine")))
        data = first.floats([1, 2])
        with self.assertRaisesRegex(RemoteError, "no object number"):
            second.read(data, 2)
        self.assertEqual(2, len(self.sessions()))

    def test_a_session_has_neither_the_servers_sockets_nor_its_signals(self):
        def sockets(process):
            folder = "/proc/%d/fd" % process
            return {link for link in (os.readlink("%s/%s" % (folder, name)) for name in os.listdir(folder)) if link.startswith("socket:")}
        def blocked(process):
            return int(re.search(r"SigBlk:\s*(\w+)", Path("/proc/%d/status" % process).read_text())[1], 16)
        port = self.serve("--no-sandbox")
        client = self.client(port, "k")
        (session,) = self.sessions()
        self.assertEqual([1.0], client.read(client.floats([1]), 1))
        self.assertTrue(sockets(self.server.pid))
        self.assertEqual(1, len(sockets(session)), "its client's")
        self.assertEqual(sockets(session), sockets(session) & sockets(self.server.pid), "which the server watches")
        self.assertEqual("/dev/null", os.readlink("/proc/%d/fd/0" % session))
        limits = Path("/proc/%d/limits" % session).read_text()
        self.assertRegex(limits, r"(?m)^Max core file size +0 +0 +bytes")
        usual = blocked(os.getpid())
        self.assertEqual(usual, blocked(session))
        waited_for = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD))
        self.assertEqual(usual | waited_for, blocked(self.server.pid))

    def test_without_descriptors_clients_wait(self):
        port = self.serve()
        used = {int(file.name) for file in Path("/proc/%d/fd" % self.server.pid).iterdir()}
        limit, usual = resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.prlimit(self.server.pid, limit, (min(set(range(1000)) - used), usual[1]))
        with ThreadPoolExecutor(1) as others:
            client = others.submit(self.client, port, "k")
            self.expect_message(r"^opdyno serve: cannot accept a client: Too many open files; trying again$")
            resource.prlimit(self.server.pid, limit, usual)
            self.assertEqual("server:k", client.result().server)
        self.assertLess(len(self.messages), 100)  # some, as often as it tries, but not in a busy loop

    def test_a_kernel_that_crashes_ends_its_session_only(self):
        port = self.serve()
        other = self.client(port, "k")
        (WORK / "crash.c").write_text(CRASH.replace('#include "kernels.c"', (WORK / "kernels.c").read_text()))
        client = self.client(port, "k")
        client.upload("crash.c", (WORK / "crash.c").read_bytes())
        crashes = client.kernel("crash.c", "crashes")
        folder = Path(client.text_of("tvm.rpc.server.workpath", string("x"))).parent
        with self.assertRaises((EOFError, ConnectionError, RemoteError)) as failed:
            client.call(crashes)
        if not HAS_ASAN and not HAS_TSAN:  # which handle the signal, and exit
            self.assertEqual(
                "ConnectionError: the session's process was ended by SIGSEGV (it used memory that is not there) in the operator crashes",
                str(failed.exception),
            )
            self.expect_message(r"^session 2 ends: its process was ended by signal 11 \(Segmentation fault\), in the operator crashes$")
        else:
            self.expect_message(r"^session 2 ends: its process exited with code \d+$")
        self.assertEqual([1.0], other.read(other.floats([1]), 1))
        self.assertEqual("", self.client(port, "k").text_of("tvm.rpc.server.listdir", string(".")))
        self.assertFalse(folder.exists(), "the next session removes what a dead one left")

    def client_of_an_endless_call(self, port):
        client = self.client(port, "k")
        client.upload("crash.c", CRASH.replace('#include "kernels.c"', (WORK / "kernels.c").read_text()).encode())
        endless = client.kernel("crash.c", "never_ends")
        client.connection.sendall(struct.pack("<QiQi", 4 + 12, rpc_client.CALL, endless, 0))
        return client

    def test_a_session_ends_after_its_client_also_amid_a_call(self):
        port = self.serve("--sessions", "1")
        self.client_of_an_endless_call(port).connection.close()
        self.expect_message("^session 1 ends: its client has gone, and it did not end by itself$")
        self.assertEqual([2.0], (again := self.client(port, "k")).read(again.floats([2]), 1))

    def test_a_session_ends_after_the_network_of_its_client_was_lost_amid_a_call(self):
        # The client's machine says nothing more. The kernel asks it after 15 s, and then four times, every 5 s.
        if not os.environ.get("OPDYNO_TEST_FULL"):
            self.skip("a lost network is noticed within 40 s; OPDYNO_TEST_FULL=1 waits for it")
        loopback = self.own_network()
        loopback(True)
        port = self.serve("--sessions", "1")
        self.client_of_an_endless_call(port)
        loopback(False)
        self.expect_message("^session 1 ends: its client has gone, and it did not end by itself$")
        loopback(True)
        self.assertEqual([2.0], (again := self.client(port, "k")).read(again.floats([2]), 1))

    def own_network(self):
        """Until the end of the test, this thread has a network of its own. Gives what switches its loopback on and off."""
        libc, new_network, up = ctypes.CDLL(None, use_errno=True), 0x40000000, 1
        usual = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.addCleanup(os.close, usual)
        if libc.unshare(new_network):
            self.skip("there can be no further network namespace: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.setns, usual, new_network)

        def switch(on):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                flags = struct.pack("16sh22x", b"lo", up if on else 0)
                fcntl.ioctl(any_socket, 0x8914, flags)  # SIOCSIFFLAGS

        return switch

    def test_a_session_may_have_a_limit_of_time(self):
        port = self.serve("--session-limit", "6s")
        self.expect_end(self.client_of_an_endless_call(port), "the server (its time, --session-limit 6s, was over)")
        place = "" if HAS_TSAN else ", in the operator never_ends"  # see expect_end()
        self.expect_message("^session 1 ends: its time, --session-limit 6s, was over%s$" % place)
        idle = self.client(port, "k")
        self.assertEqual([2.0], idle.read(idle.floats([2]), 1))
        self.expect_message("^session 2 ends: its time, --session-limit 6s, was over$")
        with self.assertRaisesRegex(RemoteError, r"^ConnectionError: the session's process was ended by the server \(its time, --session-limit 6s, was over\)$"):
            idle.floats([2])

    def expect_end(self, client, reason, name="never_ends"):
        """The answer to the call that ran at the end."""
        with self.assertRaises(RemoteError) as ended:
            client.answer()
        if not HAS_TSAN:  # with which a handler of signals waits for a system call of the program
            reason += " in the operator " + name
        self.assertEqual("ConnectionError: the session's process was ended by " + reason, str(ended.exception))

    def program_of(self, kernel):
        """What runs a program of one kernel, whose import it is, on the server."""
        (WORK / "crash.c").write_text(CRASH.replace('#include "kernels.c"', (WORK / "kernels.c").read_text()))
        (WORK / "crash.opdasm").write_text((WORK / "add_one.opdasm").read_text().replace("add_one", kernel))
        return ("run", "crash.opdasm", "--import", "crash.c", "-i", "4xf32=1")

    def test_opdynos_clients_are_told_of_limits_too(self):
        on = ("--on", "127.0.0.1:%d,key=k" % self.serve("--session-limit", "6s"))
        said = self.fails(FAILED, *self.program_of("never_ends"), *on)
        self.assertIn("ended in main: the session's process was ended by the server (its time, --session-limit 6s, was over)", said)
        if not HAS_TSAN:
            self.assertIn(" in the operator never_ends", said)

    def test_a_process_that_is_killed_is_told_with_the_operator_that_was_seen(self):
        if HAS_TSAN:
            self.skip("with ThreadSanitizer, a handler of signals waits for a system call of the program")
        # A copy of /proc, in which the kernel ends a process.
        system = WORK / "system"
        (system / "proc").mkdir(parents=True, exist_ok=True)
        (system / "proc" / "vmstat").write_text("nr_free_pages 1\noom_kill 7\n")
        port = self.serve(env=dict(os.environ, OPDYNO_SYSTEM_ROOT=str(system)))
        for number, kills in ((1, 7), (2, 8)):
            result = []
            on = ("--on", "127.0.0.1:%d,key=k" % port)
            thread = threading.Thread(target=lambda: result.append(run(*self.program_of("never_ends"), *on)))
            thread.start()
            self.expect_message("^session %d of .* begins$" % number)
            self.wait_until(self.sessions)
            (session,) = self.sessions()
            self.wait_until(lambda session=session: "never_ends" in self.noted_by(session))
            (system / "proc" / "vmstat").write_text("nr_free_pages 1\noom_kill %d\n" % kills)
            os.kill(session, signal.SIGKILL)
            thread.join(60)
            (ended,) = result
            why = "signal 9 (Killed)" if kills == 7 else "SIGKILL (the kernel had no memory left: the machine, or the control group of the server, has "
            self.assertIn("ended in main: the session's process was ended by " + why, ended.stderr)
            self.assertIn(" in the operator never_ends", ended.stderr)
            self.expect_message(r"^session %d ends: its process was ended by .*, in the operator never_ends$" % number)

    @staticmethod
    def noted_by(session):
        """What the process of the session shares with the server."""
        maps = Path("/proc/%d/maps" % session).read_text().splitlines()
        text = ""
        with open("/proc/%d/mem" % session, "rb", buffering=0) as memory:
            for line in maps:
                if " rw-s " in line:
                    memory.seek(int(line.split("-")[0], 16))
                    text += memory.read(4096).decode("latin-1")
        return text

    def test_a_program_that_exits_is_an_error_that_says_so(self):
        client = self.client(self.serve(), "k")
        source = (WORK / "kernels.c").read_text() + "\n#include <stdlib.h>\nKERNEL(leaves) { UNUSED; _exit(3); }\n"
        client.upload("leaves.c", source.encode())
        with self.assertRaisesRegex(RemoteError, r"^ConnectionError: the session's process was ended by exit\(3\), which a program called$"):
            client.call(client.kernel("leaves.c", "leaves"))
        self.expect_message("^session 1 ends: its process exited with code 3$")

    def test_ctrl_c_ends_the_server_and_sessions_amid_a_call(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            client = self.client_of_an_endless_call(self.serve())
            (session,) = self.sessions()
            self.assertEqual(0, self.stop(how))
            with self.assertRaises((EOFError, ConnectionError)):
                rpc_client.exactly(client.connection, 1)
            self.wait_until(lambda session=session: not Path("/proc/%d" % session).exists())

    def test_a_client_needs_the_key(self):
        port = self.serve(key="secret")
        for key in ("", "secrets", "k"):
            with self.assertRaisesRegex(Refused, str(rpc_client.MISMATCH)):
                Client(port, key)
        self.expect_message("^session 3 ends: .*the client does not know the key$")
        self.client(port, "secret")

    def test_sessions_are_limited(self):
        port = self.serve("--sessions", "1", "--memory-limit", "64", "--file-limit", "10", "--timeout", "10m")
        client = self.client(port, "k")
        with self.assertRaisesRegex(RemoteError, "0 of the 64 bytes"):
            client.floats([0] * 17)
        with self.assertRaisesRegex(RemoteError, "it may have 10"):
            client.upload("f", b"12345678901")
        waiting = []
        thread = threading.Thread(target=lambda: waiting.append(Client(port, "k")))
        thread.start()
        self.assertEqual([1.0], client.read(client.floats([1]), 1))
        self.wait_until(lambda: len(self.sessions()) == 2)  # the second is known, and waits
        self.assertEqual([1.0], client.read(client.floats([1]), 1))
        self.assertEqual([], waiting)
        client.close()
        thread.join(60)
        self.assertEqual([2.0], waiting[0].read(waiting[0].floats([2]), 1))
        waiting[0].close()

    def test_who_says_nothing_takes_no_place_of_a_session(self):
        port = self.serve("--sessions", "1")
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
        self.expect_message("^session 5 of .* begins$")
        client = self.client(port, "k")
        self.assertEqual([1.0], client.read(client.floats([1]), 1))
        for one in silent:
            one.close()
        self.expect_message("^session 5 ends: .*the client closed the connection at once$")
        client.close()
        self.assertEqual([2.0], (second := self.client(port, "k")).read(second.floats([2]), 1))

    def test_who_says_nothing_takes_no_key_of_the_tracker(self):
        tracker = Tracker()
        self.addCleanup(tracker.listener.close)
        self.serve("--tracker", "127.0.0.1:%d" % tracker.port, key="board")
        port, key = tracker.take()
        with socket.create_connection(("127.0.0.1", port)):
            self.expect_message("^session 1 of .* begins$")
            client = self.client(port, key)
            self.assertEqual([3.0], client.read(client.floats([3]), 1))
            with self.assertRaises((Refused, EOFError, ConnectionError)):
                Client(port, key)  # which one client has

    def test_many_sessions_leave_nothing_behind(self):
        port = self.serve()
        descriptors = Path("/proc/%d/fd" % self.server.pid)
        Client(port, "k").close()
        self.expect_message("^session 1 ends$")
        self.wait_until(lambda: not self.sessions())
        before = len(list(descriptors.iterdir()))
        for _ in range(40):
            client = Client(port, "k")
            client.upload("f", b"x")
            client.close()
        self.expect_message("^session 41 ends$")
        with self.came:  # the last message may come before those of others
            self.came.wait_for(lambda: sum(" ends" in line for line in self.messages) == 41, 60)
        self.client(port, "k").floats([1])
        self.wait_until(lambda: len(self.sessions()) == 1)
        # What the server has of a session that begins or ends is closed a little later.
        self.wait_until(lambda: len(list(descriptors.iterdir())) <= before + 1)  # the connection of the session that is there

    def test_a_tracker_hands_the_server_to_one_client_at_a_time(self):
        tracker = Tracker()
        self.addCleanup(tracker.listener.close)
        own = self.serve("--tracker", "127.0.0.1:%d" % tracker.port, key="board")
        for _ in range(3):
            port, key = tracker.take()
            self.assertEqual(own, port)
            self.assertTrue(key.startswith("board:"), key)
            client = Client(port, key)
            self.assertEqual([3.0], client.read(client.floats([3]), 1))
            self.assertEqual([], tracker.pending, "the server is busy")
            client.close()
        self.assertEqual([5, {"key": "server:board", "addr": [None, own]}], tracker.said[0])
        keys = [message[2][1] for message in tracker.said if message[0] == 3]
        self.assertEqual(len(keys), len(set(keys)))
        with self.assertRaises(Refused):
            Client(own, "board")

    def test_a_tracker_that_went_away_is_tried_again(self):
        tracker = Tracker()
        self.addCleanup(tracker.listener.close)
        self.serve("--tracker", "127.0.0.1:%d" % tracker.port, key="board")
        tracker.take()
        tracker.drop()
        self.expect_message("tracker at 127.0.0.1:%d .*; trying again$" % tracker.port)
        port, key = tracker.take()
        self.assertEqual([3.0], (client := self.client(port, key)).read(client.floats([3]), 1))

    def test_who_is_reached_by_others_is_warned(self):
        secret = WORK / "warned_secret"
        secret.write_text("0123456789abcdef")
        secret.chmod(0o600)
        anyone, open_text = "who reaches this address may run programs here", "sessions are not encrypted; --tls-cert or an ssh tunnel does that"
        for words, wanted in (
            (("--listen", "0.0.0.0:0", "--allow-anyone"), [anyone]),
            (("--listen", "0.0.0.0:0", "--secret-file", secret), [open_text]),
            (("--listen", "127.0.0.1:0"), []),
        ):
            server = subprocess.Popen([OPDYNO, "serve", *words], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(server.kill)
            self.assertRegex(server.stdout.readline(), r"^serving at [\d.]+:[1-9]\d*\n$")
            self.assertTrue(server.stdout.readline().startswith("sandbox: "))
            server.send_signal(signal.SIGTERM)
            said = server.communicate(timeout=60)[1]
            self.assertEqual(0, server.returncode)
            warnings = [line.removeprefix("opdyno serve: warning: ") for line in said.splitlines()]
            self.assertEqual(wanted, [line for line in warnings if "root" not in line])
            self.assertEqual(os.geteuid() == 0, any(line == "sessions run as root; --user NAME has them run as another user" for line in warnings))

    def test_wrong_words_are_refused(self):
        self.assertIn("takes HOST:PORT", self.fails(USAGE, "serve", "--listen", "host"))
        self.assertIn("takes HOST:PORT", self.fails(USAGE, "serve", "--listen", "host:99999"))
        self.assertIn("needs --key", self.fails(USAGE, "serve", "--tracker", "127.0.0.1:9190"))
        self.assertIn("option '--tracker' takes HOST:PORT", self.fails(USAGE, "serve", "--tracker", "host", "--key", "k"))
        self.assertIn("option '--metrics' takes HOST:PORT", self.fails(USAGE, "serve", "--metrics", "host"))
        for number in "0", "1025":
            message = "option '--sessions' takes an integer from 1 to 1024, not '%s'" % number
            self.assertIn(message, self.fails(USAGE, "serve", "--sessions", number))
        for option in "--memory-limit", "--file-limit":
            self.assertIn("option '%s' takes a size as" % option, self.fails(USAGE, "serve", option, "much"))
        for option in "--cpu-limit", "--session-limit", "--timeout":
            self.assertIn("option '%s' takes a time as" % option, self.fails(USAGE, "serve", option, "soon"))
        self.assertIn("options '--tls-cert' and '--tls-key' go together", self.fails(USAGE, "serve", "--tls-key", "x"))
        self.assertIn("cannot open none: No such file", self.fails(FAILED, "serve", "--allow-modules", "none"))
        self.assertIn("without spaces", self.fails(USAGE, "serve", "--key", "a b"))
        self.assertIn("no address", self.fails(FAILED, "serve", "--listen", "nowhere.invalid:0"))
        port = self.serve()
        self.assertIn("opdyno serve: cannot listen at 127.0.0.1:%d: " % port, self.fails(FAILED, "serve", "--listen", "%d" % port))
