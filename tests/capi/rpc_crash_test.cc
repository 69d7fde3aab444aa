// What a client hears of a program that crashes the process of its session: each server here is a child of its own.
#include <sys/mman.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/add_one.h"
#include "support/rpc_servers.h"
#include "support/sanitizers.h"

namespace opdyno_test {
namespace {

struct ACrash : testing::Test {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  opd_rpc_progress *progress = nullptr;
  void (*before)() = [] {};  // in the child
  int port = 0;
  pid_t child = -1;

  void SetUp() override {
    if (has_sanitizer()) GTEST_SKIP() << "sanitizers handle these signals themselves";
    progress = static_cast<opd_rpc_progress *>(
        mmap(nullptr, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    opd_rpc_progress_init(progress);
    options.report_crashes = 1, options.progress = progress;
  }
  void TearDown() override {
    if (child > 0) kill(child, SIGKILL), wait_for_child();
    if (progress) munmap(progress, sizeof *progress);
  }
  void start() {
    const int listener = listening(port);
    child = fork();
    if (child == 0) {
      before();
      opd_error_release(opd_rpc_serve(accept(listener, nullptr, nullptr), &options));
      _exit(0);
    }
    close(listener);
  }
  int wait_for_child() {  // the signal that ended it; 0: none did
    int status = 0;
    EXPECT_GT(waitpid(std::exchange(child, -1), &status, 0), 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  // Of a program whose function "main" calls `kernel`.
  void expect_crash(const std::string &kernel, int signal, const std::string &why) {
    start();
    const RpcSession session = RpcSession::connect("127.0.0.1:" + std::to_string(port));
    const std::string file = testing::TempDir() + "/rpc_crash.vmexec";
    Executable::assemble(".func main() {\n  call " + kernel + "()\n  ret %void\n}").to_module().save(file);
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    session.upload("p.vmexec", bytes.str());
    const DLDevice device = session.device();
    opd_vm_options on = defaults(opd_vm_options_init);
    on.devices = &device, on.num_devices = 1;
    const Vm vm(session.load_module("p.vmexec"), &on);
    try {
      vm.call("main");
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), OPD_IO);
      EXPECT_EQ(std::string(opd_error_kind(e.get())), "ConnectionError");
      EXPECT_NE(e.message().find("ended in main: the session's process was ended by " + why), std::string::npos)
          << e.message();
      EXPECT_NE(e.message().find(" in the operator " + kernel.substr(0, 127)), std::string::npos) << e.message();
    }
    expect_throws([&] { vm.call("main"); }, OPD_IO, "was ended by " + why);
    EXPECT_EQ(wait_for_child(), signal);
    const bool has_name = progress->struct_size == sizeof *progress;  // else the caller's header is older
    EXPECT_EQ(std::string(progress->crashed_in), has_name ? kernel.substr(0, sizeof progress->crashed_in - 1) : "");
  }
};

int recurse(volatile int *depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(*depth);
  return *depth < 0 ? 0 : recurse(depth) + room[0];
}

TEST_F(ACrash, IsReportedWithTheOperatorThatRan) {
  define("test.segv", [](const opd_value *, int32_t, opd_value *) { *reinterpret_cast<volatile int *>(8) = 1; });
  define("test.abort", [](const opd_value *, int32_t, opd_value *) { abort(); });
  define("test.fpe", [](const opd_value *, int32_t, opd_value *) { raise(SIGFPE); });
  define("test.ill", [](const opd_value *, int32_t, opd_value *) { raise(SIGILL); });
  define("test.bus", [](const opd_value *, int32_t, opd_value *) { raise(SIGBUS); });
  define("test.sys", [](const opd_value *, int32_t, opd_value *) { raise(SIGSYS); });
  expect_crash("test.segv", SIGSEGV, "SIGSEGV (it used memory that is not there)");
  expect_crash("test.abort", SIGABRT, "SIGABRT");
  expect_crash("test.fpe", SIGFPE, "SIGFPE");
  expect_crash("test.ill", SIGILL, "SIGILL");
  expect_crash("test.bus", SIGBUS, "SIGBUS");
  expect_crash("test.sys", SIGSYS, "SIGSYS");
}

TEST_F(ACrash, IsNotWrittenBehindTheProgressOfAnOlderCaller) {
  progress->struct_size = offsetof(opd_rpc_progress, crashed_in);
  define("test.segv", [](const opd_value *, int32_t, opd_value *) { *reinterpret_cast<volatile int *>(8) = 1; });
  expect_crash("test.segv", SIGSEGV, "SIGSEGV (it used memory that is not there)");
  EXPECT_GT(progress->num_requests, 0U);
}

TEST_F(ACrash, IsReportedIfTheStackOverflows) {
  define("test.recurses", [](const opd_value *, int32_t, opd_value *) {
    volatile int depth = 1;
    recurse(&depth);
  });
  expect_crash("test.recurses", SIGSEGV, "SIGSEGV");
}

TEST_F(ACrash, IsReportedIfAnotherThreadOfAKernelCrashes) {
  define("test.threads", [](const opd_value *, int32_t, opd_value *) {
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i) all.emplace_back([] { *reinterpret_cast<volatile int *>(8) = 1; });
    for (std::thread &one : all) one.join();
  });
  expect_crash("test.threads", SIGSEGV, "SIGSEGV");
}

TEST_F(ACrash, IsReportedIfTheCpuTimeIsUsedUp) {
  define("test.spins", [](const opd_value *, int32_t, opd_value *) {
    for (volatile int go = 1; go;) {}
  });
  options.max_cpu_s = 1;
  expect_crash("test.spins", SIGXCPU, "SIGXCPU (the session has used up its 1 s of CPU time)");
}

// A kernel that does not look whether it was given memory.
TEST_F(ACrash, ReportsTheLimitOfMemoryIfAnAddressIsNull) {
  define("test.asks", [](const opd_value *, int32_t, opd_value *) {
    auto *const got = static_cast<volatile char *>(malloc(size_t{1} << 32));
    *got = 1;
  });
  options.max_process_bytes = uint64_t{256} << 20;
  expect_crash("test.asks", SIGSEGV, "SIGSEGV (it used memory that is not there; the session has ");
  EXPECT_TRUE(std::regex_search(std::string(progress->end_reason),
                                std::regex(R"(^SIGSEGV \(.*; the session has \d+ of the \d+ MiB that it may have\)$)")))
      << progress->end_reason;
}

TEST_F(ACrash, HasTheNameOfItsOperatorCutToItsPlace) {
  const std::string name = "test." + std::string(200, 'n');
  define(name.c_str(), [](const opd_value *, int32_t, opd_value *) { abort(); });
  start();
  opd_rpc_connect_options usual = how();
  const RpcSession session = RpcSession::connect("127.0.0.1:" + std::to_string(port), &usual);
  expect_throws([&] { session.function(name.c_str())(); }, OPD_IO, "the session's process was ended by SIGABRT");
  EXPECT_EQ(wait_for_child(), SIGABRT);
  EXPECT_EQ(std::string(progress->crashed_in), "") << "no operator of a program ran";
  expect_crash(name, SIGABRT, "SIGABRT");
}

TEST_F(ACrash, KeepsTheProgramsSignalHandlers) {
  define("test.segv", [](const opd_value *, int32_t, opd_value *) { *reinterpret_cast<volatile int *>(8) = 1; });
  before = [] { signal(SIGSEGV, [](int) { _exit(7); }); };
  start();
  const RpcSession session = RpcSession::connect("127.0.0.1:" + std::to_string(port));
  expect_throws([&] { session.function("test.segv")(); }, OPD_IO, "the server closed the connection");
  int status = 0;
  waitpid(std::exchange(child, -1), &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(ACrash, IsNotReportedByDefault) {
  define("test.segv", [](const opd_value *, int32_t, opd_value *) { *reinterpret_cast<volatile int *>(8) = 1; });
  options.report_crashes = 0;
  start();
  const RpcSession session = RpcSession::connect("127.0.0.1:" + std::to_string(port));
  expect_throws([&] { session.function("test.segv")(); }, OPD_IO, "the server closed the connection");
  EXPECT_EQ(wait_for_child(), SIGSEGV);
}

TEST_F(ACrash, IsNotHandledAfterTheSession) {
  options.progress = nullptr;
  const auto count_handled = [] {
    int handled = 0;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGTERM, SIGURG}) {
      struct sigaction now {};
      sigaction(number, nullptr, &now);
      handled += now.sa_handler != SIG_DFL;
    }
    return handled;
  };
  ASSERT_EQ(count_handled(), 0);
  {
    RawSession session(options);
    session.begin();
    EXPECT_EQ(count_handled(), 9);
  }
  EXPECT_EQ(count_handled(), 0);
}

TEST_F(ACrash, IsReportedForOneSessionAtATime) {
  options.progress = nullptr;
  Listener server([&](int connection) { serve_with(connection, &options); });
  std::string said;
  Listener second([&](int connection) {
    opd_error *const error = opd_rpc_serve(connection, &options);
    said = opd_error_message(error);
    EXPECT_EQ(opd_error_code(error), OPD_FAILED_PRECONDITION);
    opd_error_release(error);
  });
  {
    const RpcSession first = RpcSession::connect(server.address());
    expect_throws([&] { RpcSession::connect(second.address()); }, OPD_IO);
    EXPECT_NE(said.find("another session whose crashes are reported"), std::string::npos) << said;
  }
  while (server.open) std::this_thread::yield();
  RpcSession::connect(server.address());  // the place is free again
}

// ---- what else the options tell of a session, or ask

TEST(Progress, CountsRequestsAndBytes) {
  opd_rpc_progress progress;
  opd_rpc_progress_init(&progress);
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  options.progress = &progress;
  {
    RawSession session(options);
    session.begin();
    EXPECT_EQ(progress.num_requests, 1U);
    const uint64_t data = session.allocate({1000});
    const uint64_t received = progress.received_bytes, sent = progress.sent_bytes;
    session.write(data, std::vector<float>(1000)).expect_done();
    EXPECT_EQ(progress.received_bytes - received, 8U + 4 + (8 + 8 + 4 + 4 + 8 + 8) + 8 + 4000);
    session.read(data, 1000);
    EXPECT_EQ(progress.sent_bytes - sent, (8U + 4 + 4 + 4) + (8 + 4 + 4000));
    session.ask(99, Packet());  // which is an error
    EXPECT_EQ(progress.num_requests, 5U);
  }
  progress.struct_size = 4;
  expect_throws([&] { opdyno::rpc_serve_describe(&options); }, OPD_INVALID_ARGUMENT, "struct_size");
}

TEST(Admission, IsAskedOnceTheClientHasSaidTheKey) {
  static std::atomic<int> asked{0};
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  options.key = "k", options.user_data = &asked;
  options.admit = [](void *count) -> opd_error * {
    const int now = ++*static_cast<std::atomic<int> *>(count);
    return now == 1 ? nullptr : opd_error_create(OPD_OUT_OF_RANGE, nullptr, "no room");
  };
  {
    RawSession other(options);
    other.greet("client:x");
    other.receive(4);
    opd_error_release(other.end());
  }
  EXPECT_EQ(asked, 0);
  {
    RawSession session(options);
    session.begin("k");
  }
  RawSession refused(options);
  refused.greet("client:k");
  refused.receive(1000);
  opd_error *const error = refused.end();
  EXPECT_EQ(opd_error_code(error), OPD_OUT_OF_RANGE);
  EXPECT_STREQ(opd_error_message(error), "no room");
  opd_error_release(error);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace opdyno_test
