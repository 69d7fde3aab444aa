// Builds and installs the filter of system calls (seccomp) for a session's process.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "rpc/sandbox/sandbox.h"

// Some headers lack these newer constants.
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif
#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW 4
#endif

namespace opd::rpc {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kMachine = 0;
#endif

// Some headers lack these newer calls. Their numbers are the same on all architectures.
constexpr int kNrOpenTree = 428, kNrMoveMount = 429, kNrFsopen = 430, kNrFsconfig = 431, kNrFsmount = 432,
              kNrFspick = 433, kNrClone3 = 435, kNrPidfdGetfd = 438, kNrMountSetattr = 442, kNrQuotactlFd = 443,
              kNrFchmodat2 = 452, kNrSetxattrat = 463, kNrRemovexattrat = 466, kNrOpenTreeAttr = 467,
              kNrFileSetattr = 469;

constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM, kAbsent = SECCOMP_RET_ERRNO | ENOSYS;

// Calls that reach other processes or the kernel, or that reach files in ways that Landlock does not check.
constexpr int kDeniedCalls[] = {
    // other processes
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    kNrPidfdGetfd,
    __NR_kcmp,
    // the kernel and the machine
    __NR_kexec_load,
    __NR_kexec_file_load,
    __NR_reboot,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_bpf,
    __NR_syslog,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_acct,
    __NR_swapon,
    __NR_swapoff,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_vhangup,
    __NR_quotactl,
    kNrQuotactlFd,
    // namespaces and mounts
    __NR_mount,
    __NR_umount2,
    kNrMoveMount,
    kNrOpenTree,
    kNrOpenTreeAttr,
    kNrFsopen,
    kNrFsconfig,
    kNrFsmount,
    kNrFspick,
    kNrMountSetattr,
    __NR_pivot_root,
    __NR_chroot,
    __NR_setns,
    __NR_unshare,
    // keys of the user
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    // io_uring bypasses filters of system calls; userfaultfd helps to exploit bugs of the kernel
    __NR_io_uring_setup,
    __NR_io_uring_enter,
    __NR_io_uring_register,
    __NR_userfaultfd,
    // file access by handle, and notifications about files
    __NR_open_by_handle_at,
    __NR_inotify_add_watch,
    __NR_fanotify_init,
    // modes, owners and attributes of this user's files, which Landlock does not restrict
    __NR_fchmodat,
    kNrFchmodat2,
    __NR_fchown,
    __NR_fchownat,
    __NR_setxattr,
    __NR_lsetxattr,
    __NR_fsetxattr,
    kNrSetxattrat,
    __NR_removexattr,
    __NR_lremovexattr,
    __NR_fremovexattr,
    kNrRemovexattrat,
    kNrFileSetattr,
    // System V shared memory, semaphores and messages
    __NR_shmget,
    __NR_shmat,
    __NR_semget,
    __NR_msgget,
    __NR_mq_open,
#if defined(__x86_64__)
    __NR_iopl,
    __NR_ioperm,
    __NR_chmod,
    __NR_chown,
    __NR_lchown,
    __NR_utime,
    __NR_utimes,
    __NR_futimesat,
#endif
};

// Builds a BPF program of consecutive tests. If a test does not match, the next one runs.
class Program {
 public:
  Program() {
    load(offsetof(seccomp_data, arch));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
    end(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    constexpr uint32_t kX32 = 0x40000000;  // the x32 ABI has other numbers for the same calls; no program here uses it
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1));
    end(kDenied);
#endif
  }

  void answer(int call, uint32_t how) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    end(how);
  }
  void deny(int call) { answer(call, kDenied); }

  // deny_if() denies the call if the lower half of an argument is one of these values, deny_unless() if it is none of
  // them.
  void deny_if(int call, int argument, std::initializer_list<uint32_t> values) {
    compare(call, argument, values, true);
  }
  void deny_unless(int call, int argument, std::initializer_list<uint32_t> values) {
    compare(call, argument, values, false);
  }
  void deny_if_bits(int call, int argument, uint32_t bits) {
    begin(call, 4, argument);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    end(kDenied);
    end(SECCOMP_RET_ALLOW);
  }
  // Denies the call if argument 0 is `first`, and argument 1, masked with `bits`, is `second`.
  void deny_if_both(int call, uint32_t first, uint32_t second, uint32_t bits) {
    begin(call, 7, 0);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 0, 4));
    load(argument_at(1));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1));
    end(kDenied);
    load(offsetof(seccomp_data, nr));
  }
  // Denies the call if a pointer argument is not null.
  void deny_unless_null(int call, int argument) {
    begin(call, 6, argument);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
    load(argument_at(argument) + 4);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    end(kDenied);
    end(SECCOMP_RET_ALLOW);
  }

  std::vector<sock_filter> take() {
    end(SECCOMP_RET_ALLOW);
    return std::move(code_);
  }

 private:
  // Both architectures are little-endian, so the lower half comes first.
  static uint32_t argument_at(int argument) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(argument));
  }
  void load(size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void end(uint32_t how) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, how)); }
  // Begins the test of a call: `count` instructions follow this jump, and the first one loads an argument.
  void begin(int call, int count, int argument) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, static_cast<uint8_t>(count)));
    load(argument_at(argument));
  }
  void compare(int call, int argument, std::initializer_list<uint32_t> values, bool denies) {
    const auto count = static_cast<int>(values.size());
    begin(call, count + 3, argument);
    int left = count;
    for (const uint32_t value : values)
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, static_cast<uint8_t>(left--), 0));
    end(denies ? SECCOMP_RET_ALLOW : kDenied);
    end(denies ? kDenied : SECCOMP_RET_ALLOW);
  }

  std::vector<sock_filter> code_;
};

// Named sockets lead to servers that act for this user, such as D-Bus, ssh-agent and docker.
void deny_sockets(Program &program, bool network) {
  constexpr uint32_t kTypes = 0xf;  // mask that removes the flags
  if (network) {
    program.deny_unless(__NR_socket, 0, {AF_INET, AF_INET6, AF_NETLINK});
    program.deny_if_both(__NR_socketpair, AF_UNIX, SOCK_DGRAM, kTypes);
    return;
  }
  // A datagram's address is in memory, which filters cannot read.
  program.deny_if_both(__NR_socket, AF_UNIX, SOCK_DGRAM, kTypes);
  program.deny_if_both(__NR_socketpair, AF_UNIX, SOCK_DGRAM, kTypes);
  program.deny_unless(__NR_socket, 0, {AF_UNIX, AF_NETLINK});
  program.deny(__NR_connect);
}

std::vector<sock_filter> program_for(const SyscallFilter &filter) {
  constexpr uint32_t kNamespaces = 0x7E020000;   // CLONE_NEW…
  constexpr uint32_t kTypeForMe = 0x541C;        // TIOCLINUX
  constexpr uint32_t kSetTerminal = 0x402C542B;  // TCSETS2
  constexpr uint32_t kOthers = 07022;            // modes that let others write, or run a program as this user
  Program program;
  for (const int call : kDeniedCalls) program.deny(call);
  if (!filter.truncates) program.deny(__NR_truncate);
  program.deny_if_bits(__NR_clone, 0, kNamespaces);
  program.answer(kNrClone3, kAbsent);  // a filter cannot see its flags; libraries then call clone()
  // These requests would change the input, the echo or the foreground processes of the server's terminal.
  program.deny_if(__NR_ioctl, 1,
                  {TIOCSTI, kTypeForMe, TIOCSPGRP, TIOCSCTTY, TIOCSETD, TIOCCONS, TCSETS, TCSETSW, TCSETSF,
                   kSetTerminal, kSetTerminal + 1, kSetTerminal + 2});
  program.deny_if_bits(__NR_fchmod, 1, kOthers);
  program.deny_unless_null(__NR_utimensat, 1);
  program.deny_unless(__NR_prlimit64, 0, {0});             // limits of other processes
  program.deny_unless(__NR_personality, 0, {0xFFFFFFFF});  // reading it is allowed
  deny_sockets(program, filter.network);
  return program.take();
}

}  // namespace

bool has_syscall_filters() {
  const uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return kMachine && ::syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void enter_syscall_filter(const SyscallFilter &filter) {
  std::vector<sock_filter> code = program_for(filter);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  // Without the flag, kernels before 5.16 enable mitigations that slow the thread down, so its measured times would
  // change.
  for (const unsigned flags : {unsigned{SECCOMP_FILTER_FLAG_SPEC_ALLOW}, 0U}) {
    if (::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0) return;
    if (errno != EINVAL) break;  // EINVAL: kernels before 4.17 do not have the flag
  }
  fail(OPD_IO, "cannot restrict the system calls of the session: ", error_text(errno));
}

}  // namespace opd::rpc
