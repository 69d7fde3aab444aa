// Whole processes: how long the program takes from start to end, and how much memory a host of the library needs.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <opdyno/opdyno.hpp>

#include "harness.h"
#include "mlp.h"

namespace {

std::string program_beside_this() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, size > 0 ? static_cast<size_t>(size) : 0);
  return self.substr(0, self.rfind('/') + 1) + "opdyno";
}

void run(std::vector<std::string> words) {  // without its output
  std::vector<char *> args;
  for (std::string &word : words) args.push_back(word.data());
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (failed || waitpid(child, &status, 0) != child || status != 0)
    throw std::runtime_error(words[0] + " " + words[1] + " failed");
}

bench::Sampler time_of(const std::vector<std::string> &words) {
  return bench::timed(1e6, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) run(words);
  });
}

const bench::AddRow cold("cold_run", "ms", [] {
  return time_of({program_beside_this(), "run", bench::artifact("mlp_784", "chain_100")});
});

const bench::AddRow doctor("doctor", "ms", [] { return time_of({program_beside_this(), "doctor"}); });

// Returns how long that took in ns; the arguments were made before.
double load_and_call() {
  std::vector<opdyno::Tensor> tensors;
  std::vector<opd_value> args;
  for (const auto &dims : bench::kMlpShapes) {
    tensors.emplace_back(dims, "float32");
    std::fill_n(tensors.back().data<float>(), tensors.back().size(), 0.01f);
    args.push_back(opdyno::arg(tensors.back()));
  }
  opdyno::Value result;
  return bench::nanoseconds([&] {
    const opdyno::Vm vm(opdyno::Module::load(bench::artifact("mlp_784")));
    opdyno::check(opd_vm_call(vm.get(), "main", args.data(), static_cast<int32_t>(args.size()), nullptr, result.out()));
  });
}

const bench::AddProcessRow first_call("load_first_call", "ms", [] { return load_and_call() / 1e6; });

const bench::AddProcessRow memory("peak_memory", "MiB", [] {
  load_and_call();
  return bench::peak_memory();
});

}  // namespace
