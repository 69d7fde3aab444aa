#include "profile/machine_peak.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/thread_pool.h"

namespace opd {
namespace {

// The same loop for each width of vectors that x86-64 has; other processors have one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OPD_EVERY_WIDTH __attribute__((target_clones("avx512f", "fma", "default"), optimize("O3,fast-math")))
#else
#define OPD_EVERY_WIDTH
#endif

constexpr int kChains = 192;                   // sums that do not wait for each other: 12 vectors of the widest
constexpr size_t kElements = size_t{4} << 20;  // of float64 in each of three arrays, 96 MiB
constexpr int kTries = 8;

// `rounds` fused multiply-adds on each of the sums.
OPD_EVERY_WIDTH float multiply_add(int rounds, float factor, float term) {
  float sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = static_cast<float>(i);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;
  float all = 0;
  for (const float sum : sums) all += sum;
  return all;
}

OPD_EVERY_WIDTH void triad(double *a, const double *b, const double *c, double s, size_t n) {
  for (size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

struct Work {
  double *a, *b, *c;
  int rounds;
  bool fills;
  float results[1024];  // that the compiler may not leave out
};

int compute(int task, ParallelGroup *, void *data) {
  auto &work = *static_cast<Work *>(data);
  work.results[task] = multiply_add(work.rounds, 0.999f, 0.001f);
  return 0;
}

int stream(int task, ParallelGroup *group, void *data) {
  auto &work = *static_cast<Work *>(data);
  const size_t begin = kElements * static_cast<size_t>(task) / static_cast<size_t>(group->num_task);
  const size_t end = kElements * static_cast<size_t>(task + 1) / static_cast<size_t>(group->num_task);
  if (work.fills) {
    std::fill(work.b + begin, work.b + end, 1.0);
    std::fill(work.c + begin, work.c + end, 2.0);
  }
  triad(work.a + begin, work.b + begin, work.c + begin, 3.0, end - begin);
  return 0;
}

// The shortest of several tries, in ns.
double shortest(ParallelTask task, Work &work, int32_t threads) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t begin = monotonic_ns();
    if (parallel_launch(task, &work, threads) != 0) throw Exception(take_raised());
    least = std::min(least, monotonic_ns() - begin);
  }
  return static_cast<double>(std::max<uint64_t>(least, 1));
}

std::unique_ptr<double[]> array() {
  std::unique_ptr<double[]> made(new (std::nothrow) double[kElements]);
  if (!made) fail(OPD_OUT_OF_MEMORY, "no memory for an array of ", kElements * sizeof(double), " bytes");
  return made;
}

}  // namespace

MeasuredPeak measure_machine_peak() {
  const int32_t threads = std::min(thread_count(), int32_t{1024});
  const auto a = array(), b = array(), c = array();
  const auto work = std::make_unique<Work>(Work{a.get(), b.get(), c.get(), 200'000, true, {}});
  MeasuredPeak measured;
  measured.num_threads = threads;
  const double operations = 2.0 * kChains * work->rounds * threads;
  measured.peak.gflops = operations / shortest(compute, *work, threads);
  if (parallel_launch(stream, work.get(), threads) != 0) throw Exception(take_raised());  // pages come into being
  work->fills = false;
  measured.peak.bandwidth_gbps = 3.0 * sizeof(double) * kElements / shortest(stream, *work, threads);
  return measured;
}

}  // namespace opd
