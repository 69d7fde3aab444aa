// The scenario of golden.c, by the C++ face.
#include <algorithm>
#include <array>
#include <iostream>
#include <opdyno/opdyno.hpp>
#include <stdexcept>

using namespace opdyno;

void print(const char *what, const Value &value) {
  const Tensor tensor = Tensor::of(value);
  std::cout << what;
  for (int64_t i = 0; i < tensor.size(); ++i) std::cout << ' ' << tensor.data<float>()[i];
  std::cout << '\n';
}

void print(const char *what, const std::vector<std::string> &names) {
  std::cout << what;
  for (const std::string &name : names) std::cout << ' ' << name;
  std::cout << '\n';
}

void run(const Vm &vm, const Views &x) {
  print("functions", vm.functions());
  print("parameters", vm.params("main"));
  print("result", vm.call_with(defaults(opd_call_options_init), "main", x));
  vm.set_input("main", x);
  vm.invoke_stateful("main");
  print("stateful", vm.outputs("main"));
  try {
    vm.call_with(defaults(opd_call_options_init), "mian", x);
  } catch (const Error &error) { std::cout << "error " << error.kind() << ": " << error.message() << '\n'; }
}

void call_back() {
  const auto scale = [factor = int64_t{6}](const opd_value *args, int32_t num_args) {
    if (num_args != 1) throw std::invalid_argument("golden.scale takes one number");
    return args[0].u.int64 * factor;
  };
  Function::of(scale).register_global("golden.scale", true);
  const Vm vm(Executable::assemble(".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}").to_module());
  std::cout << "callback " << vm.call("main", 7).view().u.int64 << '\n';
  Function::remove_global("golden.scale");
}

void instrument(const Vm &vm, const Tensor &x) {
  std::array<int, 2> counts{};
  vm.set_instrument(Function::of([&](const opd_value *args, int32_t) { ++counts[args[2].u.int64 ? 0 : 1]; }));
  vm.call("main", x);
  vm.set_instrument(Function());
  std::cout << "instrument " << counts[0] << " before, " << counts[1] << " after\n";
}

void profile(const Vm &vm, const Views &x) {
  const auto [report, trace] = vm.profile("main", x);
  const auto names = report.column(OPD_REPORT_CALLS, "Name").strings();
  const auto adds = std::count(names.begin(), names.end(), "add");
  std::cout << "profile " << report.count() << " rows, " << adds << " of add\n"
            << "trace " << trace.size() << " calls, " << trace.dropped() << " dropped\n"
            << "JSON " << Report::from_json(report.json()).count() << " rows\n";
}

int main(int argc, char **argv) try {
  if (argc != 2) return 2;
  const Module module = Module::load(argv[1]);
  std::cout << "module " << module.kind() << '\n';
  const float elements[] = {0, 1, 2, 3};
  const Tensor x({4}, "float32");
  x.copy_from_bytes(elements, sizeof elements);
  const Views args{opd_value_of_object(x.get())};
  {
    const Vm vm(module);
    run(vm, args);
    call_back();
    instrument(vm, x);
  }
  profile(Vm(module), args);  // without inputs that were set
} catch (const Error &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
