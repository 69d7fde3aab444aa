// Calls the functions of the C API in random order with random arguments: see driver.h for what must hold. A call that
// breaks it ends the program by a sanitizer, a signal, or abort(); the seed and the last call are then in the output.
//
// Usage: api_driver [CALLS [THREADS [SEED]]]. Everything it writes goes to a directory of its own, with a small limit.
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "arguments.h"

namespace api_driver {
namespace {

#include "api_calls.inc"

const char *const kProgram = R"(
.const = tensor(float32, (2), 0x0000803f00000040)
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  %p = call vm.builtin.make_tuple(%x, %t, c[0])
  ret %p
}
.func f(x, n) {
  if %n else other
  %r = call main(%x)
  ret %r
other:
  %c = call vm.builtin.reshape(%x, shape(2, 2))
  ret %c
})";
const char *const kReport = R"json({"calls": [{"Name": {"string": "main"}, "Duration (us)": {"microseconds": 2.5},
"Count": {"count": 1}}], "device_metrics": {"cpu:0": {"Duration (us)": {"microseconds": 3}}},
"configuration": {"Number of threads": {"count": 1}}})json";

thread_local const char *last_call = "none";

void tell_last_call(int signal_number) {
  const std::string text = std::string("api_driver: in ") + last_call + "()\n";
  [[maybe_unused]] const auto written = write(2, text.data(), text.size());
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void write_file(Driver &d, const char *name, const std::string &bytes) {
  std::ofstream(d.scratch + "/" + name, std::ios::binary) << bytes;
  d.files.push_back(name);
  d.texts.push_back(bytes);
}

std::string bytes_of(opd_error *error, opd_buffer *buffer) {
  std::string bytes(buffer ? opd_buffer_data(buffer) : "", opd_buffer_size(buffer));
  opd_error_release(error);
  opd_buffer_release(buffer);
  return bytes;
}

// Words that mean something to the library, and files that it can read.
void prepare(Driver &d) {
  d.texts = {"",          "main",
             "f",         "x",
             "n",         "cpu:0",
             "cuda:0",    "float32",
             "i8",        "json",
             "driver.f0", "driver.f1",
             "driver.f2", "Duration (us)",
             "Count",     "f64(f64)",
             "\xff\xfe",  "c",
             kReport,     "relax.VMExecutable"};
  d.texts.push_back(kProgram);
  opd_executable *executable = nullptr;
  opd_module *module = nullptr;
  opd_params *params = nullptr;
  opd_tensor *tensor = nullptr;
  opd_buffer *buffer = nullptr;
  const int64_t dims[] = {4};
  d.end(opd_executable_assemble(kProgram, std::strlen(kProgram), &executable));
  d.end(opd_executable_to_module(executable, &module));
  opd_error *error = opd_executable_save_bytes(executable, &buffer);
  write_file(d, "program.vmexec", bytes_of(error, std::exchange(buffer, nullptr)));
  d.end(opd_tensor_create(dims, 1, {kDLFloat, 32, 1}, {kDLCPU, 0}, &tensor));
  d.end(opd_tensor_copy_from_bytes(tensor, "0123456789abcdef", 16));
  d.end(opd_params_create(&params));
  d.end(opd_params_set(params, "x", tensor));
  error = opd_params_save_bytes(params, &buffer);
  write_file(d, "tensors.params", bytes_of(error, buffer));
  d.end(opd_params_save(params, (d.scratch + "/x.safetensors").c_str()));
  d.files.push_back("x.safetensors");
  write_file(d, "junk",
             std::string("\x7f"
                         "ELF\0\1\2",
                         7));
  d.keep(executable), d.keep(module), d.keep(params), d.keep(tensor);
}

void add_builtins(Driver &d) {
  opd_array *names = nullptr;
  d.end(opd_function_list_global(&names));
  for (int32_t i = 0; i < opd_array_count(names); ++i) {
    opd_value name = opd_none();
    const char *data = "";
    size_t size = 0;
    d.end(opd_array_get(names, i, &name));
    d.end(opd_string_get(&name, &data, &size));
    d.texts.emplace_back(data, size);
    opd_value_release(&name);
  }
  opd_object_release(names);
}

void make_calls(Driver &d, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const ApiCall &call = kCalls[d.below(std::size(kCalls))];
    last_call = call.name;
    d.was_accepted = true;
    call.call(d);
  }
  last_call = "none";
}

// What the process keeps for itself must let go of the driver's things, too.
void forget_all() {
  opd_log_set_callback(nullptr, nullptr, nullptr);
  for (const char *name : {"driver.f0", "driver.f1", "driver.f2", ""})
    opd_error_release(opd_function_remove_global(name));
  for (const char *name : {"vm.builtin.tensor_cache.clear", "vm.builtin.clear_py_func_registry"}) {
    opd_function *clear = nullptr;
    opd_error_release(opd_function_get_global(name, &clear));
    if (clear) opd_error_release(opd_function_call(clear, nullptr, 0, nullptr));
    opd_object_release(clear);
  }
}

void limit(int resource, rlim_t most) {
  const struct rlimit both = {most, most};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

int run(uint64_t count, uint64_t num_threads, uint64_t seed) {
  std::string scratch = (std::filesystem::temp_directory_path() / "opdyno-api-XXXXXX").string();
  if (!mkdtemp(scratch.data()) || chdir(scratch.c_str())) return 2;
#ifndef OPDYNO_SANITIZED  // a sanitizer's shadow is larger than any limit
  // A large tensor may take all of it. Then the driver's own small blocks come from this part of the heap.
  mallopt(M_TOP_PAD, 64 << 20), mallopt(M_TRIM_THRESHOLD, 1 << 30), std::free(std::malloc(1));
  limit(RLIMIT_AS, rlim_t{1} << 30);
#endif
  limit(RLIMIT_FSIZE, 64 << 20), limit(RLIMIT_CORE, 0), limit(RLIMIT_NOFILE, 512);
  signal(SIGXFSZ, SIG_IGN);
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGALRM}) signal(number, tell_last_call);
  std::atomic<uint64_t> accepted{0};
  {
    Driver first(seed);
    first.scratch = scratch;
    prepare(first);
    if (num_threads == 1) {
      add_builtins(first);
      make_calls(first, count);
    } else {
      std::vector<std::thread> threads;
      for (uint64_t t = 0; t < num_threads; ++t)
        threads.emplace_back([&, t] {
          Driver own(seed + t + 1);
          own.scratch = scratch, own.files = first.files, own.texts = first.texts;
          own.may_write = false;
          own.share<opd_executable, opd_module>(first);
          make_calls(own, count / num_threads);
          accepted += own.accepted;
        });
      for (std::thread &thread : threads) thread.join();
    }
    accepted += first.accepted;
    first.release_all();
  }
  forget_all();
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  for (const LeftOut &each : kLeftOut) std::printf("left out: %s (%s)\n", each.name, each.reason);
  std::printf("%llu calls of %zu functions, %llu accepted, seed %llu\n", static_cast<unsigned long long>(count),
              std::size(kCalls), static_cast<unsigned long long>(accepted.load()),
              static_cast<unsigned long long>(seed));
  if (Probe::alive == 0) return 0;
  std::printf("%lld things of the caller were never ended\n", static_cast<long long>(Probe::alive));
  return 1;
}

}  // namespace
}  // namespace api_driver

int main(int argc, char **argv) {
  const auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return api_driver::run(number(1, 20'000), number(2, 1), number(3, 1));
}
