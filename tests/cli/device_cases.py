"""Devices as the program tells of them: CUDA without a driver, with a driver that finds no GPU, and with the recording driver."""

import ctypes
import json
import os
import socket
import subprocess
from pathlib import Path

import case
import npy
from case import FAILED, MISMATCH, USAGE, WORK, CliTest

# The kernels of the model "mlp" for the CPU.
MLP = """#include <math.h>
#include "kernels.c"
static float *elements(const Any *args, int i) { return (float *)((char *)tensor(args[i])->data + tensor(args[i])->offset); }
static void multiply(const Any *args, int inner, int columns, int is_positive) {
  const float *a = elements(args, 0), *b = elements(args, 1);
  float *out = elements(args, 2);
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < columns; ++column) {
      float sum = 0;
      for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * columns + column];
      out[row * columns + column] = is_positive && sum < 0 ? 0 : sum;
    }
}
KERNEL(fused_matmul_relu) { UNUSED; multiply(args, 16, 32, 1); return 0; }
KERNEL(matmul1) { UNUSED; multiply(args, 32, 4, 0); return 0; }
KERNEL(softmax) {
  UNUSED;
  for (int row = 0; row < 2; ++row) {
    const float *x = elements(args, 0) + 4 * row;
    float *out = elements(args, 1) + 4 * row, sum = 0;
    for (int i = 0; i < 4; ++i) sum += out[i] = expf(x[i]);
    for (int i = 0; i < 4; ++i) out[i] /= sum;
  }
  return 0;
}
"""


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
            "there is no device cuda:0 here: " + reason + "; this machine has cpu:0",
            self.kernel("add_one.opdasm", "--device", "cuda:0", expect=FAILED).stderr,
        )
        self.assertEqual(reason, json.loads(self.succeeds("info", "--json"))["absent_devices"]["cuda"])

    def test_without_a_gpu_the_drivers_answer_is_told(self):
        text = self.succeeds("info", env=self.recording(OPDYNO_TEST_NO_CUDA_DEVICE="1"))
        self.assertIn("cuda: libcuda.so.1 is here, but cuInit returned CUDA_ERROR_NO_DEVICE (100)", text)

    def test_kinds_without_a_back_end_name_the_page_that_adds_them(self):
        absent = json.loads(self.succeeds("info", "--json"))["absent_devices"]
        for kind in "rocm", "metal", "oneapi", "webgpu":
            self.assertEqual(
                "this build has no back end for devices of kind %s, and no plug-in has registered one "
                "(docs/devices.md: Add a kind of devices)" % kind,
                absent[kind],
            )
        told = self.kernel("add_one.opdasm", "--device", "metal:0", expect=FAILED).stderr
        self.assertIn("; this machine has " + ", ".join(device["device"] for device in json.loads(self.succeeds("info", "--json"))["devices"]), told)

    def test_devices_and_their_properties_are_listed(self):
        text = self.succeeds("info", env=self.recording())
        for part in "cuda:0", "cuda:1", "Recording driver", r"compute version: +9\.0", r"compute version: +8\.0", "warp size: +32":
            self.assertRegex(text, part)

    def test_each_property_has_a_line_and_a_member(self):
        """Those that tests/support/cuda/libcuda.cc has."""
        def properties(version):
            return {
                "name": "Recording driver", "compute version": version, "API version": 13050, "processors": 132, "clock (kHz)": 1980000,
                "warp size": 32, "threads per block": 1024, "thread dimensions": "[1024, 1024, 64]",
                "shared memory per block (bytes)": 49152, "L2 cache (bytes)": 52428800, "memory (bytes)": 1 << 30,
                "free memory (bytes)": 1 << 30,
            }  # fmt: skip
        text = self.succeeds("info", env=self.recording())
        devices = [device for device in json.loads(self.succeeds("info", "--json", env=self.recording()))["devices"] if "cuda" in device["device"]]
        for number, version in enumerate(("9.0", "8.0")):
            name, wanted = "cuda:%d" % number, properties(version)
            lines = ["  %s" % name] + ["    %-22s%s" % (key + ": ", value) for key, value in wanted.items()]
            self.assertIn("\n" + "\n".join(lines) + "\n", text)
            self.assertEqual({"device": name, **wanted}, devices[number])
        self.assertEqual(2, len(devices))

    def test_the_processor_is_the_first_device(self):
        info = json.loads(self.succeeds("info", "--json"))
        self.assertEqual(1, sum(device["device"].startswith("cpu") for device in info["devices"]))
        self.assertEqual(["build", "threads", "devices", "absent_devices", "absent_tls"], list(info))
        self.assertGreaterEqual(info["devices"][0]["processors"], 1)
        text = self.succeeds("info", env=dict(os.environ, OPDYNO_NUM_THREADS="3"))
        self.assertIn("\nthreads: 3\ndevices:\n  cpu:0\n", text)
        self.assertIn("    %-22s%d\n" % ("memory (bytes): ", info["devices"][0]["memory (bytes)"]), text)
        absent = "".join("  %s: %s\n" % pair for pair in info["absent_devices"].items())
        self.assertIn("\nnot here:\n" + absent, text)

    def test_the_peak_is_measured_on_request(self):
        text = self.succeeds("info", "--measure", env=dict(os.environ, OPDYNO_NUM_THREADS="2"))
        self.assertRegex(text, r"\nmeasured with \d threads:\n  [\d.]+ GFLOP/s \(float32\)\n  [\d.]+ GB/s\n(  other programs were running .*\n)?$")
        info = json.loads(self.succeeds("info", "--measure", "--json"))
        self.assertEqual(["threads", "gflops", "bandwidth_gbps", "spread"], list(info["peak"]))
        self.assertGreater(info["peak"]["gflops"], 0)
        self.assertGreater(info["peak"]["bandwidth_gbps"], 0)
        names = self.succeeds("info", "--functions").split("global functions:\n")[1].splitlines()
        listed = json.loads(self.succeeds("info", "--functions", "--json"))["functions"]
        self.assertEqual(["  " + name for name in listed], names)

    def test_doctor_names_the_devices(self):
        checks = json.loads(self.succeeds("doctor", "--json", "--within", "100s", env=self.recording()))["checks"]
        (cuda,) = [check for check in checks if check["name"] == "cuda"]
        self.assertEqual(("ok", "cuda:0 Recording driver; cuda:1 Recording driver", ""), (cuda["state"], cuda["cause"], cuda["remedy"]))


class GpuCheck(CliTest):
    def test_says_why_there_is_no_gpu(self):
        if has_driver():
            self.skipTest("this machine has libcuda.so.1")
        tool = Path(__file__).resolve().parents[2] / "tools" / "gpu-check"
        program = Path(case.OPDYNO)
        if program != tool.parents[1] / "build/release/bin/opdyno":
            self.skipTest("the program is not that of build/release, which the tool runs")
        done = subprocess.run([tool, "--no-build"], capture_output=True, text=True, timeout=120)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual("tools/gpu-check: skipped: there is no libcuda.so.1, which comes with NVIDIA's driver (Debian: libcuda1, from non-free)\n", done.stdout)
        self.assertEqual(2, subprocess.run([tool, "--nothing"], capture_output=True, timeout=120).returncode)


class OpenCl(CliTest):
    """TVM's programs for OpenCL, by the program. The numbers are those of the same programs for the CPU (interop/build_gpu.py)."""

    DATA = Path(os.environ["OPDYNO_INTEROP_DATA"]) / "opencl"

    def setUp(self):
        absent = json.loads(self.succeeds("info", "--json"))["absent_devices"]
        if "opencl" in absent:
            self.skipTest(absent["opencl"])

    def words_of(self, model, mode):
        names = npy.load(self.DATA / (model + ".npz"))
        inputs = ["@%s:in%d" % (self.DATA / (model + ".npz"), i) for i in range(sum(name.startswith("in") for name in names))]
        return [str(self.DATA / ("%s_%s.so" % (model, mode))), *(word for given in inputs for word in ("-i", given))]

    def test_programs_give_the_numbers_of_the_cpu(self):
        for model in "mlp", "norms", "cnn", "constants", "deep":
            arrays = npy.load(self.DATA / (model + ".npz"))
            expected = [arrays["out%d" % i] for i in range(sum(name.startswith("out") for name in arrays))]
            for mode in "bytecode", "compiled":
                with self.subTest(model=model, mode=mode):
                    told = json.loads(self.succeeds("run", *self.words_of(model, mode), "--device", "opencl:0", "--json"))
                    outputs = list(told["outputs"].values())
                    self.assertEqual(len(expected), len(outputs))
                    for output, (_, shape, numbers) in zip(outputs, expected):
                        self.assertEqual(list(shape), output["shape"])
                        self.assertEqual(len(numbers), len(output["data"]))
                        for given, wanted in zip(output["data"], numbers):
                            self.assertAlmostEqual(wanted, given, delta=1e-5 + 1e-5 * abs(wanted))

    def test_profiles_have_rows_of_the_device(self):
        for mode in "bytecode", "compiled":
            report = json.loads(self.succeeds("profile", *self.words_of("mlp", mode), "--device", "opencl:0", "--json"))
            rows = [call for call in report["calls"] if call["Name"]["string"].startswith("fused_matmul")]
            self.assertTrue(rows, report["calls"])
            self.assertEqual({"opencl0"}, {row["Device"]["string"] for row in rows})
            self.assertIn("opencl0", report["device_metrics"])

    def test_a_build_for_the_cpu_is_compared_with_one_for_opencl(self):
        program = self.words_of("mlp", "bytecode")[0]
        (WORK / "mlp_cpu.opdasm").write_text(self.succeeds("dis", program))
        (WORK / "mlp_cpu.c").write_text(MLP)
        both, seed = ("mlp_cpu.opdasm", program), ("--b-device", "opencl:0", "--repeat", "0", "--c-flags", "-O2 -lm")
        right = self.succeeds("compare", *both, *seed, "--import", "mlp_cpu.c")
        self.assertRegex(right, r"^no difference: 3 operators agree(, \d of them)? bit for bit\n$")
        wrong = MLP.replace("expf(x[i])", "expf(x[i] / 2)")
        self.assertNotEqual(MLP, wrong)
        (WORK / "mlp_cpu.c").write_text(wrong)
        told = self.check(MISMATCH, "compare", *both, *seed, "--import", "mlp_cpu.c").stdout
        self.assertRegex(told, r"^first difference at softmax: max abs .*, caused by softmax whose inputs agree\n$")
        told = self.check(MISMATCH, "compare", program, "mlp_cpu.opdasm", "--device", "opencl:0", "--b-device", "cpu:0", *seed[2:],
                          "--import", "mlp_cpu.c").stdout
        self.assertRegex(told, r"^first difference at softmax: ")

    def test_without_the_option_the_device_is_named(self):
        for command in "run", "bench", "profile":
            told = self.fails(FAILED, command, *self.words_of("mlp", "bytecode"))
            self.assertIn("The library has kernels for opencl, which run with '--device opencl:0'.\n", told)
            self.assertNotIn("which run with", self.fails(FAILED, command, *self.words_of("mlp", "bytecode"), "--device", "cpu:0"))

    def test_has_a_texture_limit(self):
        (device,) = [each for each in json.loads(self.succeeds("info", "--json"))["devices"] if each["device"] == "opencl:0"]
        self.assertGreaterEqual(device["texture limit (pixels)"], 2048)  # the least that OpenCL allows of a device with images
        self.assertIn("    %-22s%d\n" % ("texture limit (pixels): ", device["texture limit (pixels)"]), self.succeeds("info"))


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

    def test_have_the_sizes_that_were_asked_for(self):
        quick = "--repeat", "2", "--number", "1", "--min-repeat-ms", "0", "--warmup", "0"
        text = self.succeeds("bench", "--copies=1,1023,1K,1536,2M", *quick)
        lines = text.splitlines()
        self.assertEqual("copies: 2 repeats of each", lines[0])
        self.assertEqual(["1 B", "1023 B", "1 KiB", "1.5 KiB", "2 MiB"], [" ".join(line.split()[2:4]) for line in lines[2:7]])
        self.assertTrue(all(line.endswith("unknown") for line in lines[2:7]), "of two repeats there is no interval")
        self.assertTrue(lines[7].startswith("  machine: governor "))
        self.assertEqual(8, len(lines))
        whole = json.loads(self.succeeds("bench", "--copies", "--json", *quick))
        self.assertEqual(["machine", "quality", "copies"], list(whole))
        self.assertEqual(socket.gethostname(), whole["machine"])
        self.assertEqual([4 << 10, 1 << 20, 64 << 20], [copy["bytes"] for copy in whole["copies"]])
        for copy in whole["copies"]:
            self.assertEqual(["from", "to", "bytes", "repeat", "number", "median_us", "gb_per_s", "noisy", "clock"], list(copy))
            self.assertEqual((2, 1, True, "host"), (copy["repeat"], copy["number"], copy["noisy"], copy["clock"]))

    def test_of_a_device_go_there_and_back(self):
        env = dict(os.environ, LD_LIBRARY_PATH=os.environ["OPDYNO_RECORDING_CUDA"])
        text = self.succeeds("bench", "--copies=1K", "--device", "cuda:1", "--json", "--repeat", "2", "--number", "1", env=env)
        self.assertEqual(
            [("cpu:0", "cuda:1", "device"), ("cuda:1", "cpu:0", "device"), ("cuda:1", "cuda:1", "device")],
            [(c["from"], c["to"], c["clock"]) for c in json.loads(text)["copies"]],
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
