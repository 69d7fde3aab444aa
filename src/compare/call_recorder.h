// Records the calls of one run with the values that they read and write, which is the data flow.
//
// The VM's instrument shows each call before and after it. Kernels get their outputs as arguments, and no flag marks
// these. So an argument counts as written if its memory had no contents yet, or if its contents changed. The memory
// plan of a program reuses memory. So values are identified by the contents of an address at the moment of the call,
// not by the address.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/value_store.h"
#include "vm/vm.h"

namespace opd {

inline constexpr uint32_t kNoValue = UINT32_MAX;

// The origin of a value that no recorded call wrote.
struct Origin {
  enum Kind : uint8_t { kCall, kParameter, kConstant, kUnseen } kind = kCall;
  int64_t index = 0;  // number of the call, the parameter or the constant
};

struct RecordedValue {
  Contents contents;
  Origin origin;
};

// One tensor of a call: an argument, an item of a tuple among them, or a part of the result.
struct CallTensor {
  std::string type;            // "float32[2, 16]"
  bool is_real = false;        // its elements are floating point numbers
  uint32_t before = kNoValue;  // kNoValue if its memory had no contents
  uint32_t after = kNoValue;
  bool is_written = false;
  bool is_result = false;
};

struct RecordedCall {
  std::string name;
  std::vector<CallTensor> slots;
  uint32_t occurrence = 0;  // number among the calls of the name, from 0 on
};

struct RecordedRun {
  std::vector<RecordedValue> values;
  std::vector<RecordedCall> calls;
  std::map<std::string, uint32_t> num_calls;  // key: name
  Value result;
  std::vector<CallTensor> results;  // the tensors of the result, in order; only `after` is set
  Ref<Error> failure;               // the error that ended the run; null if it returned
  std::string note;                 // about calls that are not shown; "" if none
  uint64_t num_dropped = 0;         // number of calls beyond the limit

  const Contents &contents(uint32_t value) const { return values[value].contents; }
  const Origin &origin(uint32_t value) const { return values[value].origin; }
  std::string label(size_t call) const;  // "matmul", or "matmul (call 2 of 4)"
};

class CallRecorder {
 public:
  static constexpr size_t kMostCalls = 1'000'000;

  CallRecorder(Vm &vm, ValueStore &store);

  // Calls the function with `args`. The program may write their tensors.
  RecordedRun record(std::string_view function, Args args, const CallSettings &settings);

 private:
  struct Span {  // the contents of memory, from the key (an address) to `end`
    uintptr_t end = 0;
    uint32_t value = kNoValue;  // none: allocated, but without contents
    bool is_exact = false;      // for find(): the span has exactly the requested bounds
  };
  struct OpenCall {
    const View *args = nullptr;  // identifies the call: equal before and after it
    bool is_operator = false;    // recorded even if it writes nothing
    RecordedCall call;
    std::vector<const DLTensor *> tensors;  // tensors of the slots
  };

  void show(Args shown);
  void begin(std::string_view name, Args args);
  void end(std::string_view name, Args args, const View &result);
  void end_operator(OpenCall &open, const View &result);
  void find_write(CallTensor &slot, const DLTensor &tensor, Origin own);
  void add_arguments(OpenCall &open, const View &arg, int depth);
  void add_results(OpenCall &open, const View &result, int depth);
  void add_roots(const View &arg, Origin origin, int depth);
  void note_allocation(const View &result);

  uint32_t read(const DLTensor &tensor);  // returns the value in the tensor; kNoValue: no contents yet
  uint32_t add_value(const DLTensor &tensor, const View &live, Origin origin);
  void place(const DLTensor &tensor, uint32_t value);
  std::optional<Span> find(const DLTensor &tensor) const;

  Vm &vm_;
  ValueStore &store_;
  std::unordered_map<const void *, int64_t> constants_;  // key: address
  RecordedRun run_;
  std::map<uintptr_t, Span> memory_;
  std::vector<OpenCall> open_;
};

}  // namespace opd
