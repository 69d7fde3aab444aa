// The scenario of golden.c with the C++ interface.
#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <opdyno/opdyno.hpp>
#include <stdexcept>

using namespace opdyno;

// Prints the elements of a tensor. For a matrix, prints the index of the largest element in each row.
void print(const char *what, const Value &value) {
  const Tensor tensor = Tensor::of(value);
  const auto shape = tensor.shape();
  const int64_t columns = shape.size() == 2 ? shape[1] : 1;
  std::cout << what;
  for (int64_t i = 0; i < shape[0]; ++i) {
    const float *row = tensor.data<float>() + i * columns;
    if (shape.size() == 1) std::cout << ' ' << *row;
    else std::cout << ' ' << std::max_element(row, row + columns) - row;
  }
  std::cout << '\n';
}

void print(const char *what, const std::vector<std::string> &names) {
  std::cout << what;
  for (const std::string &name : names) std::cout << ' ' << name;
  std::cout << '\n';
}

void run(const Vm &vm, const Views &args) {
  print("functions", vm.functions());
  print("parameters", vm.params("main"));
  print("result", vm.call_with(defaults(opd_call_options_init), "main", args));
  vm.set_input("main", args);
  vm.invoke_stateful("main");
  print("stateful", vm.outputs("main"));
  try {
    vm.call_with(defaults(opd_call_options_init), "mian", args);
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

void instrument(const Vm &vm, const Views &args) {
  std::array<int, 2> counts{};
  vm.set_instrument(Function::of([&](const opd_value *args, int32_t) { ++counts[args[2].u.int64 ? 0 : 1]; }));
  vm.call_with(defaults(opd_call_options_init), "main", args);
  vm.set_instrument(Function());
  std::cout << "instrument " << counts[0] << " before, " << counts[1] << " after\n";
}

void profile(const Vm &vm, const Views &args, const char *name) {
  const auto [report, trace] = vm.profile("main", args);
  const auto names = report.column(OPD_REPORT_CALLS, "Name").strings();
  const auto calls = std::count(names.begin(), names.end(), name);
  std::cout << "profile " << report.count() << " rows, " << calls << " of " << name << "\n"
            << "trace " << trace.size() << " calls, " << trace.dropped() << " dropped\n"
            << "JSON " << Report::from_json(report.json()).count() << " rows\n";
}

void show(const Module &module, const Views &args, const char *name) {
  std::cout << "module " << module.kind() << '\n';
  {
    const Vm vm(module);
    run(vm, args);
    instrument(vm, args);
  }
  profile(Vm(module), args, name);  // a new VM, whose inputs are not set
}

void show_artifact(const char *path) {
  const float elements[] = {0, 1, 2, 3};
  const Tensor x({4}, "float32");
  x.copy_from_bytes(elements, sizeof elements);
  show(Module::load(path), {opd_value_of_object(x.get())}, "add");
}

void show_digits(const std::string &directory) {
  std::ifstream file(directory + "/digits.opdasm");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Module module = Executable::assemble(text).to_module();
  module.add_import(Module::load(directory + "/kernels.c"));
  const Tensor images({20, 8, 8, 1}, "float32");
  const Tensor pixels = Params::load(directory + "/data/digits_test.npz").get_tensor("images");
  std::transform(pixels.data<uint8_t>(), pixels.data<uint8_t>() + images.size(), images.data<float>(),
                 [](uint8_t pixel) { return static_cast<float>(pixel) / 16; });
  const Params trained = Params::load(directory + "/data/digits.params");
  std::vector<Tensor> tensors{images};
  for (size_t i = 0; i < trained.size(); ++i) tensors.push_back(trained.get_tensor(trained.name(i)));
  Views args;
  for (const Tensor &tensor : tensors) args.push_back(opd_value_of_object(tensor.get()));
  show(module, args, "conv2d");
}

int main(int argc, char **argv) try {
  if (argc != 3) return 2;
  show_artifact(argv[1]);
  call_back();
  show_digits(argv[2]);
} catch (const Error &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
