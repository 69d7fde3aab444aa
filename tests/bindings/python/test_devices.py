"""Tests with a device other than the CPU, if there is one. The C test of OpenCL programs covers more."""

import json
import os
import subprocess
import sys

import numpy
import pytest
from conftest import DATA

import opdyno
from opdyno.profiler import ProfilerActivity, profile

DEVICE = opdyno.device("opencl:0")
pytestmark = pytest.mark.skipif(not DEVICE.exist, reason="there is no device opencl:0")


@pytest.fixture
def mlp():
    vm = opdyno.VirtualMachine(opdyno.load_module(DATA / "opencl" / "mlp_bytecode.so"), DEVICE)
    values = numpy.load(DATA / "opencl" / "mlp.npz")
    inputs = [opdyno.tensor(values[name], DEVICE) for name in sorted(values.files) if name.startswith("in")]

    def run():
        return vm["main"](*inputs)

    run.expected = values["out0"]
    run()  # compiles the kernels
    return run


def on_host(result):
    result = result if isinstance(result, opdyno.Tensor) else result[0]
    assert result.to(DEVICE) is result
    return result.to("cpu:0").view()


def test_runs_a_program(mlp):
    numpy.testing.assert_allclose(on_host(mlp()), mlp.expected, rtol=1e-4, atol=1e-5)


def test_has_its_work_in_traces(mlp, tmp_path):
    with profile() as p:
        on_host(mlp())
    table = p.key_averages().table(sort_by="self_device_time_total")
    assert "Self OPENCL" in table and "Memcpy DtoH" in table, table
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    assert len(kernels) >= 3 and all(e["dur"] > 0 for e in kernels)
    operators = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") == "cpu_op"}
    for kernel in kernels:
        assert kernel["name"].startswith(operators[kernel["args"]["External id"]]), "torch's readers join by the id"
        assert launches[kernel["args"]["correlation"]]["ts"] <= kernel["ts"], "no kernel begins before its launch"


def test_has_its_kernels_in_events(mlp):
    with profile() as p:
        on_host(mlp())
    kernels = [event for event in p.events() if event.device_type == "OPENCL"]
    assert {event.kind for event in kernels} == {"device"} and len(kernels) >= 4
    for kernel in kernels:
        assert kernel.device_index == 0 and kernel.device_resource_id == 0 and kernel.cpu_time_total == 0
        assert kernel.time_range.elapsed_us() == pytest.approx(kernel.device_time_total)
    call = next(event for event in p.events() if event.name == "fused_matmul_relu")
    assert [kernel.name for kernel in call.kernels] == ["fused_matmul_relu_kernel"]
    assert call.device_time_total == call.self_cuda_time_total == call.kernels[0].device_time > 0
    main = next(row for row in p.key_averages() if row.key == "main")
    assert main.self_device_time_total == 0 < main.device_time_total and main.device_time_total_str.endswith("s")


def test_has_its_time_by_stacks(mlp, tmp_path):
    with profile() as p:
        on_host(mlp())
    p.export_stacks(tmp_path / "stacks.txt", "self_cuda_time_total")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert any(line.startswith("main;") and int(line.split()[-1]) > 0 for line in lines), lines


def test_has_its_work_in_a_recording_from_outside(tmp_path):
    program = f"""
import numpy, opdyno
device = opdyno.device("opencl:0")
vm = opdyno.VirtualMachine(opdyno.load_module({str(DATA / "opencl" / "mlp_bytecode.so")!r}), device)
values = numpy.load({str(DATA / "opencl" / "mlp.npz")!r})
inputs = [opdyno.tensor(values[name], device) for name in sorted(values.files) if name.startswith("in")]
vm["main"](*inputs)
print("ready", flush=True)
while True:
    vm["main"](*inputs).numpy()
"""
    path = tmp_path / "control"
    environment = dict(os.environ, OPDYNO_CONTROL=str(path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            record = [sys.executable, "-m", "opdyno", "record", str(path), "--seconds", "0.3", "-o", str(tmp_path / "trace.json")]
            subprocess.run(record, check=True, timeout=60)
        finally:
            process.kill()
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(e.get("cat") == "kernel" for e in events) >= 3


def test_is_left_out_if_only_the_cpu_is_asked_for(mlp):
    with profile(activities=[ProfilerActivity.CPU]) as p:
        on_host(mlp())
    assert "OPENCL" not in p.key_averages().table()
