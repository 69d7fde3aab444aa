"""The command serve: what programs of clients may do, and what ends their sessions."""

import ctypes
import errno
import hashlib
import os
import re
import resource
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import npy
from case import COMPILER, FAILED, HERE, OPDYNO, WORK
from rpc_client import Client, RemoteError, argument, string
from rpc_server import ServerCliTest

DATA = Path(os.environ["OPDYNO_INTEROP_DATA"])
CPU, OPENCL = 1, 4
REFUSALS = {errno.EPERM, errno.EACCES, errno.EXDEV}
# Of Linux, in x86-64 and aarch64.
SYSCALLS = {"x86_64": {"seccomp": 317, "setgroups": 116}, "aarch64": {"seccomp": 277, "setgroups": 159}}.get(os.uname().machine)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446


def landlock_version():
    return ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, 1)


def without(*calls, error=errno.ENOSYS, second=None):
    """For a child: a kernel in which these system calls fail, made by a filter of its own. With `second`, one call fails
    if its second argument is that number."""
    fails = (0x06, 0, 0, 0x50000 | error)
    rules = [(0x20, 0, 0, 0)] + [rule for call in calls for rule in ((0x15, 0, 1, call), fails)]
    if second is not None:
        rules = [(0x20, 0, 0, 0), (0x15, 0, 3, calls[0]), (0x20, 0, 0, 24), (0x15, 0, 1, second), fails]
    rules.append((0x06, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(rules), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)

    def install(kept=code):
        libc.prctl(38, 1, 0, 0, 0)
        if libc.prctl(22, 2, program, 0, 0):
            os._exit(99)

    return install


class ServeSandbox(ServerCliTest):
    def setUp(self):
        """A home directory with a key, and servers of this user there."""
        self.outside = WORK / "home"
        shutil.rmtree(self.outside, ignore_errors=True)
        (self.outside / ".ssh").mkdir(parents=True)
        (self.outside / ".ssh" / "id_test").write_text("secret")
        (self.outside / "allowed").mkdir()
        (self.outside / "allowed" / "data").write_text("data")
        shutil.copy("/bin/true", self.outside / "program")
        elsewhere = ("CCACHE_DIR", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
                     "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS")  # fmt: skip
        temporary = tempfile.gettempdir()
        self.environment = dict(os.environ, HOME=str(self.outside), TMP=temporary, TEMP=temporary, **dict.fromkeys(elsewhere, str(self.outside)))
        self.listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        self.port = self.listeners[0].getsockname()[1]
        self.listeners[1].bind(str(self.outside / "socket"))
        self.listeners[2].bind("\0opdyno-%d" % self.port)
        for one in self.listeners:
            self.addCleanup(one.close)
            one.listen()

    def need_sandbox(self):
        if SYSCALLS is None or landlock_version() < 6:
            self.skip("this kernel has no Landlock of ABI 6, so no test shows what sessions are kept from")

    def own_temporary_directory(self):
        """The settings of servers whose files no other test's servers remove."""
        directory = WORK / "temporary"
        directory.mkdir(exist_ok=True)
        return directory, {"env": dict(self.environment, TMPDIR=str(directory))}

    def start(self, *words, **settings):
        return super().serve(*words, **{"env": self.environment, **settings})

    def attacks(self):
        macros = '#define _GNU_SOURCE\n#define TEXT_OF(x) #x\n#define TEXT(x) TEXT_OF(x)\n#define OUTSIDE "%s"\n#define PORT %d\n#define PARENT %d\n'
        return (macros % (self.outside, self.port, self.server.pid) + (WORK / "kernels.c").read_text() + (HERE / "attacks.c").read_text()).encode()

    def attacker(self, port, name, size=96):
        """A session, and what its program writes to a tensor: as a function."""
        client = self.client(port, "k")
        client.upload("attacks.c", self.attacks())
        kernel, results = client.kernel("attacks.c", name), client.floats([99] * size)

        def run():
            client.call(kernel, argument(results, size))
            return [int(one) for one in client.read(results, size)]

        return client, run

    def names_of_attacks(self):
        text = (HERE / "attacks.c").read_text()
        return re.findall(r"^  TRY\((.*)\);$", text, re.M)

    def expect_attacks_refused(self, port, besides=()):
        results = self.attacker(port, "attack")[1]()
        to_be_refused, to_work = results[: results.index(-1)], results[results.index(-1) + 1 : results.index(-2)]
        names = self.names_of_attacks()
        self.assertEqual(len(names), len(to_be_refused) + len(to_work))
        passed = [(name, os.strerror(result)) for name, result in zip(names, to_be_refused)
                  if result not in REFUSALS and not any(word in name for word in besides)]  # fmt: skip
        self.assertEqual([], passed)
        failed = [(name, os.strerror(result)) for name, result in zip(names[len(to_be_refused) :], to_work) if result]
        self.assertEqual([], failed)
        self.assertEqual("secret", (self.outside / ".ssh" / "id_test").read_text())
        self.assertEqual({".ssh", "allowed", "program", "socket"}, {path.name for path in self.outside.iterdir()})
        self.assertEqual(0o644, stat.S_IMODE((self.outside / ".ssh" / "id_test").stat().st_mode) | 0o644)

    # ---- what programs may do

    def test_programs_reach_neither_files_nor_processes_nor_the_network(self):
        self.need_sandbox()
        self.expect_attacks_refused(self.start())
        self.assertRegex(self.sandbox, r"^sandbox: files \(Landlock ABI \d+\), system calls \(seccomp\), no network, no signals to others$")

    def test_without_the_sandbox_they_do_all_that_the_user_can(self):
        port = self.start("--no-sandbox")
        self.assertEqual("sandbox: none\n", self.sandbox)
        self.expect_message("^opdyno serve: warning: without a sandbox, programs of clients can do all that this user can$")
        self.assertEqual([0], self.attacker(port, "reads", 1)[1]())
        self.assertEqual([0, 0], self.attacker(port, "connects", 2)[1]())

    def test_further_paths_can_be_read(self):
        self.need_sandbox()
        self.assertEqual([errno.EACCES], self.attacker(self.start(), "reads", 1)[1]())
        port = self.start("--allow-read", str(self.outside / "program"), "--allow-read", str(self.outside / "allowed"))
        self.assertEqual([0], self.attacker(port, "reads", 1)[1]())
        self.expect_attacks_refused(port, besides=["runs(OUTSIDE"])
        self.assertIn("cannot let sessions read /nowhere", self.fails(FAILED, "serve", "--allow-read", "/nowhere"))

    def test_the_network_can_be_allowed_but_no_local_servers(self):
        self.need_sandbox()
        port = self.start("--allow-network")
        self.assertNotIn("network", self.sandbox)
        reached, local = self.attacker(port, "connects", 2)[1]()
        self.assertEqual(0, reached)
        self.assertIn(local, REFUSALS)
        self.expect_attacks_refused(port, besides=["connects_to_port", "connects_again", "listens"])

    def test_a_library_in_the_home_directory_does_not_open_it(self):
        self.need_sandbox()
        self.environment["LD_LIBRARY_PATH"] = "%s:%s" % (self.outside, self.outside / "allowed")
        port = self.start()
        self.assertEqual([0], self.attacker(port, "reads", 1)[1](), "a folder of libraries, as the variable says")
        self.expect_attacks_refused(port)

    def test_files_and_caches_are_those_of_the_session_and_end_with_it(self):
        temporary, settings = self.own_temporary_directory()
        port = self.start(**settings)
        client = self.client(port, "k")
        client.upload("kernels.c", (WORK / "kernels.c").read_bytes())
        client.kernel("kernels.c", "add_one")
        folder = Path(client.text_of("tvm.rpc.server.workpath", string("x"))).parent
        self.assertTrue(list((folder / ".cache" / "opdyno").glob("*.so")), "compiled code")
        self.assertEqual("kernels.c", client.text_of("tvm.rpc.server.listdir", string(".")))
        second = self.client(port, "k")
        second.upload("kernels.c", (WORK / "kernels.c").read_bytes())
        second.kernel("kernels.c", "add_one")
        self.assertFalse((self.outside / ".cache").exists(), "what a session compiles, no other program loads")
        client.close()
        self.expect_message("^session 1 ends$")
        self.wait_until(lambda: not folder.parent.exists())
        self.stop()
        self.assertEqual([], list(temporary.iterdir()))

    def test_a_server_removes_the_files_of_one_that_was_killed(self):
        _, settings = self.own_temporary_directory()
        client = self.client(self.start(**settings), "k")
        folder = Path(client.text_of("tvm.rpc.server.workpath", string("x"))).parent
        (session,) = self.sessions()
        self.server.kill()
        self.server.wait()
        self.wait_until(lambda: not Path("/proc/%d" % session).exists())
        self.assertTrue(folder.exists())
        self.stop()
        self.start(**settings)
        self.assertFalse(folder.parent.parent.exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_sessions_of_root_can_have_another_user(self):
        port = self.start("--user", "nobody")
        client, run = self.attacker(port, "reads", 1)
        (session,) = self.sessions()
        status = Path("/proc/%d/status" % session).read_text()
        nobody = str(__import__("pwd").getpwnam("nobody").pw_uid)
        self.assertEqual([nobody] * 4, re.search(r"Uid:\s+(.*)", status)[1].split())
        self.assertEqual(1, len(set(re.search(r"Gid:\s+(.*)", status)[1].split())))
        self.assertEqual(1, len(re.search(r"Groups:\s+(.*)", status)[1].split()))
        if landlock_version() > 0:
            self.assertIn(run()[0], REFUSALS)
        self.server.kill()
        self.wait_until(lambda: not Path("/proc/%d" % session).exists())
        self.assertIn('no user "nosuch"', self.fails(FAILED, "serve", "--user", "nosuch"))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_others_than_root_have_the_sandbox_too(self):
        self.need_sandbox()
        os.chmod(WORK, 0o755)
        os.chmod(self.outside / ".ssh", 0o755)
        nobody = __import__("pwd").getpwnam("nobody")
        for path in (self.outside, *self.outside.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        environment = {key: value for key, value in self.environment.items() if key != "OPDYNO_CACHE_DIR"}
        port = self.start(user="nobody", group=nobody.pw_gid, extra_groups=[], env=environment)
        self.expect_attacks_refused(port)
        self.assertFalse(any("root" in line for line in self.messages), self.messages)
        self.assertIn("only a server of root", subprocess.run([OPDYNO, "serve", "--user", "root"], user="nobody", env=environment, text=True, capture_output=True).stderr)

    # ---- limits

    def test_a_session_that_uses_up_its_cpu_time_ends(self):
        port = self.start("--cpu-limit", "2900ms")  # a sanitizer takes more than a second to load a library
        other = self.client(port, "k")
        for number, (name, signal) in enumerate((("spins", "SIGXCPU"), ("spins_and_ignores", "SIGKILL")), 2):
            client, run = self.attacker(port, name, 1)
            with self.assertRaisesRegex(RemoteError, r"ended by %s \(the session has used up its 3 s of CPU time\)" % signal):
                run()
            self.expect_message("^session %d ends: it used up its 3 s of CPU time(, in the operator %s)?$" % (number, name))
        self.assertEqual([1.0], other.read(other.floats([1]), 1))
        self.assertEqual([2.0], (again := self.client(port, "k")).read(again.floats([2]), 1))

    def test_the_process_of_a_session_has_its_limits(self):
        def status_of(process, name):
            return re.search(r"^%s:\s+(\w+)" % name, Path("/proc/%d/status" % process).read_text(), re.M)[1]

        def limit_of(process, name):
            return re.search(r"^%s +(\w+) +(\w+)" % name, Path("/proc/%d/limits" % process).read_text(), re.M).groups()

        port = self.start("--cpu-limit", "7s", "--memory-limit", "64M")
        self.client(port, "k")
        (session,) = self.sessions()
        self.assertEqual(("7", "8"), limit_of(session, "Max cpu time"))
        soft, hard = limit_of(session, "Max data size")
        self.assertEqual(soft, hard)
        # What tensors may have, and room for the rest, of each thread, too; and what the process had before.
        of_programs = 64 + 256 + 8 * len(os.sched_getaffinity(0)) << 20
        self.assertGreater(int(soft), of_programs)
        self.assertLessEqual(int(soft), of_programs + 1024 * int(status_of(session, "VmData")) + (256 << 10))
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(0, int(status_of(session, name), 16), name)
        may_drop = int(status_of(self.server.pid, "CapEff"), 16) >> 8 & 1  # CAP_SETPCAP
        self.assertEqual(0 if may_drop else int(status_of(self.server.pid, "CapBnd"), 16), int(status_of(session, "CapBnd"), 16))
        self.assertEqual(0, os.stat("/proc/%d/maps" % session).st_uid, "no debugger of this user may look into it")
        # What the server itself may not exceed, its sessions may not either.
        most = (100, 100)
        port = self.start("--cpu-limit", "200s", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, most))
        self.client(port, "k")
        (session,) = self.sessions()
        self.assertEqual(("100", "100"), limit_of(session, "Max cpu time"))

    def test_memory_of_programs_is_limited_too(self):
        port = self.start("--memory-limit", "16M")
        client, run = self.attacker(port, "takes_memory", 1)
        (got,) = run()
        most = 16 + 256 + 8 * os.cpu_count()
        self.assertTrue(16 <= got <= most, got)
        client.close()
        with self.assertRaisesRegex(RemoteError, "of the 16777216 bytes"):
            self.client(port, "k").floats([0] * 5_000_000)
        self.assertEqual([512], self.attacker(self.start(), "takes_memory", 1)[1](), "without the limit")

    def test_files_of_programs_are_limited_too(self):
        port = self.start("--file-limit", "1M", "--session-limit", "10m")
        client, run = self.attacker(port, "fills_the_disk", 1)
        why = "its files take more of the disk than the %d MiB that --file-limit allows"
        with self.assertRaisesRegex(RemoteError, r"ended by the server \(%s\) in the operator fills_the_disk$" % why % (1 + 256)):
            run()
        self.expect_message("^session 1 ends: %s, in the operator fills_the_disk$" % why % (1 + 256))
        self.assertEqual([2.0], (again := self.client(port, "k")).read(again.floats([2]), 1))
        again.close()
        if os.geteuid() == 0:
            self.skip("root sees the files that its sessions hide")
        directory, settings = self.own_temporary_directory()
        client, run = self.attacker(self.start(**settings), "hides_files", 1)
        with self.assertRaisesRegex(RemoteError, r"ended by the server \(%s\)" % why % (2048 + 256)):
            run()
        self.expect_message("^session 1 ends: %s" % why % (2048 + 256))
        for hidden in list(directory.rglob("hidden")):
            hidden.chmod(0o700)

    def test_a_session_leaves_a_quarter_of_the_memory_to_others(self):
        self.client(self.start(), "k")
        (session,) = self.sessions()
        memory = int(re.search(r"memory \(bytes\): +(\d+)", subprocess.run([OPDYNO, "info"], text=True, capture_output=True).stdout)[1])
        status = Path("/proc/%d/status" % session).read_text()
        limits = Path("/proc/%d/limits" % session).read_text()
        limit = int(re.search(r"^Max data size +(\d+) ", limits, re.M)[1])
        used = 1024 * int(re.search(r"^VmData:\s+(\d+)", status, re.M)[1])
        self.assertTrue(memory // 4 * 3 < limit <= memory // 4 * 3 + used + (256 << 10), (memory, limit, used))

    def test_what_a_program_starts_ends_with_its_session(self):
        client, run = self.attacker(self.start(), "leaves_a_daemon", 1)
        (daemon,) = run()
        self.assertTrue(Path("/proc/%d" % daemon).exists())
        client.close()
        self.wait_until(lambda: not Path("/proc/%d" % daemon).exists())
        client, run = self.attacker(self.start(), "leaves_a_daemon", 1)
        (daemon,) = run()
        self.stop()
        self.assertFalse(Path("/proc/%d" % daemon).exists(), "also with the server")

    # ---- other kernels

    def test_what_the_kernel_lacks_is_said_and_left_out(self):
        if SYSCALLS is None:
            self.skip("no test takes system calls from a server on this machine")
        port = self.start(preexec_fn=without(CREATE_RULESET))
        self.assertEqual("sandbox: system calls (seccomp), no network; not: files (this kernel has no Landlock), signals to others (Landlock ABI 6)\n", self.sandbox)
        self.assertEqual([0], self.attacker(port, "reads", 1)[1]())
        port = self.start(preexec_fn=without(SYSCALLS["seccomp"]))
        self.assertIn("not: system calls (this kernel has no seccomp)", self.sandbox)
        client = self.client(port, "k")
        self.assertEqual([1.0], client.read(client.floats([1]), 1))

    def test_why_files_are_open_is_said(self):
        if SYSCALLS is None:
            self.skip("no test takes system calls from a server on this machine")
        for error, why in (
            (errno.EOPNOTSUPP, "this kernel was started without Landlock"),
            (errno.EACCES, "Landlock cannot be used: Permission denied"),
        ):
            self.start(preexec_fn=without(CREATE_RULESET, error=error))
            self.assertIn("; not: files (%s), " % why, self.sandbox)
        self.start("--allow-network", preexec_fn=without(CREATE_RULESET))
        self.assertEqual("sandbox: system calls (seccomp); not: files (this kernel has no Landlock), signals to others (Landlock ABI 6)\n", self.sandbox)
        self.start(preexec_fn=without(CREATE_RULESET, SYSCALLS["seccomp"]))
        self.assertEqual(
            "sandbox: not: files (this kernel has no Landlock), system calls (this kernel has no seccomp), the network, signals to others (Landlock ABI 6)\n",
            self.sandbox,
        )

    def test_a_kernel_that_does_not_know_a_flag_filters_without_it(self):
        if SYSCALLS is None:
            self.skip("no test takes system calls from a server on this machine")

        def filters_of(process):
            return int(re.search(r"^Seccomp_filters:\s+(\d+)$", Path("/proc/%d/status" % process).read_text(), re.M)[1])

        allows_speculation = 4
        for error, is_served in ((errno.EINVAL, True), (errno.EPERM, False)):
            port = self.start(preexec_fn=without(SYSCALLS["seccomp"], error=error, second=allows_speculation))
            if not is_served:
                self.assertRaises((EOFError, ConnectionError), Client, port, "k")
                self.expect_message("^session 1 ends: .*cannot restrict the system calls of the session: Operation not permitted$")
                continue
            client = self.client(port, "k")
            self.assertEqual([1.0], client.read(client.floats([1]), 1))
            (session,) = self.sessions()
            self.assertEqual(filters_of(self.server.pid) + 1, filters_of(session))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_user_that_cannot_be_taken_on_refuses_the_session(self):
        if SYSCALLS is None:
            self.skip("no test takes system calls from a server on this machine")
        port = self.start("--user", "nobody", preexec_fn=without(SYSCALLS["setgroups"], error=errno.EPERM))
        self.assertRaises((EOFError, ConnectionError), Client, port, "k")
        self.expect_message("^session 1 ends: .*cannot serve as the user nobody: Operation not permitted$")

    def test_a_restriction_that_fails_refuses_the_session(self):
        self.need_sandbox()
        for call in (ADD_RULE, RESTRICT_SELF):
            port = self.start(preexec_fn=without(call, error=errno.EIO))
            for number in (1, 2):
                client = None
                with self.assertRaises((EOFError, ConnectionError)):
                    client = Client(port, "k")
                self.assertIsNone(client)
                self.expect_message("^session %d ends: .*cannot .* by Landlock: Input/output error$" % number)

    # ---- modules

    def test_only_modules_of_the_list_are_loaded(self):
        source = (WORK / "kernels.c").read_bytes()
        other = source + b"/* of somebody else */\n"
        listed = WORK / "modules.txt"
        listed.write_text("# of the lab\n\n%s  kernels.c\n" % hashlib.sha256(source).hexdigest().upper())
        client = self.client(self.start("--allow-modules", str(listed)), "k")
        client.upload("kernels.c", source)
        x, y = client.floats([1, 2, 3, 4]), client.floats([0] * 4)
        client.call(client.kernel("kernels.c", "add_one"), argument(x, 4), argument(y, 4))
        self.assertEqual([2, 3, 4, 5], client.read(y, 4))
        client.upload("kernels.c", other)  # under the same name
        reason = r"/kernels\.c with the SHA-256 %s is not in the list of allowed modules \(opdyno serve --allow-modules\)"
        with self.assertRaisesRegex(RemoteError, reason % hashlib.sha256(other).hexdigest()):
            client.kernel("kernels.c", "add_one")
        for name, content in (("p.so", Path(OPDYNO).read_bytes()), ("p.vmexec", b"x"), ("empty.c", b""), ("p.tar", other)):
            client.upload(name, content)
            with self.assertRaisesRegex(RemoteError, "is not in the list"):
                client.object_of("tvm.rpc.server.load_module", string(name))
        for name in ("vm.builtin.invoke_debug_func", "tvm.default_trace_action"):
            with self.assertRaisesRegex(RemoteError, "the global function %s is not offered" % name):
                client.function(name)
            with self.assertRaisesRegex(RemoteError, "the global function %s is not offered" % name):
                numbers = [struct.pack("<iq", 1, number) for number in (1, 0, 1, 1, 0, 0, 0, 1, 0)]
                client.call("runtime.RPCTimeEvaluator", struct.pack("<i", 0), string(name), *numbers, string(""))
        self.assertNotEqual(0, client.function("vm.builtin.make_tuple"))
        self.assertEqual(0, client.function("nobody"))
        listed.write_text("%s kernels.c\nno digest\n" % ("0" * 64))
        self.assertIn("line 2 of the list of modules", self.fails(FAILED, "serve", "--allow-modules", str(listed)))

    def test_a_listed_module_brings_no_other_file_of_the_client(self):
        (WORK / "plain.c").write_text('int planted(void);\nint own(void) { return planted(); }\n#include "kernels.c"\n')
        (WORK / "planted.c").write_text("int planted(void) { return 1; }\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "libplanted.so", "planted.c"], cwd=WORK, check=True)
        subprocess.run(
            [COMPILER, "-shared", "-fPIC", "-o", "needs.so", "plain.c", "-L.", "-lplanted", "-Wl,-rpath,$ORIGIN"], cwd=WORK, check=True
        )
        (WORK / "includes.c").write_text('#include "planted.h"\n' + (WORK / "kernels.c").read_text())
        listed = WORK / "modules.txt"
        listed.write_text("".join("%s  %s\n" % (hashlib.sha256((WORK / name).read_bytes()).hexdigest(), name) for name in ("needs.so", "includes.c")))
        for words, is_loaded in ((), True), (("--allow-modules", str(listed)), False):
            client = self.client(self.start(*words), "k")
            for name in ("needs.so", "libplanted.so", "includes.c"):
                client.upload(name, (WORK / name).read_bytes())
            client.upload("planted.h", b"/* nothing */\n")
            for name in ("needs.so", "includes.c"):
                if is_loaded:
                    self.assertNotEqual(0, client.kernel(name, "add_one"))
                    continue
                with self.assertRaisesRegex(RemoteError, r"libplanted\.so|planted\.h"):
                    client.kernel(name, "add_one")

    # ---- devices

    def test_programs_for_opencl_run(self):
        port = self.start()
        client = self.client(port, "k")
        if not self.exists(client, OPENCL):
            self.skip("there is no OpenCL device here, so no test uses one in a sandbox")
        for mode in ("bytecode", "compiled"):
            self.expect_answers(client, DATA / "opencl" / ("mlp_%s.so" % mode), DATA / "opencl" / "mlp.npz", OPENCL)

    def test_programs_of_tvm_run_within_all_limits(self):
        port = self.start("--memory-limit", "64M", "--cpu-limit", "1m")
        for folder in (DATA / "0.27", DATA / "compiled" / "0.27"):
            self.expect_answers(self.client(port, "k"), folder / "mlp.so", folder / "mlp.npz", CPU, "with_arguments", "/in_", "/out")

    def exists(self, client, device):
        answer = client.ask(12, struct.pack("<iiiiiq", 2, 6, device, 0, 1, 0))
        return answer.endswith(struct.pack("<iq", 1, 1)) or answer.endswith(struct.pack("<iq", 2, 1))

    def expect_answers(self, client, program, recorded, device, function="main", given_as="in", expected_as="out0"):
        """`given_as`: how the names of the recorded arguments begin; after a slash, behind the function's."""
        if given_as.startswith("/"):
            given_as, expected_as = function + given_as, function + expected_as
        arrays = npy.load(recorded)
        client.upload(program.name, program.read_bytes())
        module = client.object_of("tvm.rpc.server.load_module", string(program.name))
        vm = client.object_of(client.function_of(module, "vm_load_executable"))
        integers = [struct.pack("<iq", 1, number) for number in (device, 0, 2, CPU, 0, 2)[: 3 if device == CPU else 6]]
        client.call(client.function_of(vm, "vm_initialization"), *integers)
        given = []
        for name in sorted(name for name in arrays if name.startswith(given_as)):
            _, dims, numbers = arrays[name]
            given.append(argument(client.floats(numbers, device, dims), dims, device))
        client.call(client.function_of(vm, "set_input"), string(function), *given)
        client.call(client.function_of(vm, "invoke_stateful"), string(function))
        answer = client.call(client.function_of(vm, "get_output"), string(function))
        _, dims, expected = arrays[expected_as]
        data = struct.unpack_from("<Q", answer, answer.index(struct.pack("<iiii", device, 0, len(dims), 2 | 32 << 8 | 1 << 16)) - 8)[0]
        for there, here in zip(client.read(data, len(expected), device, dims), expected, strict=True):
            self.assertAlmostEqual(here, there, delta=1e-5 + 1e-5 * abs(here))
