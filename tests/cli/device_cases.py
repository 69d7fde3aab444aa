"""Devices as the program tells of them: CUDA without a driver, with a driver that finds no GPU, and with the recording driver."""

import ctypes
import json
import os

from case import FAILED, USAGE, CliTest


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Cuda(CliTest):
    @staticmethod
    def recording(**variables):
        return dict(os.environ, LD_LIBRARY_PATH=os.environ["OPDYNO_RECORDING_CUDA"], **variables)

    def test_without_a_driver_the_library_that_is_missing_is_named(self):
        if has_driver():
            self.skipTest("this machine has libcuda.so.1")
        reason = "there is no libcuda.so.1, which comes with NVIDIA's driver (Debian: libcuda1, from non-free)"
        self.assertIn(
            "there is no device cuda:0 here: " + reason, self.kernel("add_one.opdasm", "--device", "cuda:0", expect=FAILED).stderr
        )
        self.assertEqual(reason, json.loads(self.succeeds("info", "--json"))["absent_devices"]["cuda"])

    def test_without_a_gpu_the_drivers_answer_is_told(self):
        text = self.succeeds("info", env=self.recording(OPDYNO_TEST_NO_CUDA_DEVICE="1"))
        self.assertIn("cuda: libcuda.so.1 is here, but cuInit gave CUDA_ERROR_NO_DEVICE (100)", text)

    def test_devices_and_their_properties_are_listed(self):
        text = self.succeeds("info", env=self.recording())
        for part in "cuda:0", "cuda:1", "Recording driver", r"compute version: +9\.0", r"compute version: +8\.0", "warp size: +32":
            self.assertRegex(text, part)


class MemoryCopies(CliTest):
    def test_of_the_host_have_a_rate(self):
        quick = "--repeat", "6", "--min-repeat-ms", "0", "--warmup", "0"
        copies = json.loads(self.succeeds("bench", "--copies=4K,1M", "--json", *quick))["copies"]
        self.assertEqual([("cpu:0", "cpu:0", 4096), ("cpu:0", "cpu:0", 1 << 20)], [(c["from"], c["to"], c["bytes"]) for c in copies])
        for copy in copies:
            self.assertAlmostEqual(copy["gb_per_s"], copy["bytes"] / copy["median_us"] * 1e-3, delta=copy["gb_per_s"] * 1e-6)
            self.assertEqual(6, copy["repeat"])
        text = self.succeeds("bench", "--copies=3M", *quick)
        self.assertRegex(text, r"(?m)^ +from +to +size +median +GB/s +95 % interval$")
        self.assertRegex(text, r"(?m)^ +cpu:0 +cpu:0 +3 MiB +[\d.]+ [nm]?u?s +[\d.]+ ")

    def test_of_a_device_go_there_and_back(self):
        env = dict(os.environ, LD_LIBRARY_PATH=os.environ["OPDYNO_RECORDING_CUDA"])
        text = self.succeeds("bench", "--copies=1K", "--device", "cuda:1", "--json", "--repeat", "2", "--number", "1", env=env)
        self.assertEqual(
            [("cpu:0", "cuda:1"), ("cuda:1", "cpu:0"), ("cuda:1", "cuda:1")],
            [(c["from"], c["to"]) for c in json.loads(text)["copies"]],
        )

    def test_that_cannot_be_are_refused(self):
        for words, message in (
            (["--copies=0"], "takes sizes from 1 to 1T"),
            (["--copies=1K,,2K"], "not ''"),
            (["--copies=2T"], "not '2T'"),
            (["--copies", "x.so"], "leave MOD out"),
            (["--copies", "--sweep", "n=1"], "--sweep does not go with --copies"),
            ([], "expected MOD [FN] or --copies after 'bench', found nothing"),
        ):
            with self.subTest(words):
                self.assertIn(message, self.fails(USAGE, "bench", *words))
