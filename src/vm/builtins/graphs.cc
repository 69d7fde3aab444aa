// Builtins for the memory and device graphs that a program keeps between its calls, as TVM's pass for CUDA graphs
// arranges them.
#include "vm/builtins/builtins.h"

namespace opd {
namespace {

Value get_cached_alloc(Args args) {
  check_count(args, 3, 3, "(vm, function, index)");
  return run_of(args[0]).graphs.allocation(as<Function>(args[1], "function"), as_int(args[2], "index"));
}

Value run_or_capture(Args args) {
  check_count(args, 4, 5, "(vm, function, arguments, index [, shape])");
  Run &run = run_of(args[0]);
  const auto &tuple = as<Array>(args[2], "arguments");
  const std::vector<View> items(tuple.items(), tuple.items() + tuple.size());
  const auto shape = args.size() == 5 ? as<Shape>(args[4], "shape").dims() : std::span<const int64_t>();
  return run.graphs.run(*run.vm, as<Function>(args[1], "function"), items, as_int(args[3], "index"), shape);
}

constexpr Builtin kGraphBuiltins[] = {
    builtin<"vm.builtin.cuda_graph.get_cached_alloc", get_cached_alloc>(),
    builtin<"vm.builtin.cuda_graph.run_or_capture", run_or_capture>(),
};

}  // namespace

std::span<const Builtin> graph_builtins() { return kGraphBuiltins; }

}  // namespace opd
