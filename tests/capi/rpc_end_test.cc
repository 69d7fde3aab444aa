// What a client hears if another process ends that of its session: by SIGTERM, or by SIGKILL, which no process handles.
// Each server here has a keeper, as `opdyno serve` is one: a child that keeps the connection, and whose child serves.
#include <sys/mman.h>
#include <sys/wait.h>

#include <csignal>

#include "support/add_one.h"
#include "support/c_artifact.h"
#include "support/rpc_servers.h"
#include "support/sanitizers.h"

namespace opdyno_test {
namespace {

constexpr const char *kEnded = "the session's process was ended by ";

struct Shared {
  opd_rpc_progress progress;
  std::atomic<int> is_running, may_go_on;
  std::atomic<pid_t> session;
  char noted[128], noted_later[128];
};
Shared *shared = nullptr;

struct AnEnd : testing::Test {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  int port = 0;
  pid_t keeper = -1;

  void SetUp() override {
    if (has_thread_sanitizer())
      GTEST_SKIP() << "ThreadSanitizer has signals wait until the program makes a system call";
    void *const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = new (memory) Shared{};
    opd_rpc_progress_init(&shared->progress);
    options.report_crashes = 1, options.progress = &shared->progress;
    define("test.runs", [](const opd_value *, int32_t, opd_value *) {
      for (shared->is_running = 1; !shared->may_go_on;) {}
    });
    define("test.is_fast", [](const opd_value *, int32_t, opd_value *) {});
  }
  void TearDown() override {
    end(SIGKILL);
    if (shared) munmap(shared, sizeof *shared);
  }
  // Between two requests: the last answer was sent whole.
  static void wait_for_rest() {
    while (!std::atomic_ref(shared->progress.private_state).load()) std::this_thread::yield();
  }
  // Ends the session's process, and waits for the keeper, which says what is left to be said.
  void end(int signal, const char *reason = "") {
    if (keeper < 0) return;
    if (const pid_t session = shared->session) {
      snprintf(shared->progress.end_reason, sizeof shared->progress.end_reason, "%s", reason);
      kill(session, signal);
    } else {
      kill(keeper, SIGKILL);
    }
    waitpid(std::exchange(keeper, -1), nullptr, 0);
  }
  std::string address() {
    const int listener = listening(port);
    keeper = fork();
    if (keeper == 0) keep(accept(listener, nullptr, nullptr));
    close(listener);
    return "127.0.0.1:" + std::to_string(port);
  }
  [[noreturn]] void keep(int connection) {
    const pid_t session = fork();
    if (session == 0) {
      opd_error_release(opd_rpc_serve(connection, &options));
      _exit(0);
    }
    shared->session = session;
    waitpid(session, nullptr, 0);
    const opd_rpc_progress progress = shared->progress;
    opd_error *const error = opd_rpc_tell_end(connection, &progress);
    _exit(error != nullptr);
  }
  // Of a program whose function "main" calls the kernel.
  static Vm vm_of(const RpcSession &session, const std::string &kernel) {
    const std::string file = testing::TempDir() + "/rpc_end.vmexec";
    Executable::assemble(".func main() {\n  call " + kernel + "()\n  ret %void\n}").to_module().save(file);
    session.upload("p.vmexec", read_bytes(file));
    const DLDevice device = session.device();
    opd_vm_options on = defaults(opd_vm_options_init);
    on.devices = &device, on.num_devices = 1;
    return Vm(session.load_module("p.vmexec"), &on);
  }
  // Calls "main", which runs until it is ended so; gives the error.
  std::string error_of_call(const Vm &vm, int signal, const char *reason = "",
                            const std::function<void()> &before = {}) {
    std::thread ending([&] {
      while (!shared->is_running) std::this_thread::yield();
      if (before) before();
      end(signal, reason);
    });
    std::string said;
    try {
      vm.call("main");
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), OPD_IO);
      EXPECT_EQ(std::string(opd_error_kind(e.get())), "ConnectionError");
      said = e.message();
    }
    ending.join();
    return said;
  }
};

void expect_in(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in \"" << text << "\"";
}

TEST_F(AnEnd, BySigtermIsReportedWithTheReasonAndTheOperator) {
  const RpcSession session = RpcSession::connect(address());
  const Vm vm = vm_of(session, "test.runs");
  const std::string said = error_of_call(vm, SIGTERM, "the server (its time, 6 s, was over)");
  expect_in(said,
            std::string("ended in main: ") + kEnded + "the server (its time, 6 s, was over) in the operator test.runs");
  expect_throws([&] { vm.call("main"); }, OPD_IO, "its time, 6 s, was over");
}

TEST_F(AnEnd, BySigtermNeedsNoReason) {
  const RpcSession session = RpcSession::connect(address());
  const std::string said = error_of_call(vm_of(session, "test.runs"), SIGTERM);
  expect_in(said, std::string(kEnded) + "SIGTERM (another process demanded it) in the operator test.runs");
}

TEST_F(AnEnd, BySigkillIsReportedWithTheNotedOperator) {
  const RpcSession session = RpcSession::connect(address());
  const Vm vm = vm_of(session, "test.runs");
  const std::string said = error_of_call(vm, SIGKILL, "SIGKILL (no memory was left)", [] {
    kill(shared->session, SIGURG);
    while (!shared->progress.crashed_in[0]) std::this_thread::yield();
  });
  expect_in(said, std::string("ended in main: ") + kEnded + "SIGKILL (no memory was left) in the operator test.runs");
}

TEST_F(AnEnd, BySigkillIsReportedWithoutANotedOperator) {
  const RpcSession session = RpcSession::connect(address());
  const std::string said = error_of_call(vm_of(session, "test.runs"), SIGKILL, "SIGKILL");
  EXPECT_TRUE(said.ends_with(std::string(kEnded) + "SIGKILL")) << said;
}

TEST_F(AnEnd, IsReportedAtTheNextRequest) {
  for (const char *checksums : {"1", "0"})
    for (const int signal : {SIGTERM, SIGKILL}) {
      setenv("OPDYNO_RPC_CHECKSUMS", checksums, 1);
      const RpcSession session = RpcSession::connect(address());
      const Vm vm = vm_of(session, "test.is_fast");
      vm.call("main");
      wait_for_rest();
      end(signal, "the server (its time was over)");
      expect_throws([&] { vm.call("main"); }, OPD_IO,
                    std::string("ended in main: ") + kEnded + "the server (its time was over)");
      shared->session = 0;
    }
  unsetenv("OPDYNO_RPC_CHECKSUMS");
}

// A message that is sent in several parts finds the connection closed, which is not why the session ended.
TEST_F(AnEnd, IsReportedIfTheNextRequestIsLarge) {
  const RpcSession session = RpcSession::connect(address());
  session.upload("small", "x");
  wait_for_rest();
  end(SIGKILL, "the server (its time was over)");
  const std::string large(32 << 20, 'x');
  expect_throws([&] { session.upload("large", large); }, OPD_IO, "the server (its time was over)");
}

TEST_F(AnEnd, IsNotReportedIfTheSessionEndsItself) {
  const int connection = [this] { return address(), connected(port); }();
  send_all(connection, Packet().raw<int32_t>(0xFF271).raw<int32_t>(7).plain("client:"));
  receive(connection, 8 + 7);
  send_all(connection, framed(Packet().raw<int32_t>(kInitServer).text("0.8.0").raw<int32_t>(0)));
  receive(connection, done().str().size());
  send_all(connection, framed(Packet().raw<int32_t>(kShutdown)));
  waitpid(std::exchange(keeper, -1), nullptr, 0);
  EXPECT_EQ(receive(connection, 1), "");
  close(connection);
}

// Clients of TVM's, too, read it as an error.
TEST_F(AnEnd, IsAnExceptionForClientsOfTvm) {
  const int connection = [this] { return address(), connected(port); }();
  send_all(connection, Packet().raw<int32_t>(0xFF271).raw<int32_t>(7).plain("client:"));
  receive(connection, 8 + 7);
  send_all(connection, framed(Packet().raw<int32_t>(kInitServer).text("0.8.0").raw<int32_t>(0)));
  receive(connection, done().str().size());
  wait_for_rest();
  end(SIGKILL, "SIGKILL (no memory was left)");
  uint64_t size = 0;
  const std::string head = receive(connection, sizeof size);
  ASSERT_EQ(head.size(), sizeof size);
  std::memcpy(&size, head.data(), sizeof size);
  Reply reply(receive(connection, size));
  EXPECT_EQ(reply.message(), std::string("ConnectionError: ") + kEnded + "SIGKILL (no memory was left)");
  EXPECT_TRUE(reply.at_end());
  EXPECT_EQ(receive(connection, 1), "");
  close(connection);
}

TEST_F(AnEnd, AcceptsAnOperatorWithoutATerminator) {  // programs of the session can write there
  const RpcSession session = RpcSession::connect(address());
  const Vm vm = vm_of(session, "test.runs");
  const std::string said = error_of_call(
      vm, SIGKILL, "", [] { std::memset(shared->progress.crashed_in, 'o', sizeof shared->progress.crashed_in); });
  EXPECT_TRUE(said.ends_with(" in the operator " + std::string(sizeof shared->progress.crashed_in, 'o'))) << said;
}

// ---- operators that are noted while the program goes on

TEST_F(AnEnd, IsNotCausedByANote) {
  define("test.notes", [](const opd_value *, int32_t, opd_value *) {
    raise(SIGURG);
    std::memcpy(shared->noted, shared->progress.crashed_in, sizeof shared->noted);
    std::memset(shared->progress.crashed_in, 0, sizeof shared->progress.crashed_in);
    // At another thread it arrives, too.
    std::thread([] { pthread_kill(pthread_self(), SIGURG); }).join();
    while (!std::atomic_ref(shared->progress.crashed_in[0]).load()) {}
    std::memcpy(shared->noted_later, shared->progress.crashed_in, sizeof shared->noted_later);
  });
  const RpcSession session = RpcSession::connect(address());
  const Vm vm = vm_of(session, "test.notes");
  vm.call("main");
  EXPECT_STREQ(shared->noted, "test.notes");
  EXPECT_STREQ(shared->noted_later, "test.notes");
  EXPECT_STREQ(shared->progress.crashed_in, "test.notes");
  session.upload("x", "y");
  EXPECT_STREQ(shared->progress.crashed_in, "") << "of a former request";
  const pid_t process = shared->session;
  kill(process, SIGURG);
  session.upload("x", "y");
  EXPECT_STREQ(shared->progress.crashed_in, "") << "no operator ran";
}

// ---- memory

TEST_F(AnEnd, IsNotTheAnswerToARefusedAllocation) {
  if (has_address_sanitizer()) GTEST_SKIP() << "the limit would be for AddressSanitizer's own memory, too";
  constexpr uint64_t kMost = 256 << 20;
  options.max_process_bytes = kMost;
  const RpcSession session = RpcSession::connect(address());
  const std::string limit = "; the session may have " + std::to_string(kMost) + " bytes of memory";
  expect_throws([&] { Tensor({int64_t{1} << 32}, "uint8", session.device()); }, OPD_OUT_OF_MEMORY, limit);
  const std::string file = testing::TempDir() + "/rpc_memory.vmexec";
  Executable::assemble(R"(.func main() {
    %s = call vm.builtin.alloc_storage(%vm, shape(4294967296), 0, dtype(uint8), "global")
    ret %s
  })")
      .to_module()
      .save(file);
  session.upload("p.vmexec", read_bytes(file));
  const DLDevice device = session.device();
  opd_vm_options on = defaults(opd_vm_options_init);
  on.devices = &device, on.num_devices = 1;
  const Vm vm(session.load_module("p.vmexec"), &on);
  try {
    vm.call("main");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), OPD_OUT_OF_MEMORY);
    expect_in(e.message(), limit);
  }
  session.upload("x", "y");  // it goes on
}

}  // namespace
}  // namespace opdyno_test
