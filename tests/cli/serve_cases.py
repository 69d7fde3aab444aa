"""profile --serve: one page for a browser on this machine."""

import http.client
import re
import signal
import socket
import subprocess
import time

from case import OPDYNO, WORK, CliTest, compile_kernels


class Serve(CliTest):
    def setUp(self):
        words = ["profile", "add_one.opdasm", "--import", compile_kernels("serve_kernels.so"), "--serve"]
        self.process = subprocess.Popen([OPDYNO, *words], cwd=WORK, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.process.communicate)
        self.addCleanup(self.process.kill)
        line = self.process.stderr.readline()
        found = re.fullmatch(r"opdyno profile: http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/) shows the trace; Ctrl-C ends this\n", line)
        self.assertTrue(found, line)
        self.port, self.path = int(found[1]), found[2]

    def request(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        self.assertEqual((0, ""), (self.process.returncode, err))
        return out

    def test_a_browser_gets_the_page_any_number_of_times_until_ctrl_c(self):
        for _ in range(3):
            answer, page = self.request(self.path)
            self.assertEqual((200, "text/html; charset=utf-8"), (answer.status, answer.getheader("Content-Type")))
            self.assertEqual("no-store", answer.getheader("Cache-Control"))
            self.assertTrue(page.startswith(b"<!DOCTYPE html>"))
        self.assertTrue(page.rstrip().endswith(b"</html>"))
        answer, nothing = self.request(self.path, "HEAD")
        self.assertEqual((200, str(len(page)), b""), (answer.status, answer.getheader("Content-Length"), nothing))
        self.assertIn("add_one", self.end(), "the table is there as well")

    def test_nothing_else_is_there(self):
        for path in ("/", self.path + "x", self.path[:-1], self.path + "?x", "/../" + self.path, "/favicon.ico"):
            answer, content = self.request(path)
            self.assertEqual((404, b"There is no such page.\n"), (answer.status, content), path)
        self.end(signal.SIGTERM)

    def test_clients_that_wait_delay_no_other_one(self):
        idle = [self.connect() for _ in range(100)]  # as a browser's spare connections
        for client in idle:
            self.addCleanup(client.close)
        self.assertEqual(200, self.request(self.path)[0].status)
        with self.connect() as slow:
            for byte in b"GET " + self.path.encode() + b" HTTP/1.1\r\n\r\n":
                slow.sendall(bytes([byte]))
            self.assertTrue(slow.recv(100).startswith(b"HTTP/1.1 200 OK"))
        self.end()

    def test_a_client_that_says_nothing_is_let_go(self):
        with self.connect() as silent, self.connect() as slow:
            slow.sendall(b"GET " + self.path.encode())
            begin = time.monotonic()
            self.assertEqual((b"", b""), (silent.recv(100), slow.recv(100)))
            self.assertGreater(time.monotonic() - begin, 3)  # it has 5 s
        self.assertEqual(200, self.request(self.path)[0].status)
        self.end()

    def test_a_request_may_have_8_kib(self):
        for size, answered in (8000, True), (16000, False):
            with self.connect() as client:
                client.sendall(b"GET " + self.path.encode() + b" HTTP/1.1\r\nX: " + b"x" * size)
                try:
                    client.sendall(b"\r\n\r\n")
                    self.assertEqual(answered, client.recv(100).startswith(b"HTTP/1.1 200 OK"), size)
                except OSError:
                    self.assertFalse(answered)
        self.end()

    def test_what_is_no_request_does_no_harm(self):
        for text in (b"", b"\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"\0" * 100, b"GET " + b"x" * 20000, b"GET\r\n\r\n"):
            with self.connect() as client:
                try:
                    client.sendall(text)
                    client.shutdown(socket.SHUT_WR)
                    self.assertEqual(b"", client.recv(100), text)
                except OSError:
                    pass  # it did not read all
        with self.connect() as idle:
            idle.sendall(b"GET ")
            self.assertEqual(200, self.request(self.path)[0].status)
            with self.connect():
                self.end()
