// Children of fork(): whatever the parent's other threads do at that moment, a child can call, record and load.
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/c_artifact.h"
#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

const std::string kKernels = kArtifactHead + R"(
int __tvm_ffi_nothing(void *self, const Any *args, int32_t n, Any *result) { return 0; }
)";

const char *const kProgram = R"(
.func main(x) {
  call nothing(%x)
  call test.pause()
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  ret %t
})";

std::atomic<bool> pauses{false};  // a kernel waits, so that calls are under way when a thread forks

Vm make_vm(const Module &kernels) {
  define("test.pause", [](const opd_value *, int32_t, opd_value *) {
    while (pauses) usleep(100);
  });
  const Module module = Executable::assemble(kProgram).to_module();
  module.add_import(kernels);
  return Vm(module);
}

// Few records: reports are not what is tested.
void start_profile(const Vm &vm) {
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.max_records = 100;
  check(opd_vm_profile_start(vm.get(), &options));
}

opd_error *stop_profile(const Vm &vm) {
  Handle<opd_report> report;
  return opd_vm_profile_stop(vm.get(), report.out(), nullptr);
}

// What a child is about to do: memory that it shares with its parent.
std::atomic<const char *> &step() {
  static auto *const shared = [] {
    void *const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return new (memory) std::atomic<const char *>;
  }();
  return *shared;
}

void end_hanging_child(int) {
  void *frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
  signal(SIGALRM, SIG_DFL);
  raise(SIGALRM);
}

// Runs `body` in a child. Returns how it ended, in words; "" if it ended well.
template <class F>
std::string in_child(F body) {
  step() = "fork()";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, end_hanging_child);
    alarm(30);
    try {
      body();
    } catch (const std::exception &e) {
      std::fprintf(stderr, "the child's error: %s\n", e.what());
      _exit(1);
    }
    step() = "exit()";
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status == 0) return "";
  return std::string(WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit status 1") + " at step " + step().load();
}

class AChild : public testing::Test {
 protected:
  // Runs `body` again and again on a thread of its own, to the end of the test.
  template <class F>
  void meanwhile(F body) {
    threads_.emplace_back([this, body] {
      while (!done_) {
        body();
        usleep(200);  // the child is to have its turn, too
      }
    });
  }
  ~AChild() override {
    pauses = false;
    done_ = true;
    for (std::thread &thread : threads_) thread.join();
  }

  const std::string library = build_library("fork_kernels", kKernels);
  const Module kernels = Module::load(library);
  const Vm vm = make_vm(kernels);
  const Tensor x = floats({1, 2});

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

TEST_F(AChild, CanCallRecordAndLoadIfForkedWhileThreadsWork) {
  const auto everything = [this] {
    step() = "a call";
    vm.call("main", x);
    step() = "the end of the parent's recording";  // its other threads' calls have no end here
    check(stop_profile(vm));
    step() = "the start of a recording";
    start_profile(vm);
    step() = "a call that is recorded";
    vm.call("main", x);
    step() = "the end of its recording";
    check(stop_profile(vm));
    step() = "loading a library";
    const Module loaded = Module::load(library), importer = Executable::assemble(kProgram).to_module();
    step() = "an import";
    importer.add_import(loaded);
    step() = "an export";
    importer.export_to(scratch_directory() + "/child.so");
    step() = "a call of what was loaded";
    loaded.function("nothing")(1);
    step() = "the registry";
    check(opd_function_register("test.fork", Function::global("test.pause").get(), 1));
    step() = "trimming memory";
    check(opd_memory_trim({kDLCPU, 0}));
  };
  start_profile(vm);
  for (int i = 0; i < 2; ++i) meanwhile([this] { vm.call("main", x); });
  meanwhile([this] {
    const Module loaded = Module::load(library), importer = Executable::assemble(kProgram).to_module();
    importer.add_import(loaded);
    loaded.function("nothing")(1);
  });
  meanwhile([this] {
    const Vm other = make_vm(kernels);
    start_profile(other);
    other.call("main", x);
    check(stop_profile(other));
    make_function([](const opd_value *, int32_t, opd_value *) {})();
    check(opd_function_register("test.fork", Function::global("test.pause").get(), 1));
  });
  meanwhile([this] {
    const Module importer = Executable::assemble(kProgram).to_module();
    importer.add_import(kernels);
    importer.export_to(scratch_directory() + "/parent.so");
  });
  const int forks = std::getenv("OPDYNO_TEST_FULL") ? 1000 : 200;
  for (int i = 0; i < forks; ++i) ASSERT_EQ(in_child(everything), "") << "fork " << i;
}

TEST_F(AChild, EndsARecordingWhileTheParentsCallIsUnderWay) {
  start_profile(vm);
  pauses = true;
  static std::atomic<bool> called{false};
  define("test.pause", [](const opd_value *, int32_t, opd_value *) {
    called = true;
    while (pauses) usleep(100);
  });
  const Vm waiting = [&] {
    const Module module = Executable::assemble(kProgram).to_module();
    module.add_import(kernels);
    return Vm(module);
  }();
  start_profile(waiting);
  meanwhile([this, waiting] { waiting.call("main", x); });
  while (!called) usleep(100);
  EXPECT_EQ(in_child([&] {
              step() = "the end of the recording";
              check(stop_profile(waiting));
              pauses = false;
              step() = "a call";
              waiting.call("main", x);
            }),
            "");
}

TEST_F(AChild, ForkedByACallIsStillInsideThatCall) {
  static const Vm *forking;
  define("test.fork_inside", [](const opd_value *, int32_t, opd_value *out) {
    *out = opd_bool(in_child([] {
                      opd_error *error = stop_profile(*forking);
                      if (opd_error_code(error) != OPD_FAILED_PRECONDITION) _exit(2);
                      opd_error_release(error);
                    }).empty());
  });
  const Vm caller(Executable::assemble(".func main() {\n  %s = call test.fork_inside()\n  ret %s\n}").to_module());
  forking = &caller;
  start_profile(caller);
  EXPECT_EQ(caller.call("main").view().u.int64, 1);
  check(stop_profile(caller));
}

}  // namespace
