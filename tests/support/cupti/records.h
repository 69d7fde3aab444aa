// The records that the test's CUPTI delivers. Times are those of its clock; 7 is the default stream.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

class CuptiRecords {
 public:
  virtual ~CuptiRecords() = default;
  virtual void add_call(uint32_t correlation, uint64_t start, uint64_t end, uint32_t thread) = 0;
  virtual void add_run(uint32_t correlation, uint64_t run) = 0;
  virtual void add_kernel(const char *name, uint32_t correlation, uint64_t start, uint64_t end, uint32_t stream = 7,
                          uint32_t device = 0) = 0;
  virtual void add_copy(uint32_t correlation, uint64_t start, uint64_t end, uint64_t bytes) = 0;  // to the host
  virtual void add_fill(uint32_t correlation, uint64_t start, uint64_t end, uint64_t bytes) = 0;
  virtual void add_overhead(uint64_t start, uint64_t end, uint32_t thread, uint32_t kind = 1 << 16) = 0;
  virtual void add_unknown() = 0;  // a record of a kind that was not asked for
  virtual std::vector<uint64_t> pushed_runs() = 0;
  virtual size_t num_enabled() = 0;  // kinds
  virtual uint64_t now() = 0;
  virtual void deliver() = 0;  // as a full buffer, on the calling thread

  std::atomic<int> refused_kind{0};  // which cuptiActivityEnable() refuses
  std::atomic<size_t> dropped{0};
  std::atomic<int> depth{0};  // of numbers of runs that were pushed
};
