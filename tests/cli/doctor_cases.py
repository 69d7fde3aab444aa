"""opdyno doctor: what it says of this machine, and of others by copies of their files of /proc and /sys."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

from case import COMPILER, FAILED, HAS_ASAN, MISMATCH, OPDYNO, USAGE, WORK, CliTest

NAMES = ["counters", "kernel-events", "papi", "energy", "clock", "governor", "quota", "cache", "compiler", "cuda", "opencl",
         "vulkan", "nvml", "tls", "python", "tvm", "tvm-ffi"]
PATIENT = ("--within", "100s")  # busy machines are slow
CLOCK = "/sys/devices/system/clocksource/clocksource0/"
X86 = "vendor_id : GenuineIntel\nflags : fpu %s\n"


class DoctorCase:
    def checks(self, *words, within=PATIENT, without=(), preexec_fn=None, **environment):
        """The checks by their names."""
        settings = dict(os.environ, **environment)
        for name in {"VIRTUAL_ENV", *without} - set(environment):
            settings.pop(name, None)
        text = self.succeeds("doctor", "--json", *within, *words, env=settings, preexec_fn=preexec_fn)
        return {check["name"]: check for check in json.loads(text)["checks"]}

    def machine(self, files):
        """A root with these files."""
        root = WORK / "machine"
        shutil.rmtree(root, ignore_errors=True)
        for path, content in files.items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.checks(OPDYNO_SYSTEM_ROOT=str(root))

    def program(self, name, text):
        """A directory with an executable script of that name."""
        directory = WORK / "programs" / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("#!/bin/sh\n" + text)
        (directory / name).chmod(0o755)
        return str(directory)

    def wait_until_ended(self, process):
        """A signal that ends a process takes its time on a busy machine."""
        end = time.monotonic() + 60
        while True:
            try:
                if Path("/proc/%d/stat" % process).read_text().rpartition(")")[2].split()[0] == "Z":
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            self.assertLess(time.monotonic(), end, "process %d was not ended" % process)
            time.sleep(0.01)

    def assertCheck(self, check, state, cause, remedy=None):
        self.assertEqual(state, check["state"], check)
        self.assertRegex(check["cause"], cause)
        if remedy is not None:
            self.assertEqual(remedy, check["remedy"])


class Doctor(DoctorCase, CliTest):
    def test_each_check_is_a_line_with_a_cause(self):
        lines = self.succeeds("doctor", *PATIENT).splitlines()
        found = [re.match(r"^(\S+) +(ok|limited|missing) +(\S.*)$", line) for line in lines[:-1] if not line.startswith(" " * 24 + "mend: ")]
        self.assertTrue(all(found), lines)
        self.assertEqual(NAMES, [line[1] for line in found])
        counts = [sum(line[2] == state for line in found) for state in ("ok", "limited", "missing")]
        self.assertEqual("%d ok, %d limited, %d missing" % tuple(counts), lines[-1])

    def test_json_has_the_same_checks(self):
        report = json.loads(self.succeeds("doctor", "--json", *PATIENT))
        self.assertEqual({"version", "checks"}, set(report))
        self.assertEqual(NAMES, [check["name"] for check in report["checks"]])
        for check in report["checks"]:
            self.assertEqual(["name", "state", "cause", "remedy"], list(check))
            self.assertIn(check["state"], ("ok", "limited", "missing"))
            self.assertTrue(check["cause"])

    def test_a_required_check_that_is_not_ok_is_exit_code_1(self):
        self.checks("--require", "tls", "--require", "compiler")
        settings = dict(os.environ, CC="/none/cc")
        result = self.check(MISMATCH, "doctor", "--require", "tls", "--require", "compiler", *PATIENT, env=settings)
        self.assertIn("opdyno doctor: the check compiler is missing: there is no C compiler", result.stderr)
        self.assertEqual(len(NAMES), len(re.findall(r"(?m)^\S+ +(?:ok|limited|missing) ", result.stdout)), "the table comes all the same")
        message = self.fails(USAGE, "doctor", "--require", "compilers")
        self.assertIn("takes the name of a check, not 'compilers'. Did you mean 'compiler'? There are counters, ", message)
        self.assertIn("at most 10m", self.fails(USAGE, "doctor", "--within", "11m"))

    def test_a_table_fits_a_terminal_but_for_commands(self):
        for columns in (60, 80):
            for line in self.on_terminal("doctor", *PATIENT, columns=columns).splitlines():
                if "mend: " not in line:
                    self.assertTrue(len(line) <= columns or " " not in line[24:], line)
        self.on_terminal("doctor", *PATIENT, columns=20)

    def test_a_closed_output_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([OPDYNO, "doctor", *PATIENT], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(FAILED, result.returncode)
        self.assertIn("No space left on device", result.stderr)
        result = subprocess.run(["sh", "-c", '"$0" doctor --within 100s >&-', OPDYNO], stderr=subprocess.PIPE, text=True)
        self.assertEqual(FAILED, result.returncode)

    def test_nothing_is_left_running_or_behind(self):
        temporary = WORK / "temporary"
        temporary.mkdir()
        directory = self.program("python3", "echo $$ > $0.pid\nsleep 1000 &\necho $! > $0.child\nsleep 1000\n")
        check = self.checks(within=("--within", "5s"), TMPDIR=str(temporary), PATH=directory + ":" + os.environ["PATH"])["python"]
        self.assertCheck(check, "limited", "/python3 did not end in time$", "opdyno doctor --within 10s")
        for name in ("python3.pid", "python3.child"):
            self.wait_until_ended(int(Path(directory, name).read_text()))
        self.assertEqual([], [name for name in os.listdir(temporary) if name.startswith("opdyno-doctor")])

    def test_what_it_started_ends_with_it_if_it_is_killed(self):
        directory = self.program("python3", "echo $$ > $0.pid.new\nmv $0.pid.new $0.pid\nexec sleep 1000\n")
        started = Path(directory, "python3.pid")
        started.unlink(missing_ok=True)
        settings = dict(os.environ, PATH=directory + ":" + os.environ["PATH"])
        settings.pop("VIRTUAL_ENV", None)
        doctor = subprocess.Popen([OPDYNO, "doctor", *PATIENT], env=settings, stdout=subprocess.DEVNULL)
        self.addCleanup(doctor.kill)
        end = time.monotonic() + 60
        while not started.exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process = int(started.read_text())
        self.assertTrue(Path("/proc/%d" % process).exists())
        doctor.kill()
        doctor.wait()
        self.wait_until_ended(process)

    def test_what_one_that_was_killed_left_is_removed_by_the_next(self):
        temporary = WORK / "left"
        ended = subprocess.Popen(["true"])
        ended.wait()
        names = ["opdyno-doctor-%d-abcdef" % process for process in (ended.pid, os.getpid())] + ["opdyno-doctor-mine"]
        for name in names:
            (temporary / name / "opdyno-build-x").mkdir(parents=True)
        self.checks(TMPDIR=str(temporary))
        self.assertEqual(sorted(names[1:]), sorted(os.listdir(temporary)))

    @unittest.skipIf(HAS_ASAN, "UndefinedBehaviorSanitizer needs descriptors to look at memory")
    def test_a_check_that_cannot_be_started_costs_only_itself(self):
        checks = self.checks(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)))
        self.assertIn("could not be started: ", " ".join(check["cause"] for check in checks.values()))
        self.assertIn("clock", checks)


class DoctorMachines(DoctorCase, CliTest):
    def test_the_clock_source_is_judged(self):
        fast = X86 % "constant_tsc nonstop_tsc"
        for files, state, cause, remedy in (
            ({CLOCK + "current_clocksource": "tsc\n", "/proc/cpuinfo": fast}, "ok", "clock source is tsc$", ""),
            ({CLOCK + "current_clocksource": "kvm-clock\n", "/proc/cpuinfo": fast}, "ok", "kvm-clock$", ""),
            ({CLOCK + "current_clocksource": "arch_sys_counter\n", "/proc/cpuinfo": "CPU part : 0xd0c\n"}, "ok", "arch_sys_counter$", ""),
            ({CLOCK + "current_clocksource": "tsc\n", "/proc/cpuinfo": X86 % "tsc"}, "limited", "not invariant", ""),
            ({CLOCK + "current_clocksource": "hpet\n", CLOCK + "available_clocksource": "hpet acpi_pm \n"}, "limited",
             "hpet, .*does not trust the processor's counter", ""),
            ({CLOCK + "current_clocksource": "acpi_pm\n", CLOCK + "available_clocksource": "tsc hpet acpi_pm \n"}, "limited",
             "acpi_pm, .*was not chosen", "echo tsc | sudo tee " + CLOCK + "current_clocksource"),
            ({}, "limited", "does not report its clock source", ""),
        ):
            self.assertCheck(self.machine(files)["clock"], state, cause, remedy)

    def test_governors_of_all_processors_are_read(self):
        def machine(*governors, **files):
            cpus = {"/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor" % i: name + "\n" for i, name in enumerate(governors)}
            return self.machine({**cpus, **files})["governor"]

        self.assertCheck(machine("performance", "performance"), "ok", "is performance$", "")
        mend = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        self.assertCheck(machine("performance", *["powersave"] * 11), "limited", "is performance, powersave: ", mend)
        self.assertCheck(machine(), "missing", "there is no cpufreq", "")
        virtual = {"/proc/cpuinfo": X86 % "hypervisor", "/sys/class/dmi/id/sys_vendor": "QEMU\n", "/sys/class/dmi/id/product_name": "Standard PC\n"}
        self.assertCheck(machine(**virtual), "missing", r"host of this virtual machine \(QEMU Standard PC\)", "")

    def test_the_least_quota_of_the_groups_counts(self):
        two = "/sys/fs/cgroup"
        one = "/sys/fs/cgroup/cpu"
        for files, state, cause in (
            ({two + "/cpu.max": "max 100000\n", "/proc/self/cgroup": "0::/\n"}, "ok", "not limited"),
            ({two + "/cpu.max": "50000 100000\n", "/proc/self/cgroup": "0::/\n"}, "limited", r"allows 0\.5 processors"),
            ({two + "/a/cpu.max": "25000 100000\n", two + "/a/b/cpu.max": "max 100000\n", "/proc/self/cgroup": "0::/a/b\n"}, "limited", r"0\.25 processors"),
            ({two + "/a/cpu.max": "max 100000\n", two + "/a/b/cpu.max": "75000 100000\n", "/proc/self/cgroup": "0::/a/b\n"}, "limited", r"0\.75 processors"),
            ({two + "/cpu.max": "50000 100000\n", "/proc/self/cgroup": "0::/../x\n"}, "limited", r"0\.5 processors"),
            ({two + "/cpu.max": "1000000000 100000\n"}, "ok", "quota of 1e.04 processors covers"),
            ({one + "/cpu.cfs_quota_us": "-1\n", one + "/cpu.cfs_period_us": "100000\n", "/proc/self/cgroup": "3:cpu,cpuacct:/\n"}, "ok", "not limited"),
            ({one + "/g/cpu.cfs_quota_us": "20000\n", one + "/g/cpu.cfs_period_us": "100000\n", "/proc/self/cgroup": "3:cpuacct,cpu:/g\n1:name=systemd:/x\n"},
             "limited", r"0\.2 processors"),
            ({}, "ok", "tells of no quota"),
            ({two + "/cpu.max": "x 0\n"}, "ok", "tells of no quota"),
        ):
            self.assertCheck(self.machine(files)["quota"], state, cause)
        files = {two + "/cpu.max": "50000 100000\n"}
        self.assertEqual("sudo systemctl set-property UNIT CPUQuota=", self.machine(files)["quota"]["remedy"])
        self.assertEqual("docker update --cpus=$(nproc) CONTAINER", self.machine({**files, "/.dockerenv": ""})["quota"]["remedy"])
        files["/proc/1/cgroup"] = "0::/kubepods/x\n"
        self.assertIn("kubectl", self.machine(files)["quota"]["remedy"])

    def test_a_gpu_on_the_bus_without_a_driver_is_told(self):
        if "no libcuda" not in self.checks()["cuda"]["cause"]:
            self.skipTest("skipped: there is a driver here")
        gpu = {"/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n", "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n"}
        self.assertCheck(self.machine({**gpu, "/etc/os-release": "NAME=x\nID=ubuntu\n"})["cuda"], "missing", "^there is no libcuda", "sudo ubuntu-drivers install")
        sound = dict(gpu, **{"/sys/bus/pci/devices/0000:01:00.0/class": "0x040300\n"})
        self.assertCheck(self.machine(sound)["cuda"], "missing", "^this machine shows no GPU of NVIDIA's", "")

    def test_nvml_is_mended_where_there_is_a_gpu(self):
        if "no libnvidia-ml" not in self.checks()["nvml"]["cause"]:
            self.skipTest("skipped: there is NVIDIA's library here")
        self.assertCheck(self.machine({})["nvml"], "missing", "^this machine shows no GPU of NVIDIA's: .*no libnvidia-ml", "")
        gpu = {"/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n", "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n"}
        for files in gpu, {"/proc/driver/nvidia/version": ""}:
            self.assertCheck(self.machine(files)["nvml"], "missing", "^(?!this machine).*no libnvidia-ml", "sudo apt install libnvidia-ml1")
        self.assertCheck(self.machine({**gpu, "/.dockerenv": ""})["nvml"], "missing", "^(?!this machine).*no libnvidia-ml",
                         "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE")
        other = {**gpu, "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x8086\n"}
        self.assertCheck(self.machine(other)["nvml"], "missing", "^this machine shows no GPU of NVIDIA's", "")

    def test_strange_files_are_no_harm(self):
        places = [CLOCK + "current_clocksource", CLOCK + "available_clocksource", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                  "/sys/fs/cgroup/cpu.max", "/proc/self/cgroup", "/proc/1/cgroup", "/proc/cpuinfo", "/proc/sys/kernel/perf_event_paranoid",
                  "/sys/class/dmi/id/sys_vendor", "/sys/hypervisor/type", "/run/systemd/container", "/etc/os-release"]
        for content in (bytes(range(256)) * 500, b"", b"\x1b[31m" * 20000, b"9" * 300000, b"/" * 100000, b"\n" * 300000, b"0::" + b"/a" * 100000):
            checks = self.machine({place: content for place in places})
            for check in checks.values():
                for text in check.values():
                    self.assertNotRegex(text, "[\x00-\x1f]")
                    self.assertLess(len(text), 1500, check)
        root = WORK / "machine"
        for place in places:
            (root / place.lstrip("/")).unlink()
            os.mkfifo(root / place.lstrip("/"))
        self.assertCheck(self.checks(OPDYNO_SYSTEM_ROOT=str(root))["clock"], "limited", "does not report")
        self.assertEqual(NAMES, list(self.checks(OPDYNO_SYSTEM_ROOT="/none")))


class DoctorPrograms(DoctorCase, CliTest):
    def test_the_compiler_is_tried(self):
        self.assertCheck(self.checks(CC="/none/cc")["compiler"], "missing", '^there is no C compiler "/none/cc"', "unset CC")
        directory = self.program("broken", "echo it is broken >&2\nexit 1\n")
        self.assertCheck(self.checks(CC=directory + "/broken")["compiler"], "missing", "it is broken")
        directory = self.program("hangs", "sleep 1000\n")
        self.assertCheck(self.checks(within=("--within", "1s"), CC=directory + "/hangs")["compiler"], "missing", ".")
        self.assertCheck(self.checks(CC=COMPILER)["compiler"], "ok", "compiles C sources and links objects$", "")
        checks = self.checks(PATH="/none", without=("CC",))
        self.assertCheck(checks["compiler"], "missing", '"cc"', "sudo apt install gcc libc6-dev")
        self.assertCheck(checks["python"], "missing", "^there is no python3 in PATH$", "sudo apt install python3")
        self.assertCheck(checks["tvm"], "missing", "^there is no python3 in PATH$", "")

    def test_a_cache_directory_that_cannot_be_used_is_told(self):
        (WORK / "plain").write_text("")
        checks = self.checks(OPDYNO_CACHE_DIR=str(WORK / "plain/cache"))
        self.assertCheck(checks["cache"], "missing", "^the cache directory cannot be used: ", "export OPDYNO_CACHE_DIR=$(mktemp -d)")
        self.assertCheck(checks["compiler"], "ok", ".")
        checks = self.checks(OPDYNO_CACHE_DIR=str(WORK / "fresh"))
        self.assertCheck(checks["cache"], "ok", "kept in %s$" % re.escape(str(WORK / "fresh")))
        checks = self.checks(XDG_CACHE_HOME=str(WORK / "xdg"), without=("OPDYNO_CACHE_DIR",))
        self.assertCheck(checks["cache"], "ok", "kept in %s$" % re.escape(str(WORK / "xdg/opdyno")))
        self.checks(without=("OPDYNO_CACHE_DIR", "XDG_CACHE_HOME", "HOME"))
        os.chmod(WORK / "fresh", 0o777)
        checks = self.checks(OPDYNO_CACHE_DIR=str(WORK / "fresh"), CC="/none/cc")
        self.assertCheck(checks["cache"], "missing", "others may write")
        self.assertCheck(checks["compiler"], "missing", "no C compiler")

    def test_a_compiler_is_tried_although_the_cache_has_its_results(self):
        directory = WORK / "programs/later"
        text = 'case " $* " in *" --version "*) exec %s "$@";; esac\n[ -e %s/is_broken ] && { echo it broke >&2; exit 1; }\nexec %s "$@"\n'
        self.program("later", text % (COMPILER, directory, COMPILER))
        settings = {"CC": str(directory / "later"), "OPDYNO_CACHE_DIR": str(WORK / "later_cache")}
        self.assertCheck(self.checks(**settings)["compiler"], "ok", r"/later compiles C sources and links objects$", "")
        (directory / "is_broken").write_text("")
        checks = self.checks(**settings)
        self.assertCheck(checks["compiler"], "missing", "it broke", "unset CC")
        self.assertCheck(checks["cache"], "ok", "^compiled files are kept in %s$" % re.escape(str(WORK / "later_cache")), "")

    def test_the_cache_is_where_the_environment_leads(self):
        for name in "cache_home", "cache_xdg":
            (WORK / name).mkdir(exist_ok=True)
        (WORK / "cache_file").write_text("")
        home, xdg, file = (str(WORK / name) for name in ("cache_home", "cache_xdg", "cache_file"))
        for variables, place in (
            ({"HOME": home}, home + "/.cache/opdyno"),
            ({"HOME": home, "XDG_CACHE_HOME": "relative"}, home + "/.cache/opdyno"),
            ({"HOME": home, "XDG_CACHE_HOME": xdg}, xdg + "/opdyno"),
            ({"HOME": home, "XDG_CACHE_HOME": file}, home + "/.cache/opdyno"),
            ({"HOME": file}, "/tmp/opdyno-%d" % os.geteuid()),
        ):
            checks = self.checks(without=("OPDYNO_CACHE_DIR", "XDG_CACHE_HOME"), **variables)
            self.assertCheck(checks["cache"], "ok", "^compiled files are kept in %s$" % re.escape(place))

    def test_a_driver_that_crashes_or_hangs_ends_its_own_check_only(self):
        directory = WORK / "driver"
        directory.mkdir(exist_ok=True)
        for body, state, cause, remedy in (
            ("*(volatile int *)8 = 1;", "limited", r"^the check ended (by signal 11|with exit code)", ""),
            ("for (;;) pause();", "limited", "^the check did not end in time, perhaps in a driver", "opdyno doctor --within 10s"),
        ):
            (directory / "driver.c").write_text("#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { %s }\n" % body)
            subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"], cwd=directory, check=True)
            checks = self.checks(within=("--within", "3s"), LD_LIBRARY_PATH=str(directory))
            self.assertCheck(checks["cuda"], state, cause, remedy)
            self.assertEqual(NAMES, list(checks))

    def test_tls_is_tried(self):
        if self.checks()["tls"]["state"] != "ok":
            self.skipTest("skipped: OpenSSL is not here")
        self.assertCheck(self.checks()["tls"], "ok", "^connections with other machines can go through TLS$", "")
        folder = WORK / "without_tls"
        folder.mkdir(exist_ok=True)
        (folder / "libssl.so.3").write_text("no library")
        path = ":".join(filter(None, (str(folder), os.environ.get("LD_LIBRARY_PATH"))))
        self.assertCheck(self.checks(LD_LIBRARY_PATH=path)["tls"], "missing", "^libssl.so.3, OpenSSL's library, cannot be loaded", "sudo apt install libssl3")

    def test_what_python_has_is_read(self):
        site = WORK / "site"
        for package, module, state, cause in (
            ("apache_tvm-0.27.0.dist-info", "tvm", "ok", "artifacts of apache-tvm 0.27.0 in .* load here$"),
            ("apache_tvm-0.24.1.dist-info", "tvm", "limited", "load here, but are not tested"),
            ("tvm-0.14.0-py3.11.egg-info", "tvm", "missing", "artifacts of tvm 0.14.0 in .* are refused here"),
            ("apache_tvm-9.9.0.dist-info", "tvm", "limited", "is newer than this opdyno"),
            ("mlc_ai_nightly_cpu-0.20.dev1.dist-info", "tvm", "limited", "which release of TVM mlc-ai-nightly-cpu"),
            ("", "tvm", "limited", "^TVM in %s does not state its version" % re.escape(str(site))),
        ):
            shutil.rmtree(site, ignore_errors=True)
            (site / module).mkdir(parents=True)
            (site / module / "__init__.py").write_text("raise SystemExit('it must not be imported')")
            if package:
                (site / package).mkdir()
            directory = self.program("python3", 'exec "%s" "$@"\n' % sys.executable)
            self.assertCheck(self.checks(PATH=directory + ":/usr/bin:/bin", PYTHONPATH=str(site))["tvm"], state, cause)
        (site / "apache_tvm_ffi-0.1.15.dist-info").mkdir()
        self.assertCheck(self.checks(PATH=directory + ":/usr/bin:/bin", PYTHONPATH=str(site))["tvm-ffi"], "ok", "kernels of apache-tvm-ffi 0.1.15")

    def test_the_active_environment_comes_before_path(self):
        directory = WORK / "venv with 'quotes"
        (directory / "bin").mkdir(parents=True, exist_ok=True)
        (directory / "bin/python").write_text("#!/bin/sh\nprintf 'python\\t3.99.1\\nend\\n'\n")
        (directory / "bin/python").chmod(0o755)
        checks = self.checks(VIRTUAL_ENV=str(directory))
        self.assertCheck(checks["python"], "ok", "^Python 3.99.1 is %s/bin/python$" % re.escape(str(directory)))
        words = subprocess.run(["sh", "-c", "printf '%s\\n' " + checks["tvm"]["remedy"]], capture_output=True, text=True, cwd=WORK).stdout
        self.assertEqual([str(directory / "bin/python"), "-m", "pip", "install", "apache-tvm==0.27.*"], words.splitlines())

    def test_a_python_that_is_none_is_told(self):
        for text, state, cause in (
            ("echo hello", "limited", "does not answer as Python does"),
            ("head -c 70000 /dev/zero", "limited", "wrote more than 64 KiB"),
            ("exec yes", "limited", "wrote more than 64 KiB"),
            ("exit 3", "limited", "ended with exit code 3"),
            ("kill -ABRT $$", "limited", r"ended by signal 6 \(Aborted\)"),
            ("kill -PIPE $$", "limited", r"ended by signal 13 \(Broken pipe\)"),  # which opdyno itself ignores
            ("printf 'python\\t3.11\\033[31m\\nend\\n'", "ok", "^Python 3.11 .31m is "),
        ):
            directory = self.program("python3", text + "\n")
            self.assertCheck(self.checks(PATH=directory + ":/usr/bin:/bin")["python"], state, cause)
