// The table of a session's objects that the other side refers to by number. A number is not an address, so memory
// outside the table cannot be reached. Used by one thread.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "value/value.h"

namespace opd::rpc {

class Objects {
 public:
  uint64_t add(Value value);                 // returns a number from 1 on, which is never reused
  const Value &find(uint64_t number) const;  // throws OPD_INVALID_ARGUMENT
  void remove(uint64_t number);              // throws likewise
  size_t size() const { return values_.size(); }
  uint64_t last() const { return last_; }  // the number that add() gave last

 private:
  std::unordered_map<uint64_t, Value> values_;
  uint64_t last_ = 0;
};

}  // namespace opd::rpc
