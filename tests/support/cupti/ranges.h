// What tests ask of their CUPTI's range profiler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

class CuptiRanges {
 public:
  virtual ~CuptiRanges() = default;
  virtual void add(uint64_t count) = 0;                // to first.sum, if a range is open
  virtual std::string calls() = 0;                     // since the last time, without "cupti", one to a line
  virtual void fail(const std::string &function) = 0;  // this one does from now on; "": none does
  virtual void drop_ranges(bool whether) = 0;
  virtual size_t num_alive() = 0;

  uint8_t *data = nullptr;  // where the counts go
};
