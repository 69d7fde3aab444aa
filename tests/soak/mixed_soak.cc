// Sixteen threads call the same loaded programs, bytecode and machine code, while others load and replay every
// artifact, make and drop VMs under running calls, profile, instrument, cancel, save functions and trim. For
// OPDYNO_SOAK_SECONDS.
#include <atomic>
#include <thread>

#include "interop/replay.h"
#include "support/paths.h"
#include "support/soak_threads.h"

using namespace opdyno_test;

namespace {

std::string bytes_of_result(const Value &value) { return bytes_of(Tensor::of(value)); }

// A program that is called all the time, and its answers.
struct Subject {
  explicit Subject(const std::string &file) : module(Module::load(interop_data(file))), vm(module) {
    for (int seed = 0; seed < 11; ++seed) {
      inputs.push_back(soak_input(seed));
      wanted.push_back(bytes_of_result(vm.call("with_constants", inputs.back())));
    }
  }

  opd_error *call(size_t k, const opd_call_options *options, Value &result) const {
    const opd_value argument = arg(inputs[k]);
    return opd_vm_call(vm.get(), "with_constants", &argument, 1, options, result.out());
  }

  Module module;
  Vm vm;
  std::vector<Tensor> inputs;
  std::vector<std::string> wanted;
};

class Soak : public testing::Test {
 protected:
  Soak() {
    opd_log_set_callback([](void *, opd_log_level, const char *) {}, nullptr, nullptr);
    define_host_functions();
    define("soak.nothing", [](const opd_value *, int32_t, opd_value *) {});
    check(opd_cancel_token_create(cancelled_.out()));
    opd_cancel_token_cancel(cancelled_.get());
  }
  ~Soak() override { opd_log_set_callback(nullptr, nullptr, nullptr); }

  template <class F>
  void start(int count, F body) {
    threads_.start(count, [body](size_t thread, size_t turn) { body(thread + turn); });
  }

  void finish() {
    threads_.finish();
    EXPECT_EQ(wrong_, 0);
  }

  void expect(bool right) { wrong_ += !right; }
  void expect_code(opd_error *error, opd_code code) {
    expect(opd_error_code(error) == code);
    opd_error_release(error);
  }

  // Calls with every kind of option; a cancelled call leaves the VM as it was.
  void call(const Subject &subject, size_t i) {
    const size_t k = i % subject.inputs.size();
    opd_call_options options;
    opd_call_options_init(&options);
    if (i % 5 == 1) options.timeout_ns = int64_t{3600} * 1'000'000'000;
    if (i % 7 == 2) options.cancel = cancelled_.get();
    Value result;
    opd_error *const error = subject.call(k, i % 3 ? &options : nullptr, result);
    if (i % 3 && i % 7 == 2) return expect_code(error, OPD_CANCELLED);
    check(error);
    expect(bytes_of_result(result) == subject.wanted[k]);
  }

  void profile(const Subject &subject, size_t i) {
    const opd_value argument = arg(subject.inputs[i % subject.inputs.size()]);
    Report report;
    Handle<opd_trace> trace;
    check(opd_vm_profile(subject.vm.get(), "with_constants", &argument, 1, nullptr, nullptr, report.out(),
                         i % 2 ? trace.out() : nullptr));
    expect(opd_report_call_count(report.get()) >= 4);  // two checks, two kernels, and what machine code does besides
  }

  void instrument(const Subject &subject) {
    const Function counts = make_function([this](const opd_value *, int32_t, opd_value *) { ++instrumented_; });
    check(opd_vm_set_instrument(subject.vm.get(), counts.get()));
    call(subject, 0);
    check(opd_vm_set_instrument(subject.vm.get(), nullptr));
  }

  // Calls go on in a VM whose every other reference ends.
  void drop_while_running(const Subject &subject, size_t i) {
    Vm vm(subject.module);
    const Function function = vm.function("with_constants");
    vm = Vm();
    std::thread other([&, copy = function] {
      for (size_t k = 0; k < subject.inputs.size(); ++k)
        expect(bytes_of_result(copy(subject.inputs[k])) == subject.wanted[k]);
    });
    const size_t k = i % subject.inputs.size();
    expect(bytes_of_result(function(subject.inputs[k])) == subject.wanted[k]);
    other.join();
  }

  void save_and_trim(const Subject &subject, size_t i) {
    const size_t k = i % subject.inputs.size();
    const std::string name = "saved" + std::to_string(i % 3);
    const opd_value argument = arg(subject.inputs[k]);
    check(opd_vm_save_function(subject.vm.get(), "with_constants", name.c_str(), &argument, 1, nullptr, 1));
    expect(bytes_of_result(subject.vm.call(name.c_str())) == subject.wanted[k]);
    check(opd_vm_trim(subject.vm.get()));
  }

  void stop(const Vm &endless, size_t i) {
    Handle<opd_cancel_token> cancel;
    check(opd_cancel_token_create(cancel.out()));
    opd_call_options options;
    opd_call_options_init(&options);
    if (i % 2) options.timeout_ns = 1'000'000;
    else options.cancel = cancel.get();
    std::thread canceller([&] { opd_cancel_token_cancel(cancel.get()); });
    expect_code(opd_vm_call(endless.get(), "loop", nullptr, 0, &options, nullptr),
                i % 2 ? OPD_DEADLINE_EXCEEDED : OPD_CANCELLED);
    canceller.join();
  }

  Handle<opd_cancel_token> cancelled_;
  SoakThreads threads_;
  std::atomic<int> wrong_{0};
  std::atomic<long> instrumented_{0};
};

}  // namespace

TEST_F(Soak, SixteenThreadsGetTheRightAnswersDuringOtherWork) {
  const Subject bytecode("/0.27/mlp.so"), compiled("/compiled/0.27/mlp.so");
  const Subject *const subjects[] = {&bytecode, &compiled};
  const Vm endless(Executable::assemble(".func loop() {\nagain:\n  call soak.nothing()\n  goto again\n}").to_module());
  const auto files = recorded_artifacts({".so"}, Newest::kOnly);
  std::vector<std::vector<Case>> cases;
  for (const auto &file : files) cases.push_back(cases_of(file));

  start(16, [&](size_t i) { call(*subjects[i % 2], i / 2); });
  start(2, [&](size_t i) {
    const Artifact artifact(files[i % files.size()]);
    for (const Case &c : cases[i % files.size()]) replay(artifact, c);
  });
  start(1, [&](size_t i) { profile(*subjects[i % 2], i / 2); });
  start(1, [&](size_t i) { instrument(*subjects[i % 2]); });
  start(1, [&](size_t i) { drop_while_running(*subjects[i % 2], i); });
  start(1, [&](size_t i) { save_and_trim(*subjects[i % 2], i); });
  start(2, [&](size_t i) { stop(endless, i); });
  finish();
  EXPECT_GT(instrumented_, 0);
}
