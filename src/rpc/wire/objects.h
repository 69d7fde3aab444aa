// The objects of a session that the other side has numbers of. A number is no address: memory that no number names
// cannot be reached. Used by one thread.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "value/value.h"

namespace opd::rpc {

class Objects {
 public:
  uint64_t add(Value value);                 // gives a number from 1 on, never again the same
  const Value &find(uint64_t number) const;  // throws OPD_INVALID_ARGUMENT
  void remove(uint64_t number);              // throws likewise
  size_t size() const { return values_.size(); }
  uint64_t last() const { return last_; }  // the number that add() gave last

 private:
  std::unordered_map<uint64_t, Value> values_;
  uint64_t last_ = 0;
};

}  // namespace opd::rpc
