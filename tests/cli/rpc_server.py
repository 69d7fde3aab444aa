"""A running `opdyno serve`, its messages, and clients of it."""

import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from case import OPDYNO, WORK, CliTest
from rpc_client import Client


class ServerCliTest(CliTest):
    def serve(self, *words, key="k", **settings):
        """Starts a server; gives its port. `self.server` is the last one."""
        self.server = subprocess.Popen(
            [OPDYNO, "serve", "--listen", "127.0.0.1:0", *(("--key", key) if key else ()), *words],
            cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings,
        )  # fmt: skip
        self.addCleanup(self.stop, server=self.server)
        self.messages, self.came = [], threading.Condition()
        line = self.server.stdout.readline()
        self.sandbox = self.server.stdout.readline()
        threading.Thread(target=self.listen, args=(self.server.stderr,), daemon=True).start()
        found = re.fullmatch(r"serving at 127\.0\.0\.1:(\d+)(, key \w+)?\n", line)
        self.assertTrue(found, line)
        return int(found[1])

    def listen(self, stream):
        messages, came = self.messages, self.came
        with stream:
            for line in stream:
                with came:
                    messages.append(line.rstrip("\n"))
                    came.notify_all()

    def expect_message(self, pattern):
        with self.came:
            came = self.came.wait_for(lambda: any(re.search(pattern, line) for line in self.messages), 60)
            self.assertTrue(came, "%s is not in %s" % (pattern, self.messages))

    def skip(self, reason):
        print("\nskipped: " + reason, flush=True)
        self.skipTest(reason)

    def stop(self, how=signal.SIGTERM, server=None):
        server = server or self.server
        if server.poll() is None:
            server.send_signal(how)
        code = server.wait(60)
        server.stdout.close()
        return code

    def client(self, *words, **settings):
        made = Client(*words, **settings)
        self.addCleanup(made.close)
        return made

    def wait_until(self, is_so):
        end = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def sessions(self):
        """The processes of the server's sessions."""
        children = Path("/proc/%d/task/%d/children" % (self.server.pid, self.server.pid))
        return [int(word) for word in children.read_text().split()]
