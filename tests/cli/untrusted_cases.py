"""Files that nobody trusts: what may look at them, and runs nothing of them."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

from case import COMPILER, FAILED, OK, REFUSED, WORK, CliTest, run

# Everything of a library that loaders run by themselves. Each part leaves a file when it does.
HOSTILE = r"""
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>
static void mark(const char *path) { close(open(path, O_WRONLY | O_CREAT, 0600)); }
__attribute__((constructor)) static void construct(void) { mark(RAN "constructor"); }
__attribute__((destructor)) static void destruct(void) { mark(RAN "destructor"); }
static void late(void) { mark(RAN "init_array"); }
__attribute__((section(".init_array"), used)) static void (*table)(void) = late;
void initialize(void) { mark(RAN "init"); }
static int chosen(void) { return 7; }
/* A resolver runs before the C library is bound for it: it speaks to the kernel itself. */
static int (*resolve(void))(void) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(2), "D"(RAN "ifunc"), "S"(O_WRONLY | O_CREAT), "d"(0600) : "rcx", "r11", "memory");
#endif
  return chosen;
}
int __tvm_ffi_chosen(void) __attribute__((ifunc("resolve")));
int use(void) { return __tvm_ffi_chosen(); }
__thread int counter = 3;
extern int dependency(void);
int __tvm_ffi_listed(void *self, const void *args, int32_t count, void *result) {
  (void)self, (void)args, (void)count, (void)result;
  return counter + dependency();
}
"""
DEPENDENCY = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void construct(void) { close(open(RAN "dependency", O_WRONLY | O_CREAT, 0600)); }
int dependency(void) { return 0; }
"""


class Untrusted(CliTest):
    def setUp(self):
        self.ran = WORK / "ran"
        self.ran.mkdir(exist_ok=True)
        for file in self.ran.iterdir():
            file.unlink()

    def marks(self):
        return sorted(file.name for file in self.ran.iterdir())

    def compile(self, name, *more):
        subprocess.run([COMPILER, "-O1", '-DRAN="%s/"' % self.ran, "-fPIC", "-o", name, *more], cwd=WORK, check=True)

    def hostile_files(self):
        (WORK / "hostile.c").write_text(HOSTILE)
        (WORK / "dependency.c").write_text(DEPENDENCY)
        self.compile("libdependency.so", "-shared", "dependency.c", "-Wl,-soname,libdependency.so")
        links = ["-L.", "-ldependency", "-Wl,-rpath,%s" % WORK, "-Wl,-init,initialize"]
        self.compile("hostile.so", "-shared", "hostile.c", *links)
        self.compile("hostile.o", "-c", "hostile.c")
        with tarfile.open(WORK / "hostile.tar.gz", "w:gz") as archive:
            archive.add(WORK / "hostile.o", "hostile.o")
        subprocess.run(["ar", "rcs", "hostile.a", "hostile.o"], cwd=WORK, check=True)
        flags = '-DRAN="%s/" -L%s -ldependency -Wl,-rpath,%s' % (self.ran, WORK, WORK)
        self.succeeds("export", "add_one.opdasm", "hostile_tree.so", "--object", "hostile.c", "--c-flags", flags)
        return ["hostile.so", "hostile.o", "hostile.tar.gz", "hostile.a", "hostile_tree.so"]

    def test_nothing_of_a_file_runs_when_it_is_looked_at(self):
        for file in self.hostile_files():
            self.succeeds("inspect", file)
            for options in (["--tree", "--signatures", "--sizes", "--disasm", "--verify"], ["--json", "--verify", "--disasm"]):
                self.succeeds("inspect", file, *options)
            self.check(OK if file == "hostile_tree.so" else REFUSED, "dis", file)
            self.fails(FAILED, "info", file)
            self.succeeds("inspect", "add_one.opdasm", "--import", file, "--verify")
        for file in ("hostile.so", "hostile_tree.so"):
            self.succeeds("export", file, "exported_" + file)
            self.succeeds("export", "add_one.opdasm", "exported_tree.so", "--import", file)
        self.assertEqual([], self.marks())

    def test_what_was_exported_unseen_runs_as_the_original_does(self):
        self.hostile_files()
        self.succeeds("export", "hostile_tree.so", "again.so")
        self.assertEqual([], self.marks())
        self.assertIn("chosen", self.succeeds("inspect", "again.so", "--load"))
        self.assertIn("constructor", self.marks())

    def test_loading_is_what_the_test_would_notice(self):
        self.hostile_files()
        self.succeeds("inspect", "hostile.so", "--load")
        wanted = ["constructor", "dependency", "destructor", "ifunc", "init", "init_array"]
        if os.uname().machine != "x86_64":
            wanted.remove("ifunc")
        self.assertEqual(wanted, self.marks())

    def test_indirect_functions_are_listed_loaded_or_not(self):
        self.hostile_files()
        for options in ([], ["--load"]):
            module = json.loads(self.succeeds("inspect", "hostile.so", "--json", *options))
            self.assertEqual(["chosen", "listed"], sorted(module["functions"]))

    def test_sources_are_not_compiled_and_objects_not_linked(self):
        compiler = WORK / "compiler.sh"
        compiler.write_text('#!/bin/sh\ntouch "%s/compiler"\nexec %s "$@"\n' % (self.ran, COMPILER))
        compiler.chmod(0o755)
        environment = dict(os.environ, CC=str(compiler), OPDYNO_CACHE_DIR=str(WORK / "other_cache"))
        (WORK / "plain.c").write_text("int __tvm_ffi_plain(void *s, const void *a, int n, void *r) { return 0; }\n")
        subprocess.run([COMPILER, "-c", "-fPIC", "plain.c", "-o", "plain.o"], cwd=WORK, check=True)
        for name in ("plain.c", "plain.o"):
            with tarfile.open(WORK / (name + ".tar"), "w") as archive:
                archive.add(WORK / name, name)
        for file in ("plain.c", "plain.o", "plain.c.tar", "plain.o.tar"):
            module = json.loads(self.succeeds("inspect", file, "--json", "--verify", env=environment))
            self.assertEqual(["plain"], module["functions"], file)
        self.assertEqual([], self.marks())
        self.succeeds("inspect", "plain.c", "--load", env=environment)
        self.assertEqual(["compiler"], self.marks())

    def test_functions_that_macros_name_are_known_once_compiled(self):
        self.assertIn("--load compiles it", self.succeeds("inspect", "kernels.c"))
        self.assertRegex(self.succeeds("inspect", "kernels.c", "--verify"), r"^open .*was not compiled")
        self.assertIn("add_one", self.succeeds("inspect", "kernels.c", "--load"))

    def test_a_tree_in_an_archive_is_shown_without_linking_it(self):
        models = Path(os.environ["OPDYNO_INTEROP_DATA"]) / "modules"
        for name in ("program.tar", "program_c.tar"):
            seen = json.loads(self.succeeds("inspect", models / name, "--json"))
            self.assertEqual("relax.VMExecutable", seen["kind"])
            self.assertEqual(self.succeeds("dis", models / name), self.succeeds("inspect", models / name, "--disasm"))
            loaded = json.loads(self.succeeds("inspect", models / name, "--json", "--load"))
            self.assertEqual(loaded["functions"], seen["functions"])
            self.assertEqual(sorted(loaded["imports"][0]["functions"]), sorted(seen["imports"][0]["functions"]))

    def test_objects_for_a_system_library_are_listed_in_an_archive_too(self):
        kernels = Path(os.environ["OPDYNO_INTEROP_DATA"]) / "modules" / "system_kernels.o"
        with tarfile.open(WORK / "system_lib.tar", "w") as archive:
            archive.add(kernels, "devc.o")
        alone, packed, loaded = (json.loads(self.succeeds("inspect", *words, "--json"))["functions"] for words in ([kernels], ["system_lib.tar"], ["system_lib.tar", "--load"]))
        self.assertTrue(alone)
        self.assertEqual((alone, alone), (packed, sorted(loaded)))

    def test_a_library_without_functions_says_what_can_be_done(self):
        (WORK / "bare.c").write_text("int bare(void) { return 1; }\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "bare.c", "-o", "bare.so"], cwd=WORK, check=True)
        text = self.succeeds("inspect", "bare.so")
        self.assertIn("no symbol of this library starts with __tvm_ffi_", text)
        self.assertIn("called by its signature", text)

    def test_why_a_library_cannot_be_loaded_is_shown(self):
        (WORK / "old.c").write_text("int __tvm_main__(void) { return 1; }\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "old.c", "-o", "old.so"], cwd=WORK, check=True)
        self.assertIn("not_loadable: old.so was made by TVM 0.20 or older", self.succeeds("inspect", "old.so"))
        self.assertRegex(self.succeeds("inspect", "old.so", "--verify"), "^open .*0.20 or older")
        self.assertIn("0.20 or older", self.fails(REFUSED, "inspect", "old.so", "--load"))

    def test_names_reach_the_terminal_without_control_characters(self):
        (WORK / "escapes.opdasm").write_text(
            '.func "a\\x1b[2J\\x07\\nok b" ("p\\x1b[31m", q) {\n  %r = call "ext\\x1b]0;t\\x07"(%q)\n  ret %r\n}\n')
        self.succeeds("as", "escapes.opdasm", "escapes.vmexec")
        for words in ("inspect",), ("inspect", "--signatures"), ("inspect", "--sizes"), ("inspect", "--tree"):
            self.assertNotRegex(self.succeeds(words[0], "escapes.vmexec", *words[1:]), r"[\x00-\x09\x0b-\x1f\x7f]|\nok b")
        for words in ("inspect", "escapes.vmexec", "--verify"), ("run", "escapes.vmexec"):
            shown = run(*words)
            self.assertNotRegex(shown.stdout + shown.stderr, r"[\x00-\x08\x0b-\x1f\x7f]")
