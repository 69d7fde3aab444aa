"""What becomes of a run on another machine if the network between fails: its right result or an error, and soon."""

import os
import random
import struct
import time

from case import FAILED, OK, compile_kernels, run
from faulty_proxy import Cut, FaultyProxy, HalfClosed, cut_at, flip_at
from rpc_server import ServerCliTest

WORDS = ("run", "add_one.opdasm", "--import", "network.so", "-i", "4xf32=1,2,3,4")
RESULT = "out: float32[4]\n[2 3 4 5]\n"


def whole(_, __, data):
    yield data


class NetworkFaults(ServerCliTest):
    def setUp(self):
        compile_kernels("network.so")
        self.proxy = FaultyProxy(self.serve(), whole)
        self.addCleanup(self.proxy.close)

    def run_over(self, fault, *words, **settings):
        self.proxy.fault = fault
        return run(*WORDS, *words, "--on", self.proxy.address + ",key=k", **settings)

    def sizes(self):
        self.assertEqual(RESULT, self.run_over(whole).stdout)
        return self.proxy.passed

    def places(self, size, count):
        """Places of a direction: its begin and its end, and some between."""
        return sorted({0, 1, size // 2, size - 1} | {size * i // count for i in range(count)})

    def test_pieces_of_any_size_are_put_together(self):
        for most in (1, 7):
            draw = random.Random(most)

            def pieces(direction, offset, data):
                while data:
                    # The library itself goes by greater pieces: it is 16 KB.
                    size = draw.randint(1, most) if len(data) < 2000 else 1500
                    piece, data = data[:size], data[size:]
                    yield piece

            result = self.run_over(pieces)
            self.assertEqual((OK, RESULT, ""), (result.returncode, result.stdout, result.stderr))

    def test_delays_change_nothing(self):
        def late(_, __, data):
            time.sleep(0.01)
            yield data

        result = self.run_over(late)
        self.assertEqual((OK, RESULT, ""), (result.returncode, result.stdout, result.stderr))

    def test_a_cut_is_an_error_that_names_the_machine(self):
        sizes = self.sizes()
        for how in (Cut, HalfClosed):
            for direction in ("up", "down"):
                for place in self.places(sizes[direction], 8):
                    with self.subTest(how=how.__name__, direction=direction, place=place):
                        result = self.run_over(cut_at(direction, place, how))
                        if result.returncode == OK:  # all that matters had arrived
                            self.assertEqual(RESULT, result.stdout)
                            continue
                        self.assertEqual((FAILED, ""), (result.returncode, result.stdout))
                        self.assertIn(self.proxy.address, result.stderr)
        self.sizes()  # the server goes on

    def test_a_changed_number_is_an_error(self):
        for direction, numbers in (("up", (1, 2, 3, 4)), ("down", (2, 3, 4, 5))):
            whole_tensor, changed = struct.pack("<4f", *numbers), struct.pack("<4f", 7, *numbers[1:])

            def change(where, _, data, direction=direction, whole_tensor=whole_tensor, changed=changed):
                yield data.replace(whole_tensor, changed) if where == direction else data

            with self.subTest(direction=direction):
                result = self.run_over(change)
                self.assertEqual((FAILED, ""), (result.returncode, result.stdout))
                self.assertIn("bytes were changed on their way: the checksum of a packet is wrong", result.stderr)
                # Without checksums, nobody notices.
                result = self.run_over(change, env=dict(os.environ, OPDYNO_RPC_CHECKSUMS="0"))
                first = 8 if direction == "up" else 7
                self.assertEqual((OK, RESULT.replace("[2", "[%d" % first)), (result.returncode, result.stdout))

    def test_a_changed_byte_gives_no_wrong_result(self):
        draw, sizes = random.Random(1), self.sizes()
        for _ in range(24):
            direction = draw.choice(("up", "down"))
            place, mask = draw.randrange(sizes[direction]), 1 << draw.randrange(8)
            with self.subTest(direction=direction, place=place, mask=mask):
                # In the greeting, a changed length has both sides wait for what never comes.
                result = self.run_over(flip_at(direction, place, mask), "--timeout", "5s")
                if result.returncode == OK:  # the byte was one of the greeting, or of what nobody waits for
                    self.assertEqual(RESULT, result.stdout)
                    continue
                self.assertEqual((FAILED, ""), (result.returncode, result.stdout))
                self.assertTrue(result.stderr.startswith("opdyno run: "), result.stderr)
        self.sizes()
