"""Devices as the program tells of them: CUDA without a driver, with a driver that finds no GPU, and with the recording driver."""

import ctypes
import json
import os

from case import FAILED, CliTest


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
