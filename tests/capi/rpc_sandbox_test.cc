// What opd_rpc_serve() does to the process that serves a session: each server here is a child of its own. tests/cli
// attacks it from within.
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <opdyno/rpc.hpp>
#include <sstream>

#include "support/add_one.h"
#include "support/rpc_servers.h"
#include "support/sanitizers.h"

namespace opdyno_test {
namespace {

using Floats = std::vector<float>;

opd_rpc_serve_options restricted() {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  options.sandbox = 1;
  return options;
}

// A child with one thread that serves one session.
class Server {
 public:
  explicit Server(const opd_rpc_serve_options &options) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    child_ = fork();
    if (child_ == 0) {
      const int connection = accept(listener, nullptr, nullptr);
      opd_error *const error = opd_rpc_serve(connection, &options);
      if (error) fprintf(stderr, "%s\n", opd_error_message(error));
      _exit(error ? opd_error_code(error) : 0);
    }
    close(listener);
  }
  ~Server() {
    if (child_ > 0) kill(child_, SIGKILL), end();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  pid_t process() const { return child_; }
  int end() {  // the code that it exits with; -1: a signal ended it
    int status = 0;
    EXPECT_EQ(waitpid(std::exchange(child_, -1), &status, 0) > 0, true);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int port_ = 0;
  pid_t child_ = -1;
};

// A value of /proc/PID/status.
std::string status_of(pid_t process, const std::string &name) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return "";
}

struct ASandbox : testing::Test {
  std::filesystem::path folder;
  void SetUp() override {
    std::string name = testing::TempDir() + "/sandbox-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(ASandbox, LetsProgramsRunBeMeasuredAndProfiled) {
  if (has_thread_sanitizer())
    GTEST_SKIP() << "ThreadSanitizer lets no child of a process with threads start threads of its own";
  define_add_one();
  opd_rpc_serve_options options = restricted();
  const std::string parent = folder.string();
  options.work_folder = parent.c_str();
  Server server(options);
  {
    const RpcSession session = RpcSession::connect(server.address());
    const DLDevice device = session.device();
    session.upload("plain.c", "#include <math.h>\nint root(int x) { return (int)sqrt(x); }\n");
    EXPECT_NE(session.load_module("plain.c").get(), nullptr);
    const std::string file = (folder / "p.vmexec").string();
    Executable::assemble(kAddOne).to_module().save(file);
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    session.upload("p.vmexec", bytes.str());
    opd_vm_options on = defaults(opd_vm_options_init);
    on.devices = &device, on.num_devices = 1;
    const Vm vm(session.load_module("p.vmexec"), &on);
    const Tensor x({4}, "float32", device);
    x.copy_from(floats({1, 2, 3, 4}));
    const Value y = vm.function("main")(x);
    const Tensor back({4}, "float32");
    back.copy_from(Tensor::of(y));
    EXPECT_EQ((Floats{back.data<float>(), back.data<float>() + 4}), (Floats{2, 3, 4, 5}));
    opd_profile_options how = defaults(opd_profile_options_init);
    const Collector time = Collector::builtin(OPD_COLLECTOR_TIME), memory = Collector::builtin(OPD_COLLECTOR_MEMORY);
    opd_collector *const collectors[] = {time.get(), memory.get()};
    how.collectors = collectors, how.num_collectors = 2, how.repeat = 3;
    EXPECT_NE(vm.profile("main", {arg(x)}, &how).report.json().find("test.add_one"), std::string::npos);

    EXPECT_EQ(status_of(server.process(), "NoNewPrivs"), "1");
    EXPECT_EQ(status_of(server.process(), "CapEff"), "0000000000000000");
    EXPECT_EQ(status_of(server.process(), "CapPrm"), "0000000000000000");
    session.close();
  }
  EXPECT_EQ(server.end(), 0);
  for (const auto &left : std::filesystem::recursive_directory_iterator(folder))
    EXPECT_TRUE(left.is_directory() || left.path().filename() == "p.vmexec") << left.path();
}

TEST_F(ASandbox, IsForAProcessWithOneThread) {
  if (has_thread_sanitizer())
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own, so its builds do not count threads";
  RawSession session(restricted());  // a thread of this process, which has another one
  session.greet();
  session.receive(8 + 7);
  expect_error(session.end(), OPD_FAILED_PRECONDITION, "a sandbox is for a process with one thread");
}

TEST_F(ASandbox, IsRefusedWithOptionsThatMakeNoSense) {
  const auto refuses = [](const opd_rpc_serve_options &options, opd_code code, const char *part) {
    opd_buffer *json = nullptr;
    expect_error(opd_rpc_serve_describe(&options, &json), code, part);
    expect_error(opd_rpc_serve(-1, &options), code, part);
    EXPECT_EQ(json, nullptr);
  };
  opd_rpc_serve_options wrong = restricted();
  wrong.max_cpu_s = -1;
  refuses(wrong, OPD_INVALID_ARGUMENT, "max_cpu_s must not be negative, but is -1");
  wrong = restricted(), wrong.num_read_paths = 1;
  refuses(wrong, OPD_INVALID_ARGUMENT, "read_paths");
  const char *paths[] = {"/usr", nullptr};
  wrong.read_paths = paths, wrong.num_read_paths = 2;
  refuses(wrong, OPD_INVALID_ARGUMENT, "read_paths[1] must not be NULL");
  paths[1] = "/nowhere/at/all";
  refuses(wrong, OPD_NOT_FOUND, "/nowhere/at/all");
  wrong = restricted(), wrong.user = "nobody-of-that-name";
  refuses(wrong, OPD_NOT_FOUND, "no user \"nobody-of-that-name\"");
  if (geteuid() != 0) {
    wrong.user = "root";
    refuses(wrong, OPD_FAILED_PRECONDITION, "only a server of root");
  }
  for (const char *list : {"x", "0123  a\n", "zz23456789012345678901234567890123456789012345678901234567890123  a",
                           "0123456789012345678901234567890123456789012345678901234567890123x  a"}) {
    wrong = restricted(), wrong.allowed_modules = list;
    refuses(wrong, OPD_BAD_FORMAT, "line 1 of the list of modules");
  }
  expect_error(opd_rpc_serve_describe(nullptr, nullptr), OPD_INVALID_ARGUMENT, "out_json");
}

TEST_F(ASandbox, IsDescribed) {
  EXPECT_EQ(rpc_serve_describe(),
            R"({"enforced":[],"missing":[],"tls_fingerprint":"","tls_absence":"")" + std::string("}"));
  opd_rpc_serve_options options = restricted();
  const std::string closed = rpc_serve_describe(&options);
  const long version = syscall(444, nullptr, 0, 1);  // Landlock's
  const std::string files = "files (Landlock ABI " + std::to_string(version) + ")";
  EXPECT_EQ(closed.find(files) != std::string::npos, version > 0) << closed;
  options.allow_network = 1;
  EXPECT_EQ(rpc_serve_describe(&options).find("network"), std::string::npos);
}

TEST_F(ASandbox, LoadsOnlyModulesOfItsList) {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  // sha256sum tells this of the first source below.
  options.allowed_modules =
      "\n# a comment\r\n\\07e31c947182a3a4430804CBDA670C779DDE0E385AB4C0EEA728C311B6519382 *f\r\n";
  RawSession session(options);
  session.begin();
  const auto load = [&](const char *source) {
    session.call("tvm.rpc.server.upload", 2, Packet().string("f.c").bytes(source));
    return session.call("tvm.rpc.server.load_module", 1, Packet().string("f.c"));
  };
  EXPECT_EQ(load("int f(void) { return 1; }\n").type(), OPD_MODULE);
  const std::string refused = load("int f(void) { return 2; }\n").message();
  EXPECT_NE(refused.find("is not in the list of allowed modules"), std::string::npos) << refused;
  define("ffi.Module.load_from_file.f", [](const opd_value *, int32_t, opd_value *) {});
  const std::string asked =
      session.ask(kGetGlobalFunc, Packet().raw<int32_t>(1).string("ffi.Module.load_from_file.f")).message();
  EXPECT_NE(asked.find("is not offered together with a list of allowed modules"), std::string::npos) << asked;
}

TEST_F(ASandbox, LimitsTheCpuTimeOfItsProcess) {
  opd_rpc_serve_options options = restricted();
  options.max_cpu_s = 1;
  const std::string parent = folder.string();
  options.work_folder = parent.c_str();
  Server server(options);
  const RpcSession session = RpcSession::connect(server.address());
  session.upload("spins.c",
                 "typedef long A;\nint __tvm_ffi_spins(void *s, const A *a, int n, A *r) {\n"
                 "  for (volatile int go = 1; go;) {}\n  return 0;\n}\n");
  const opdyno::Function spins = session.load_module("spins.c").function("spins");
  expect_throws([&] { spins.call({}); }, OPD_IO, "");
  EXPECT_EQ(server.end(), -1);
}

}  // namespace
}  // namespace opdyno_test
