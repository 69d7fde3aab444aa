"""Tests the installed package in an environment without other packages: `python installed.py`.

With --bundled, the libraries that it needs must come from the wheel's folder opdyno.libs, which auditwheel makes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import opdyno

PROGRAM = """
.func main(x) {
  %h = call host.half(%x)
  %p = call vm.builtin.make_tuple(%h, 7)
  ret %p
}
"""


def check(good: bool, what: str) -> None:
    if not good:
        sys.exit(f"{what}: failed")
    print(f"{what}: ok")


def main() -> None:
    opdyno.register_func("host.half", lambda x: x / 2)
    vm = opdyno.VirtualMachine(opdyno.Executable.assemble(PROGRAM))
    check(vm["main"](1) == (0.5, 7), "a program with a function of Python")
    report = vm.profile("main", 1)
    check(opdyno.Report.from_json(report.json()).json() == report.json() and json.loads(report.json()), "a report (cJSON)")
    mapped = Path("/proc/self/maps").read_text()
    libm = next(line.split()[-1] for line in mapped.splitlines() if "/libm.so" in line)
    check(opdyno.load_native(libm, {"hypot": "f64(f64, f64)"})["hypot"](3.0, 4.0) == 5.0, "a function of C by its signature (libffi)")
    with tempfile.TemporaryDirectory() as directory:
        tensor = opdyno.empty((2, 3), "float32")
        memoryview(tensor).cast("B")[:] = bytes(range(24))
        opdyno.Params({"w": tensor}).save(f"{directory}/w.npz")
        read = opdyno.load_params(f"{directory}/w.npz")["w"]
        check(read.shape == (2, 3) and bytes(memoryview(read).cast("B")) == bytes(range(24)), "parameters in a file (zlib)")
    run = subprocess.run([sys.executable, "-m", "opdyno", "--version"], capture_output=True, text=True)
    check(run.returncode == 0 and opdyno.__version__ in run.stdout, "python -m opdyno")
    check("numpy" not in sys.modules, "no NumPy")
    if "--bundled" in sys.argv:
        libraries = Path(opdyno.__file__).parents[1] / "opdyno.libs"
        check(all(f"{libraries}/{name}" in mapped for name in ("libffi", "libcjson")), "libraries of the wheel")
        licences = list(libraries.parent.glob("opdyno-*.dist-info/licenses/**/*"))
        check(len([path for path in licences if path.is_file()]) >= 3, "licences of opdyno and of those libraries")


if __name__ == "__main__":
    main()
