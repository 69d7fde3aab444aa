"""Files that the program writes and reads: whole or not at all, whatever is there."""

import os
import resource
import stat
import subprocess
import threading

import npy
from case import COMPILER, FAILED, OK, OPDYNO, USAGE, WORK, CliTest, compile_kernels, run


class OutputFiles(CliTest):
    def setUp(self):
        self.place = WORK / "place"
        self.place.mkdir(exist_ok=True)
        for file in self.place.iterdir():
            file.unlink()
        self.text = self.succeeds("dis", "add_one.opdasm")

    def dis(self, path, code=OK, **settings):
        return self.check(code, "dis", "add_one.opdasm", "-o", path, **settings)

    def test_a_fifo_stays_and_is_written_to(self):
        for words, wanted in (["dis", "add_one.opdasm", "-o"], None), (["as", "add_one.opdasm"], None), (["run", "add_one.opdasm", "--import", "kernels.c", "-o"], b"PK"):
            fifo = self.place / "fifo.npz"
            os.mkfifo(fifo)
            got = []
            reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
            reader.start()
            self.succeeds(*words, fifo)
            reader.join()
            self.assertTrue(got[0].startswith(wanted or b""))
            self.assertTrue(got[0])
            self.assertTrue(stat.S_ISFIFO(fifo.lstat().st_mode))
            fifo.unlink()

    def test_a_device_stays(self):
        device = self.place / "null"
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            device.write_bytes(b"x")
        except OSError as error:
            self.skipTest("no device can be made here: %s" % error)
        self.dis(device)
        self.assertTrue(stat.S_ISCHR(device.lstat().st_mode))

    def test_a_link_stays_and_what_it_leads_to_is_replaced(self):
        (self.place / "real").write_text("old")
        (self.place / "real").chmod(0o640)
        for target, link in ("real", "link"), ("missing", "dangling"), ("link", "second"):
            (self.place / link).symlink_to(target)
            self.dis(self.place / link)
            self.assertTrue((self.place / link).is_symlink())
            self.assertEqual(self.text, (self.place / target).read_text())
        self.assertEqual(0o640, stat.S_IMODE((self.place / "real").stat().st_mode))
        (self.place / "round").symlink_to("round")
        self.assertIn("round", self.dis(self.place / "round", FAILED).stderr)

    def test_a_new_file_has_the_usual_mode(self):
        before = os.umask(0o027)
        try:
            self.dis(self.place / "new")
        finally:
            os.umask(before)
        self.assertEqual(0o640, stat.S_IMODE((self.place / "new").stat().st_mode))

    def test_standard_output_by_name_goes_where_it_stands(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            with open(self.place / "all", "w") as out:
                out.write("before\n")
                out.flush()
                subprocess.run([OPDYNO, "dis", "add_one.opdasm", "-o", name], cwd=WORK, stdout=out, check=True)
            self.assertEqual("before\n" + self.text, (self.place / "all").read_text())

    def test_what_cannot_be_written_is_called_by_its_name(self):
        for path, reason in ("place/none/out", "No such file"), ("place", "directory"):
            message = self.dis(path, FAILED).stderr
            self.assertRegex(message, "cannot write %s: .*%s" % (path, reason))
        self.assertIn("cannot write place/none/out.so: No such file", self.check(3, "export", "add_one.opdasm", "place/none/out.so", "--object", "kernels.c").stderr)

    def test_a_limit_on_file_sizes_is_an_error_and_leaves_nothing(self):
        (self.place / "kept").write_text("old")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
        for name in ("kept", "fresh"):
            self.assertIn("File too large", self.dis(self.place / name, FAILED, preexec_fn=limit).stderr)
        self.assertEqual(["kept"], os.listdir(self.place))
        self.assertEqual("old", (self.place / "kept").read_text())

    def test_a_limit_on_file_sizes_is_an_error_of_standard_output(self):
        with open(self.place / "out", "wb") as out:
            done = subprocess.run([OPDYNO, "help", "run"], stdout=out, stderr=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
        self.assertEqual((FAILED, "opdyno: cannot write to standard output: File too large\nTry 'opdyno explain OPD_IO'.\n"), (done.returncode, done.stderr))

    def test_nothing_is_left_beside_the_file(self):
        self.dis(self.place / "one")
        self.dis(self.place / "one")
        self.succeeds("run", "add_one.opdasm", "--import", "kernels.c", "-o", self.place / "two.npz")
        self.assertEqual(["one", "two.npz"], sorted(os.listdir(self.place)))


class InputFiles(CliTest):
    def test_pipes_are_read_and_devices_refused(self):
        with open(WORK / "add_one.opdasm") as text:
            pipe = subprocess.Popen(["cat"], stdin=text, stdout=subprocess.PIPE)
            name = "/dev/fd/%d" % pipe.stdout.fileno()
            self.succeeds("as", name, "from_pipe.vmexec", pass_fds=[pipe.stdout.fileno()])
            pipe.wait()
            pipe.stdout.close()
        self.succeeds("as", "add_one.opdasm", "from_file.vmexec")
        self.assertEqual((WORK / "from_file.vmexec").read_bytes(), (WORK / "from_pipe.vmexec").read_bytes())
        self.assertIn("neither a regular file nor a pipe", self.fails(FAILED, "as", "/dev/zero", "out.vmexec"))
        self.assertIn("neither a regular file nor a pipe", self.fails(FAILED, "report", "/dev/zero"))

    def test_a_file_larger_than_memory_is_refused(self):
        with open(WORK / "vast.json", "w") as file:
            file.truncate(1 << 40)
        for words in ("report", "vast.json"), ("as", "vast.json", "out.vmexec"), ("diff", "vast.json", "vast.json"):
            self.assertIn("1099511627776 bytes, more than half of this machine's memory", self.fails(FAILED, *words))
        os.unlink(WORK / "vast.json")

    def test_a_library_with_a_vast_hole_at_its_end_runs(self):
        compile_kernels("hole.so")
        os.truncate(WORK / "hole.so", 1 << 40)
        self.assertIn("2 3", self.succeeds("run", "hole.so", "add_one", "-i", "2xf32=1,2", "-i", "2xf32"))
        os.unlink(WORK / "hole.so")

    def test_a_fifo_that_nobody_writes_to_is_not_waited_for(self):
        fifo = WORK / "silent"
        os.mkfifo(fifo)
        self.assertIn("nothing was written", self.fails(FAILED, "report", fifo))
        for words in ("inspect", fifo), ("info", fifo), ("run", fifo), ("run", "kernels.c", "add_one", "-i", "@silent"):
            self.assertIn("not a regular file", run(*words).stderr)

    def test_an_output_never_replaces_the_program_that_it_is_made_of(self):
        (WORK / "same.opdasm").write_text((WORK / "add_one.opdasm").read_text())
        os.link(WORK / "same.opdasm", WORK / "other_name.opdasm")
        before = (WORK / "same.opdasm").read_bytes()
        for words in (
            ("as", "same.opdasm", "other_name.opdasm"),
            ("dis", "same.opdasm", "-o", "./same.opdasm"),
            ("run", "same.opdasm", "-o", "same.opdasm"),
            ("profile", "same.opdasm", "-o", "same.opdasm"),
            ("profile", "same.opdasm", "--chrome", "other_name.opdasm"),
        ):
            self.assertIn("would overwrite the input same.opdasm", self.fails(USAGE, *words))
        self.assertEqual((WORK / "same.opdasm").read_bytes(), before)

    def test_closed_standard_streams_are_not_taken_by_other_files(self):
        words = ["inspect", "add_one.opdasm"]
        whole = self.succeeds(*words)

        def closing(*streams):
            return lambda: [os.close(stream) for stream in streams]

        self.assertEqual(run(*words, preexec_fn=closing(0)).stdout, whole)
        closed = run(*words, preexec_fn=closing(0, 1))
        self.assertEqual(closed.returncode, FAILED)
        self.assertIn("cannot write to standard output", closed.stderr)
        self.assertEqual(run(*words, preexec_fn=closing(0, 1, 2)).returncode, FAILED)

    def test_an_input_that_is_cut_short_while_it_is_used_is_named(self):
        source = (WORK / "kernels.c").read_text() + """
#include <unistd.h>
KERNEL(cut) {
  UNUSED;
  if (truncate("large.npy", 100)) return 0;
  float sum = 0;
  for (int64_t i = 0; i < size(tensor(args[0])); ++i) sum += ((volatile float *)tensor(args[0])->data)[i];
  result->type = 3, result->u.float64 = sum;
  return 0;
}
"""
        (WORK / "cut.c").write_text(source)
        subprocess.run([COMPILER, "-shared", "-fPIC", "cut.c", "-o", "cut.so"], cwd=WORK, check=True)
        (WORK / "large.npy").write_bytes(npy.dump([65536], [1] * 65536))
        result = self.check(FAILED, "run", "./cut.so", "cut", "-i", "@large.npy")
        self.assertIn("large.npy became shorter", result.stderr)

    def test_an_archive_that_would_fill_the_memory_is_refused(self):
        import gzip
        with gzip.open(WORK / "bomb.tar.gz", "wb", compresslevel=1) as archive:
            for _ in range(100):
                archive.write(bytes(1 << 20))
        for command in ("inspect", "run"):
            self.assertIn("unpacks to more than", self.fails(3, command, "bomb.tar.gz"))
