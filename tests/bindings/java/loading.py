"""Tests how the native library is found and loaded, and that no files are left behind. Each case runs in its own
JVMs."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def starts(run, library, work, count):
    """Starts several JVMs at a time with an empty cache."""
    shutil.rmtree(work, ignore_errors=True)
    cache, temporary = work / "cache", work / "temporary"
    temporary.mkdir(parents=True)

    def start(_):
        status, shown, errors = run(f"-Djava.io.tmpdir={temporary}", f"-Dopdyno.cache.dir={cache}", "Fresh", "tensors")
        return None if status == 0 and shown == "ok\n" else f"{shown}{errors}"

    with ThreadPoolExecutor(max_workers=2 * os.cpu_count()) as pool:
        failed = [what for what in pool.map(start, range(count)) if what]
    if failed:
        sys.exit(f"{len(failed)} of {count} starts failed: {failed[0]}")
    left = [path for path in work.rglob("*") if not path.is_dir()]
    if len(left) != 1 or left[0].read_bytes() != library.read_bytes() or list(temporary.iterdir()):
        sys.exit(f"{count} starts left {left}, {list(temporary.iterdir())}")


def mounted(options, directory):
    """The command prefix that runs a program with an empty file system, with these mount options, at the directory."""
    return ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"', options, directory]


def can_mount(directory):
    try:
        return subprocess.run([*mounted("noexec", directory), "true"], stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def test(run, library, work):
    shutil.rmtree(work, ignore_errors=True)
    digest, size, _ = library.with_name(library.name + ".sha256").read_text().split()
    directories = iter(range(100))

    def fresh():
        made = work / str(next(directories))
        made.mkdir(parents=True)
        return made

    def check(good, what):
        if not good:
            sys.exit(f"loading: {what}")

    def works(title, *arguments, temporary=None, **environment):
        """Runs a program and checks that the temporary directory is empty. Returns the last lines of the output."""
        temporary = temporary or fresh()
        status, shown, errors = run(f"-Djava.io.tmpdir={temporary}", *arguments, **environment)
        check(status == 0 and shown.endswith("ok\n") and "WARNING" not in shown, f"{title}: {shown}{errors}")
        check(not temporary.is_dir() or not list(temporary.iterdir()), f"{title}: left in the temporary directory")
        return shown

    def kept(cache):
        return cache / "opdyno" / "java" / digest / library.name

    def files(directory):
        return [path for path in directory.rglob("*") if not path.is_dir()]

    program = ["Fresh", "loaded"]
    cache, other = fresh(), fresh()
    shown = works("the cache", f"-Dopdyno.cache.dir={cache}", *program, XDG_CACHE_HOME=str(other))
    check(shown == f"{kept(cache)}\nok\n" and files(cache) == [kept(cache)], f"the cache has one file, which is loaded: {shown}")
    check(kept(cache).read_bytes() == library.read_bytes() and not files(other), "of the same content, and nowhere else")
    first = kept(cache).stat()
    works("the cache again", f"-Dopdyno.cache.dir={cache}", *program)
    check((kept(cache).stat().st_ino, kept(cache).stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns), "it is written once")
    works("XDG_CACHE_HOME", *program, XDG_CACHE_HOME=str(other))
    check(files(other) == [kept(other)], "XDG_CACHE_HOME is the cache")
    home = fresh()
    works("a relative XDG_CACHE_HOME", f"-Duser.home={home}", *program, XDG_CACHE_HOME="there", cwd=work)
    check(files(home) == [kept(home / ".cache")] and not (work / "there").exists(), "~/.cache is the cache")

    kept(cache).write_bytes(library.read_bytes()[:100])
    works("a file of another size", f"-Dopdyno.cache.dir={cache}", *program)
    check(files(cache) == [kept(cache)] and kept(cache).stat().st_size == int(size), "such a file is replaced")

    damaged = bytearray(library.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    for content in (bytes(damaged), bytes(int(size))):
        kept(cache).write_bytes(content)
        shown = works("a damaged file", f"-Dopdyno.cache.dir={cache}", *program)
        check(shown == f"{kept(cache)}\nok\n" and kept(cache).read_bytes() == library.read_bytes(), f"such a file is replaced: {shown}")

    # A library in a directory that others may write is not loaded.
    mine = kept(cache).stat().st_ino
    kept(cache).chmod(0o666)
    works("a file that others may write", f"-Dopdyno.cache.dir={cache}", *program)
    check(kept(cache).stat().st_ino != mine and kept(cache).stat().st_mode & 0o022 == 0, "such a file is replaced")
    for place in [kept(cache).parents[i] for i in range(4)]:
        for forbid, allow in [(lambda: place.chmod(0o777), lambda: place.chmod(0o700))] + \
                ([(lambda: os.chown(place, 1234, -1), lambda: os.chown(place, 0, -1))] if os.geteuid() == 0 else []):
            forbid()
            shown = works(f"a directory that others may write: {place}", f"-Dopdyno.cache.dir={cache}", *program)
            check("(deleted)" in shown and str(cache) not in shown, f"it is not used: {shown}")
            allow()
    kept(cache).parents[3].chmod(0o1777)
    shown = works("a directory as /tmp is", f"-Dopdyno.cache.dir={cache}", *program)
    check(shown == f"{kept(cache)}\nok\n", f"the cache serves: {shown}")

    # A file in the directory's place, because root can write to a read-only directory.
    blocked = fresh() / "file"
    blocked.write_text("")
    shown = works("no cache", f"-Dopdyno.cache.dir={blocked}", *program)
    check("(deleted)" in shown and blocked.read_text() == "", f"a copy is loaded: {shown}")
    shown = works("no cache, no temporary directory", f"-Dopdyno.cache.dir={blocked}", *program, temporary=blocked)
    check(shown.startswith("/dev/shm/"), f"the copy lay in /dev/shm: {shown}")
    blocked = fresh()
    if can_mount(blocked):
        for options in ("noexec", "ro"):
            temporary = fresh()
            shown = works(f"a cache that is mounted {options}", f"-Dopdyno.cache.dir={blocked}", *program, temporary=temporary, within=mounted(options, blocked))
            check(f"{temporary}/" in shown, f"a copy is loaded: {shown}")  # glibc keeps failed mappings
            both = [f"-Dopdyno.cache.dir={blocked}", f"-Djava.io.tmpdir={blocked}", *program]
            shown = works(f"cache and temporary directory mounted {options}", *both, within=mounted(options, blocked))
            check("/dev/shm/" in shown, f"the copy lay in /dev/shm: {shown}")
    else:
        print("skipped: nothing can be mounted here, so no test shows that no-exec and read-only directories are passed by", flush=True)
    shown = works("no home", "-Duser.home=?", *program, XDG_CACHE_HOME="", cwd=work)
    check("(deleted)" in shown and not (work / "?").exists(), f"without a home: {shown}")

    shown = works("class loaders", f"-Dopdyno.cache.dir={cache}", "Fresh", "loaders")
    loaded = [line.removesuffix(" (deleted)") for line in shown.splitlines() if line != "ok"]
    check(len(set(loaded)) == 3 and loaded.count(str(kept(cache))) == 1, f"each class loader has a file of its own: {shown}")
    check(files(cache) == [kept(cache)] and len(list(kept(cache).parent.iterdir())) == 1, "the copies are gone")

    shown = works("class loaders that end", f"-Dopdyno.cache.dir={cache}", "Fresh", "collected")
    loaded = [line for line in shown.splitlines() if line != "ok"]
    check(loaded == [str(kept(cache))], f"the next one has the same file: {shown}")

    for given in (library, library.parent):
        untouched = fresh()
        shown = works("the property", f"-Dopdyno.library.path={given}", f"-Dopdyno.cache.dir={untouched}", *program)
        check(shown == f"{library}\nok\n" and not list(untouched.iterdir()), f"the property's file is loaded: {shown}")

    def fails(title, parts, *arguments):
        status, shown, errors = run(*arguments, *program)
        check(status == 1, f"{title}: {status} {shown}{errors}")
        for part in parts:
            check(str(part) in errors, f"{title}: no {part} in {errors}")

    nowhere = work / "nowhere.so"
    fails("a property that names nothing", ["UnsatisfiedLinkError", "opdyno.library.path", nowhere], f"-Dopdyno.library.path={nowhere}")
    fails("another platform", ["linux-riscv64", "opdyno.library.path"], "-Dos.arch=riscv64")
    whole = library.read_bytes()
    library.write_bytes(bytes(int(size)))
    try:
        temporary, cache = fresh(), fresh()
        fails("a library that cannot be run", [kept(cache), temporary, "/dev/shm", "invalid ELF header", "opdyno.cache.dir"],
              f"-Dopdyno.cache.dir={cache}", f"-Djava.io.tmpdir={temporary}")
        check(not list(temporary.iterdir()), "nothing is left of failed attempts")
    finally:
        library.write_bytes(whole)
