// State that vm.builtin.cuda_graph.* keeps between calls: memory, and device graphs with the results of their
// functions. A launch writes to the memory that was used at the capture. So graphs and memory belong to a Run, which
// only one call uses at a time. Both are freed with an idle run.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/graph.h"
#include "value/function.h"
#include "value/value.h"

namespace opd {

class Vm;

class GraphCache {
 public:
  // Returns the result of the first call with this index.
  Value allocation(Function &function, int64_t index);
  // The first call for an index and a shape calls the function, and then captures a second call. Later calls launch the
  // captured graph and return its result. If their arguments differ, they capture again. On devices without graphs,
  // each call calls the function.
  Value run(const Vm &vm, Function &function, Args args, int64_t index, std::span<const int64_t> shape);

  uint64_t kept_bytes(DLDevice device) const;  // storages in results of allocation()

 private:
  struct Captured {
    std::vector<Value> args;  // they keep the memory that the graph uses
    Value result;
    NameId name = kNoName;
    std::unique_ptr<Graph> graph;
  };
  std::map<int64_t, Value> allocations_;
  std::map<std::pair<int64_t, std::vector<int64_t>>, Captured> graphs_;
};

}  // namespace opd
