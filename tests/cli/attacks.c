/* What a client's program may try: each attack gives 0 if it worked, else errno. Appended to kernels.c, with OUTSIDE (a
 * directory with files of the user), PORT and PARENT defined. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static int of(long result) { return result < 0 ? errno : 0; }

static int opens(const char *path, int how) {
  const int file = open(path, how, 0600);
  if (file >= 0) close(file);
  return of(file);
}

static int connects(int family, int kind, const void *address, socklen_t size) {
  const int one = socket(family, kind, 0);
  if (one < 0) return errno;
  const int found = of(connect(one, address, size));
  close(one);
  return found;
}

static int connects_to_port(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return connects(AF_INET, SOCK_STREAM, &to, sizeof to);
}

static int connects_to_local(const char *path, int kind) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strncpy(to.sun_path, path, sizeof to.sun_path - 1);
  return connects(AF_UNIX, kind, &to, sizeof to);
}

/* A datagram names where it goes without connect(). */
static int sends_to_local(const char *path) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strncpy(to.sun_path, path, sizeof to.sun_path - 1);
  const int one = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (one < 0) return errno;
  const int found = of((int)sendto(one, "x", 1, 0, (const struct sockaddr *)&to, sizeof to));
  close(one);
  return found;
}

static int connects_to_abstract(void) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "opdyno-%d", PORT);
  return connects(AF_UNIX, SOCK_STREAM, &to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to.sun_path + 1)));
}

/* The connection to its own client leads nowhere else. */
static int connects_again(void) {
  for (int one = 3; one < 64; ++one) {
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    if (getpeername(one, (struct sockaddr *)&to, &size) || to.sin_family != AF_INET) continue;
    const int copy = dup(one);
    const int found = of(connect(copy, (struct sockaddr *)&to, size));
    close(copy);
    return found;
  }
  return -1;
}

static int listens(void) {
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  if (one < 0) return errno;
  struct sockaddr_in at = {.sin_family = AF_INET};
  const int found = of(bind(one, (struct sockaddr *)&at, sizeof at));
  close(one);
  return found;
}

static int runs(const char *program) {
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, (char *)0);
    _exit(errno);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *in_own_folder(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("TMPDIR"), name);
  return path;
}

static int limits_parent(void) {
  struct rlimit same;
  return getrlimit(RLIMIT_CPU, &same) ? -1 : of(prlimit(PARENT, RLIMIT_CPU, &same, 0));
}

static int types_into_terminal(void) {
  const char letter = 'x';
  return of(ioctl(2, TIOCSTI, &letter));
}

static int changes_mode_by_descriptor(const char *path) {
  const int file = open(path, O_RDONLY);
  if (file < 0) return errno;
  const int found = of(fchmod(file, 04755));
  close(file);
  return found;
}

static int has_capabilities(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  unsigned long long of_process = 0;
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "CapPrm:", 7) || !strncmp(line, "CapInh:", 7)) of_process |= strtoull(line + 7, 0, 16);
  if (status) fclose(status);
  return of_process ? 0 : EPERM;
}

/* 0 if the folder of the session is where all is, and no variable leads elsewhere. */
static int has_own_environment(void) {
  const char *const home = getenv("HOME"), *const gone[] = {"TMP",
                                                            "TEMP",
                                                            "CCACHE_DIR",
                                                            "POCL_CACHE_DIR",
                                                            "CUDA_CACHE_PATH",
                                                            "XDG_CONFIG_HOME",
                                                            "XDG_DATA_HOME",
                                                            "XDG_RUNTIME_DIR",
                                                            "SSH_AUTH_SOCK",
                                                            "DBUS_SESSION_BUS_ADDRESS"};
  const struct {
    const char *name, *place;
  } moved[] = {{"TMPDIR", "/.tmp"}, {"XDG_CACHE_HOME", "/.cache"}, {"OPDYNO_CACHE_DIR", "/.cache/opdyno"}};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; ++i)
    if (getenv(gone[i])) return 100 + (int)i;
  for (size_t i = 0; i < sizeof moved / sizeof *moved; ++i) {
    const char *const value = getenv(moved[i].name);
    if (!home || !value || strncmp(value, home, strlen(home)) || strcmp(value + strlen(home), moved[i].place))
      return 200 + (int)i;
  }
  return home[0] == '/' ? 0 : 300;
}

static void *nothing(void *argument) { return argument; }
static int starts_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, 0, nothing, 0) ? -1 : pthread_join(thread, 0);
}

static int counts(pid_t process) {
  struct perf_event_attr what = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof what, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
  const int counter = (int)syscall(SYS_perf_event_open, &what, process, -1, -1, 0);
  if (counter >= 0) close(counter);
  return of(counter);
}

KERNEL(attack) {
  UNUSED;
  float *results = (float *)tensor(args[0])->data;
  char moved[4096];
#define TRY(expression) *results++ = (float)(errno = 0, expression)
  /* to be refused */
  TRY(opens(OUTSIDE "/.ssh/id_test", O_RDONLY));
  TRY(opens(OUTSIDE "/.ssh", O_RDONLY | O_DIRECTORY));
  TRY(opens(OUTSIDE "/new", O_WRONLY | O_CREAT));
  TRY(opens(OUTSIDE "/.ssh/id_test", O_WRONLY));
  TRY(of(truncate(OUTSIDE "/.ssh/id_test", 0)));
  TRY(of(unlink(OUTSIDE "/.ssh/id_test")));
  TRY(of(rename(OUTSIDE "/.ssh", OUTSIDE "/moved")));
  TRY(of(mkdir(OUTSIDE "/directory", 0700)));
  TRY(of(chmod(OUTSIDE "/.ssh/id_test", 0666)));
  TRY(of(chown(OUTSIDE "/.ssh/id_test", getuid(), getgid())));
  TRY(of(utimensat(AT_FDCWD, OUTSIDE "/.ssh/id_test", 0, 0)));
  TRY(changes_mode_by_descriptor("/usr/bin/env"));
  TRY(opens("/usr/bin/opdyno-planted", O_WRONLY | O_CREAT));
  TRY(opens("/etc/shadow", O_RDONLY));
  TRY(opens("/etc", O_RDONLY | O_DIRECTORY));
  TRY(opens("/etc/passwd", O_WRONLY));
  TRY(runs(OUTSIDE "/program"));
  TRY(of(inotify_add_watch(inotify_init(), OUTSIDE "/.ssh", IN_OPEN)));
  TRY(connects_to_port());
  TRY(connects_again());
  TRY(connects_to_local(OUTSIDE "/socket", SOCK_STREAM));
  TRY(connects_to_local(OUTSIDE "/socket", SOCK_DGRAM));
  TRY(sends_to_local(OUTSIDE "/socket"));
  TRY(connects_to_abstract());
  TRY(listens());
  TRY(of(socket(AF_PACKET, SOCK_RAW, 0)));
  TRY(of(ptrace(PTRACE_ATTACH, PARENT, 0, 0)));
  TRY(of(ptrace(PTRACE_TRACEME, 0, 0, 0)));
  TRY(of(kill(PARENT, 0)));
  TRY(counts(PARENT));
  TRY(of(link(OUTSIDE "/.ssh/id_test", in_own_folder("link"))));
  TRY(limits_parent());
  TRY(opens("/proc/" TEXT(PARENT) "/environ", O_RDONLY));
  TRY(opens("/proc/" TEXT(PARENT) "/mem", O_RDWR));
  TRY(of(mount("none", OUTSIDE, "tmpfs", 0, 0)));
  TRY(of(umount2("/proc", 0)));
  TRY(of(chroot("/usr")));
  TRY(of(unshare(CLONE_NEWUSER)));
  TRY(of(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)));
  TRY(of(syscall(SYS_bpf, 0, 0, 0)));
  TRY(of(syscall(SYS_io_uring_setup, 1, 0)));
  TRY(of(syscall(SYS_userfaultfd, 0)));
  TRY(of(syscall(SYS_keyctl, 0, 0, 0, 0, 0)));
  TRY(of(syscall(SYS_personality, 0x0040000)));
  TRY(of(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)));
  TRY(types_into_terminal());
  TRY(has_capabilities());
  TRY(of(prctl(PR_SET_DUMPABLE, 1)) ? EPERM : prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) ? EPERM : 0);
  *results++ = -1; /* from here on: to work */
  TRY(opens("/usr/include/stdio.h", O_RDONLY));
  TRY(opens("/dev/null", O_RDWR));
  TRY(opens("/proc/self/maps", O_RDONLY));
  TRY(runs("/bin/true"));
  TRY(starts_thread());
  TRY(counts(0));
  TRY(of(kill(getpid(), 0)));
  TRY(opens(in_own_folder("file"), O_RDWR | O_CREAT));
  TRY(of(rename(in_own_folder("file"), strcat(strcpy(moved, in_own_folder("")), "../moved"))));
  TRY(of(memfd_create("memory", 0)));
  TRY(opens("/etc/passwd", O_RDONLY));
  TRY(opens("/proc", O_RDONLY | O_DIRECTORY));
  TRY(opens("/dev", O_RDONLY | O_DIRECTORY));
  TRY(of(mkdir(in_own_folder("directory"), 0700)));
  TRY(of(rmdir(in_own_folder("directory"))));
  TRY(of(mknod(in_own_folder("regular"), S_IFREG | 0600, 0)));
  TRY(of(truncate(in_own_folder("regular"), 10)));
  TRY(of(mknod(in_own_folder("fifo"), S_IFIFO | 0600, 0)));
  TRY(of(mknod(in_own_folder("socket"), S_IFSOCK | 0600, 0)));
  TRY(of(symlink("regular", in_own_folder("link"))));
  TRY(opens(in_own_folder("link"), O_RDWR | O_TRUNC));
  TRY(of(unlink(in_own_folder("fifo"))));
  TRY(opens(in_own_folder(""), O_RDONLY | O_DIRECTORY));
  TRY(has_own_environment());
  *results++ = -2;
  return 0;
}

KERNEL(reads) { /* whether the file that --allow-read names is to be had */
  UNUSED;
  *(float *)tensor(args[0])->data = (float)opens(OUTSIDE "/allowed/data", O_RDONLY);
  return 0;
}

KERNEL(connects) {
  UNUSED;
  float *results = (float *)tensor(args[0])->data;
  results[0] = (float)connects_to_port();
  results[1] = (float)connects_to_local(OUTSIDE "/socket", SOCK_STREAM);
  return 0;
}

KERNEL(spins) {
  UNUSED;
  signal(SIGXCPU, SIG_DFL);
  for (volatile int go = 1; go;) {}
  return 0;
}

KERNEL(spins_and_ignores) {
  UNUSED;
  signal(SIGXCPU, SIG_IGN);
  for (volatile int go = 1; go;) {}
  return 0;
}

KERNEL(takes_memory) { /* mebibytes that it got, of those that it asks for */
  UNUSED;
  float *const got = (float *)tensor(args[0])->data;
  const size_t piece = (size_t)16 << 20;
  int pieces = 0;
  for (; pieces < 512 / 16; ++pieces) {
    /* not malloc(): that of a sanitizer ends the process */
    char *const block = mmap(0, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) break;
    memset(block, 1, piece);
  }
  *got = (float)(pieces * 16);
  return 0;
}

KERNEL(fills_the_disk) { /* does not come back if that works */
  UNUSED;
  char path[4096];
  snprintf(path, sizeof path, "%s/deep", getenv("TMPDIR"));
  mkdir(path, 0700);
  strncat(path, "/.file", sizeof path - strlen(path) - 1);
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  for (off_t size = 0; size < (off_t)400 << 20; size += 1 << 20)
    if (posix_fallocate(file, size, 1 << 20)) return 0;
  for (;;) pause();
}

KERNEL(hides_files) {
  UNUSED;
  char path[4096];
  snprintf(path, sizeof path, "%s/hidden", getenv("TMPDIR"));
  mkdir(path, 0);
  for (;;) pause();
}

KERNEL(leaves_a_daemon) { /* its number */
  UNUSED;
  int ends[2];
  if (pipe(ends)) return 0;
  if (fork() == 0) {
    setsid();
    const pid_t daemon = fork();
    if (daemon == 0) {
      for (;;) pause();
    }
    if (write(ends[1], &daemon, sizeof daemon) < 0) _exit(1);
    _exit(0);
  }
  pid_t daemon = 0;
  if (read(ends[0], &daemon, sizeof daemon) < 0) return 0;
  *(float *)tensor(args[0])->data = (float)daemon;
  return 0;
}
