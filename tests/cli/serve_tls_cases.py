"""The command serve with a certificate, and clients that go through TLS. Python's own TLS is one of them."""

import hashlib
import os
import random
import re
import shutil
import socket
import ssl
from pathlib import Path

import rpc_client
from case import FAILED, HERE, OK, USAGE, WORK, compile_kernels, run
from faulty_proxy import FaultyProxy, flip_at
from rpc_client import Client, Refused, argument
from rpc_server import ServerCliTest

DATA = HERE.parent / "data" / "tls"
ADD_ONE = ("run", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32=1,2,3,4")
RESULT = "out: float32[4]\n[2 3 4 5]\n"
SECRET = "0123456789abcdef0123456789abcdef\n"


def digest(certificate):
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert((DATA / certificate).read_text())).hexdigest()


class TlsClient(Client):
    """A client of TVM's RPC within Python's TLS."""

    def __init__(self, port, authority="ca.pem", host="127.0.0.1"):
        self.context = ssl.create_default_context(cafile=str(DATA / authority))
        self.host = host
        super().__init__(port, "k")

    def connect(self, host, port):
        return self.context.wrap_socket(super().connect(host, port), server_hostname=self.host)


class ServeTls(ServerCliTest):
    def setUp(self):
        if any(line.startswith("  TLS for other machines:") for line in run("info").stdout.splitlines()):
            self.skipTest("OpenSSL is not here")

    def start(self, *words, certificate="server", **settings):
        for suffix in (".pem", ".key"):
            shutil.copy(DATA / (certificate + suffix), WORK)
        (WORK / (certificate + ".key")).chmod(0o600)
        port = self.serve("--tls-cert", certificate + ".pem", "--tls-key", certificate + ".key", *words, **settings)
        self.fingerprint = self.server.stdout.readline().removeprefix("TLS: the certificate's fingerprint is ").strip()
        return port

    def on(self, port, **options):
        words = "".join(",%s=%s" % (name.replace("_", "-"), value) for name, value in options.items())
        return ("--on", "127.0.0.1:%d,key=k%s" % (port, words))

    def test_a_program_runs_within_tls_as_without(self):
        port = self.start()
        self.assertEqual(RESULT, self.succeeds(*ADD_ONE, *self.on(port, tls_ca=DATA / "ca.pem")))
        self.assertEqual(digest("server.pem"), self.fingerprint)
        self.assertEqual(RESULT, self.succeeds(*ADD_ONE, *self.on(port, tls_fingerprint=self.fingerprint)))
        self.assertEqual(RESULT, self.succeeds(*ADD_ONE, *self.on(port, tls_ca=DATA / "ca.pem", tls_name="localhost")))

    def test_openssl_takes_memory_only_of_servers_with_a_certificate(self):
        for start, is_loaded in ((self.serve, False), (self.start, True)):
            start()
            self.assertEqual(is_loaded, "libssl" in Path("/proc/%d/maps" % self.server.pid).read_text())

    def test_another_certificate_is_an_error_that_names_why(self):
        port = self.start()
        for options, why in (
            ({"tls_ca": DATA / "other_ca.pem"}, "the server's certificate is refused: unable to get local issuer"),
            ({"tls_ca": DATA / "ca.pem", "tls_name": "board"}, "the server's certificate is refused: hostname mismatch"),
            ({"tls_fingerprint": digest("chain.pem")}, "the server has another certificate"),
        ):
            self.assertIn(why, self.fails(FAILED, *ADD_ONE, *self.on(port, **options)))
        self.expect_message("^session 1 ends: .*the client refuses the certificate: .*alert unknown ca$")
        port = self.start(certificate="expired")
        self.assertIn("certificate has expired", self.fails(FAILED, *ADD_ONE, *self.on(port, tls_ca=DATA / "ca.pem")))

    def test_another_implementation_of_tls_has_a_session(self):
        port = self.start()
        client = TlsClient(port)
        self.addCleanup(client.close)
        self.assertEqual("TLSv1.3", client.connection.version())
        client.upload("kernels.c", (WORK / "kernels.c").read_bytes())
        add_one = client.kernel("kernels.c", "add_one")
        x, y = client.floats(list(range(100_000))), client.floats([0] * 100_000)
        client.call(add_one, argument(x, 100_000), argument(y, 100_000))
        self.assertEqual(list(range(1, 100_001)), client.read(y, 100_000))
        for wrong in ({"authority": "other_ca.pem"}, {"host": "board"}):
            with self.assertRaises(ssl.SSLCertVerificationError):
                TlsClient(port, **wrong)

    def test_older_tls_is_refused(self):
        context = ssl.create_default_context(cafile=str(DATA / "ca.pem"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        port = self.start()
        with socket.create_connection(("127.0.0.1", port)) as plain, self.assertRaises(ssl.SSLError):
            context.wrap_socket(plain, server_hostname="localhost")
        self.expect_message("^session 1 ends: .*the client does not speak TLS 1.3: unsupported protocol$")

    def test_clients_without_tls_are_told_so(self):
        port = self.start()
        with self.assertRaisesRegex(Refused, str(rpc_client.MAGIC + 3)):
            Client(port, "k")
        self.expect_message("^session 1 ends: .*the client does not speak TLS, which this server demands")
        self.assertIn("the server demands TLS", self.fails(FAILED, *ADD_ONE, *self.on(port)))
        plain = self.serve()
        message = self.fails(FAILED, *ADD_ONE, *self.on(plain, tls_ca=DATA / "ca.pem"))
        self.assertIn("the server closed the connection instead of a TLS handshake", message)
        self.expect_message("^session 1 ends: .*the client speaks TLS, for which this server has no certificate$")

    def test_the_secret_is_proved_within_tls(self):
        secret = WORK / "secret"
        secret.write_text(SECRET)
        secret.chmod(0o600)
        port = self.start("--secret-file", "secret")
        both = {"secret_file": "secret", "tls_ca": DATA / "ca.pem"}
        self.assertEqual(RESULT, self.succeeds(*ADD_ONE, *self.on(port, **both)))
        self.assertIn("wants a secret", self.fails(FAILED, *ADD_ONE, *self.on(port, tls_ca=DATA / "ca.pem")))
        self.assertFalse(any("not encrypted" in line for line in self.messages), self.messages)

    def test_other_machines_need_the_secret_also_within_tls(self):
        shutil.copy(DATA / "server.pem", WORK)
        shutil.copy(DATA / "server.key", WORK)
        (WORK / "server.key").chmod(0o600)
        words = ("serve", "--listen", "0.0.0.0:0", "--tls-cert", "server.pem", "--tls-key", "server.key")
        self.assertIn("give --secret-file FILE", self.fails(USAGE, *words))

    def test_a_crash_names_the_operator_within_tls(self):
        (WORK / "crash.c").write_text(
            (WORK / "kernels.c").read_text() + "KERNEL(crashes) { UNUSED; *(volatile int *)8 = 1; return 0; }\n"
        )
        (WORK / "crash.opdasm").write_text((WORK / "add_one.opdasm").read_text().replace("add_one", "crashes"))
        words = ("run", "crash.opdasm", "--import", "crash.c", "-i", "4xf32=1", *self.on(self.start(), tls_ca=DATA / "ca.pem"))
        message = self.fails(FAILED, *words)
        if "SIGSEGV" not in message:  # a sanitizer handles the signal
            self.assertIn("the server closed the connection", message)
            return
        self.assertIn("ended by SIGSEGV (it used memory that is not there) in the operator crashes", message)

    def test_a_changed_byte_never_gives_a_wrong_result(self):
        draw = random.Random(1)
        proxy = FaultyProxy(self.start(), lambda direction, offset, data: (data,))
        self.addCleanup(proxy.close)
        # Compiled here: the deadline is for what the network does.
        program = ("run", "add_one.opdasm", "--import", compile_kernels("network.so"), "-i", "4xf32=1,2,3,4")
        words = (*program, "--on", "%s,key=k,tls-fingerprint=%s" % (proxy.address, self.fingerprint), "--timeout", "5s")
        self.assertEqual(RESULT, self.succeeds(*words))
        sizes = dict(proxy.passed)
        for _ in range(12):
            direction = draw.choice(("up", "down"))
            place, mask = draw.randrange(sizes[direction]), 1 << draw.randrange(8)
            with self.subTest(direction=direction, place=place, mask=mask):
                proxy.fault = flip_at(direction, place, mask)
                result = run(*words)
                if result.returncode == OK:  # it was a byte after all that matters
                    self.assertEqual(RESULT, result.stdout)
                else:
                    self.assertEqual((FAILED, ""), (result.returncode, result.stdout), result.stderr)
                    # A changed length lets one side wait for more, until the deadline.
                    self.assertRegex(result.stderr, "%s|the deadline passed" % re.escape(proxy.address))

    def test_wrong_files_are_refused_at_the_start(self):
        shutil.copy(DATA / "server.key", WORK / "open.key")
        (WORK / "open.key").chmod(0o644)
        cert = str(DATA / "server.pem")
        self.assertIn("go together", self.fails(USAGE, "serve", "--tls-cert", cert))
        self.assertIn("chmod o= open.key", self.fails(USAGE, "serve", "--tls-cert", cert, "--tls-key", "open.key"))
        (WORK / "open.key").chmod(0o600)
        chain = str(DATA / "chain.pem")
        self.assertIn("is not the private key", self.fails(FAILED, "serve", "--tls-cert", chain, "--tls-key", "open.key"))
        self.assertIn("nowhere", self.fails(FAILED, "serve", "--tls-cert", "nowhere", "--tls-key", "open.key"))
        for words, why in (("tls-name=a", "tls-name goes with tls-ca"), ("tls-ca=", "tls-ca is empty")):
            self.assertIn(why, self.fails(USAGE, *ADD_ONE, "--on", "127.0.0.1:1," + words))

    def test_without_openssl_all_but_tls_goes_on(self):
        self.assertIn("TLS for other machines: by OpenSSL", self.succeeds("info"))
        folder = WORK / "without"
        folder.mkdir(exist_ok=True)
        (folder / "libssl.so.3").write_text("no library")
        path = ":".join(filter(None, (str(folder), os.environ.get("LD_LIBRARY_PATH"))))
        environment = dict(os.environ, LD_LIBRARY_PATH=path)
        text = run("info", env=environment).stdout
        self.assertIn("  TLS for other machines: libssl.so.3, OpenSSL's library, cannot be loaded", text)
        port = self.start()
        result = run(*ADD_ONE, *self.on(port, tls_ca=DATA / "ca.pem"), env=environment)
        self.assertEqual(FAILED, result.returncode)
        self.assertIn("TLS is not available: libssl.so.3", result.stderr)
        self.assertEqual(RESULT, run(*ADD_ONE, *self.on(self.serve()), env=environment).stdout)
