#!/usr/bin/env python3
"""Makes the seeds of the fuzzers of libraries, of objects, and of the modules embedded in them: python3 make_libraries.py.
Needs gcc and binutils for x86-64. The libraries are linked with small pages, to have 2 to 4 kB each."""
import pathlib
import struct
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LINK = ["-Os", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,noseparate-code,-z,max-page-size=512,-z,common-page-size=512",
        "-Wl,--build-id=none", "-fno-ident"]

CALLS = """
extern int TVMFFIErrorSetRaisedFromCStrParts(const char *);
int (*slots[])(const char *) = {TVMFFIErrorSetRaisedFromCStrParts};
__attribute__((weak)) void *(*__TVMBackendParallelLaunch)(void);
void *__tvm_ffi__library_ctx;
int __tvm_ffi_f(void) { return __TVMBackendParallelLaunch ? 0 : TVMFFIErrorSetRaisedFromCStrParts("x"); }
"""
STARTS = """
static int here;
static _Thread_local int counter = 3;
int *pointer = &here;
__attribute__((constructor)) static void start(void) { here = ++counter; }
__attribute__((destructor)) static void stop(void) { here = 0; }
void _init(void) {}
int __tvm_ffi_f(void) { return *pointer; }
"""
CHOOSES = """
static int one(void) { return 1; }
static void *choose(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
static int hidden(void) __attribute__((ifunc("choose")));
int __tvm_ffi_f(void) { return chosen() + hidden(); }
"""
VERSIONS = """
extern double expm1(double);
double old(double x) { return expm1(x); }
__asm__(".symver old, f@V1");
double f2(double x) { return x; }
__asm__(".symver f2, f@@V2");
"""


def save(folder, name, content):
    (HERE / folder).mkdir(exist_ok=True)
    (HERE / folder / name).write_bytes(content)


def library(name, source, *flags):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "a.c").write_text(source)
        (folder / "a.map").write_text("V1 { local: *; };\nV2 { } V1;\n")
        flags = [flag.replace("@", str(folder)) for flag in flags]
        subprocess.run(["gcc", *LINK, folder / "a.c", "-o", folder / "a.so", *flags], check=True)
        subprocess.run(["strip", folder / "a.so"], check=True)  # -s would forget to mark the use of ifuncs
        save("elf", name, (folder / "a.so").read_bytes())


def text(data):
    return struct.pack("<Q", len(data)) + data


def numbers(values):
    return struct.pack(f"<{len(values) + 1}Q", len(values), *values)


def tree(starts, children, *modules):
    body = numbers(starts) + numbers(children)
    return text(body + b"".join(text(kind) + (b"" if kind == b"_lib" else text(data)) for kind, data in modules))


LIB = (b"_lib", b"")
CUDA = (b"cuda", text(b"ptx") + struct.pack("<Q", 1) + text(b"f") + text(b"f") + numbers([]) +
        struct.pack("<Q", 1) + text(b"blockIdx.x") + numbers([]) + text(b"code"))
PROGRAM = (b"relax.VMExecutable", (HERE / "executable" / "everything.vmexec").read_bytes())

embedded = tree([0, 1, 2, 2], [1, 2], PROGRAM, LIB, CUDA)
save("embedded_modules", "program", embedded)
save("embedded_modules", "device", tree([0, 1, 1], [1], LIB, CUDA))
save("embedded_modules", "shared", tree([0, 2, 3, 3], [1, 2, 2], LIB, (b"a.b", text(b"graph")), (b"c", b"?")))
NATIVE = (b"opdyno.native", text(b"lib/native.so") + struct.pack("<Q", 1) + text(b"twice") + text(b"f64(f64)"))
TVM = (b"_tvm", struct.pack("<Q", 0))
save("embedded_modules", "own", embedded + tree([0, 2, 2, 2], [1, 2], TVM, NATIVE, LIB))

library("calls", CALLS, "-Wl,-z,lazy,-soname,calls.so,-rpath,/nowhere")
library("calls_now", CALLS, "-Wl,-z,now,--hash-style=sysv")
library("starts", STARTS, "-Wl,-init,_init,--hash-style=both")
library("starts_packed", STARTS, "-Wl,-z,pack-relative-relocs")
library("chooses", CHOOSES, "-Wl,-z,x86-64-v3")
library("versions", VERSIONS, "-lm", "-Wl,--version-script,@/a.map")
bytes_of_it = ",".join(str(byte) for byte in tree([0, 1, 1], [1], LIB, (b"odd", b"abc")))
library("embeds", f"const unsigned char __tvm_ffi__library_bin[] = {{{bytes_of_it}}};")

# Objects of a system library, alone and in an archive beside a file that is none; the long name lies in a table of names.
SYSTEM = f"""
extern int TVMFFIEnvModRegisterSystemLibSymbol(const char *, void *);
const unsigned char abc___tvm_ffi__library_bin[] = {{{bytes_of_it}}};
__attribute__((weak)) void *abc___tvm_ffi__library_ctx;
int __tvm_ffi_abc_f(void) {{ return TVMFFIEnvModRegisterSystemLibSymbol("abc_f", 0); }}
"""
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "a.c").write_text(SYSTEM)
    (folder / "notes.txt").write_text("no object")
    named = folder / "an_object_with_a_name_of_more_than_16_bytes.o"
    subprocess.run(["gcc", "-Os", "-fPIC", "-fno-ident", "-c", folder / "a.c", "-o", named], check=True)
    archive = folder / "a.a"
    subprocess.run(["ar", "rcsD", archive, named, folder / "notes.txt"], check=True)
    save("objects", "system", named.read_bytes())
    save("objects", "archive", archive.read_bytes())
