#include "measure/roofline.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>

#include "base/clock.h"
#include "base/error.h"
#include "device/cpu/thread_pool.h"

namespace opd {
namespace {

constexpr const char *kFlop = "FLOP", *kBytes = "Tensors (bytes)", *kSpeed = "GFLOP/s",
                     *kIntensity = "Arithmetic Intensity (FLOP/byte)", *kShare = kPeakShareColumn.data();

// Copies a report row by row, so that columns can be added.
class Copy {
 public:
  explicit Copy(const Report &report) : from_(report) {
    for (const Column &column : report.columns()) builder_.column(column.name()), cells_.emplace_back(&column);
  }
  ReportBuilder &builder() { return builder_; }

  void begin_row(size_t row) {
    builder_.begin_row();
    for (size_t i = 0; i < cells_.size(); ++i)
      if (const Metric metric = cells_[i].at(row)) builder_.set(i, own(metric));
  }

  Ref<Report> finish() {
    for (const auto &[device, metrics] : from_.devices()) {
      builder_.begin_device(device);
      for (const auto &[name, metric] : metrics) builder_.set_device(name, own(metric));
    }
    for (const auto &[name, metric] : from_.configuration()) builder_.configure(name, own(metric));
    for (const auto &[key, json] : from_.extras()) builder_.add_extra(key, json);
    return builder_.finish();
  }

 private:
  Metric own(Metric metric) {
    return metric.is_text() ? builder_.text(from_.text(metric.text()), metric.kind) : metric;
  }

  const Report &from_;
  ReportBuilder builder_;
  std::vector<Cells> cells_;  // the cells of each column
};

Metric ratio(double number) { return Metric::of_number(MetricKind::kRatio, number); }

}  // namespace

Ref<Report> with_roofline(const Report &report, const MachinePeak &peak) {
  for (const char *name : {kFlop, kSpeed, kIntensity, kShare})
    if (report.find_column(name)) fail(OPD_ALREADY_EXISTS, "the report has a column \"", name, "\" already");
  Copy copy(report);
  ReportBuilder &builder = copy.builder();
  Cells names(report.find_column("Name")), shapes(report.find_column("Argument Shapes")),
      durations(report.find_column("Duration (us)"));
  const bool has_bytes = report.find_column(kBytes) != nullptr;  // profiles with details have it
  std::map<std::pair<std::string_view, std::string_view>, OperatorCost> known;
  for (size_t row = 0; row < report.num_rows(); ++row) {
    copy.begin_row(row);
    if (report.row_kind(row) != RowKind::kCall) continue;
    const auto text_in = [&](Cells &cells) {
      const Metric metric = cells.at(row);
      return metric.is_text() ? report.text(metric.text()) : std::string_view();
    };
    const Metric duration = durations.at(row);
    const std::pair key(text_in(names), text_in(shapes));
    auto place = known.find(key);
    if (place == known.end()) place = known.emplace(key, operator_cost(key.first, key.second)).first;
    const OperatorCost &cost = place->second;
    if (cost.bytes > 0 && !has_bytes)
      builder.set(builder.column(kBytes), {MetricKind::kBytes, static_cast<uint64_t>(cost.bytes)});
    if (!cost.flop) continue;
    builder.set(builder.column(kFlop), Metric::of_count(static_cast<int64_t>(*cost.flop)));
    const double us = duration.is_number() ? duration.number() : 0, speed = us > 0 ? *cost.flop / us / 1e3 : 0;
    if (us > 0) builder.set(builder.column(kSpeed), ratio(speed));
    if (cost.bytes <= 0) continue;
    const double intensity = *cost.flop / cost.bytes;
    builder.set(builder.column(kIntensity), ratio(intensity));
    const double roof = std::min(peak.gflops, peak.bandwidth_gbps * intensity);
    if (us > 0 && roof > 0)
      builder.set(builder.column(kShare), Metric::of_number(MetricKind::kPercent, speed / roof * 100));
  }
  if (peak.gflops > 0) builder.configure("Peak GFLOP/s", ratio(peak.gflops));
  if (peak.bandwidth_gbps > 0) builder.configure("Peak Bandwidth (GB/s)", ratio(peak.bandwidth_gbps));
  return copy.finish();
}

// ---- the peak of this machine

namespace {

// The loops are compiled for each vector width of x86-64 and selected at run time. They are not indirect functions,
// because resolvers of these run before sanitizers are ready. Other processors have one width.
#if defined(__clang__)
#define OPD_FAST
#else
#define OPD_FAST __attribute__((optimize("O3")))
#endif

constexpr int kChains = 192;                   // independent sums: 12 of the widest vectors
constexpr size_t kElements = size_t{4} << 20;  // float64 elements in each of three arrays, 96 MiB
constexpr int kTries = 8;

// multiply_add(): `rounds` fused multiply-adds on each of the sums. triad(): STREAM's triad.
#define OPD_LOOPS(NAME, TARGET)                                                                \
  struct NAME {                                                                                \
    TARGET OPD_FAST static float multiply_add(int rounds, float factor, float term) {          \
      float sums[kChains];                                                                     \
      for (int i = 0; i < kChains; ++i) sums[i] = static_cast<float>(i);                       \
      for (int round = 0; round < rounds; ++round)                                             \
        for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;                   \
      float all = 0;                                                                           \
      for (const float sum : sums) all += sum;                                                 \
      return all;                                                                              \
    }                                                                                          \
    TARGET OPD_FAST static void triad(double *a, const double *b, const double *c, size_t n) { \
      for (size_t i = 0; i < n; ++i) a[i] = b[i] + 3 * c[i];                                   \
    }                                                                                          \
  }
OPD_LOOPS(Plain, );
#if defined(__x86_64__)
OPD_LOOPS(Fma, __attribute__((target("avx2,fma"))));
OPD_LOOPS(Avx512, __attribute__((target("avx512f"))));
#endif

// Calls `use` with the widest loops that the processor has.
template <class Use>
void with_loops(const Use &use) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return use(Avx512());
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return use(Fma());
#endif
  use(Plain());
}

struct Work {
  double *a, *b, *c;
  int rounds;
  bool fills;
  float results[1024];  // keep the compiler from dropping the loop
};

int compute(int task, ParallelGroup *, void *data) {
  auto &work = *static_cast<Work *>(data);
  with_loops([&](auto loops) { work.results[task] = loops.multiply_add(work.rounds, 0.999f, 0.001f); });
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
  with_loops([&](auto loops) { loops.triad(work.a + begin, work.b + begin, work.c + begin, end - begin); });
  return 0;
}

// The shortest of several tries, in ns. Raises `spread` to the relative excess of the median: on a busy machine even
// the shortest may be too long.
double shortest(ParallelTask task, Work &work, int32_t threads, double &spread) {
  uint64_t times[kTries];
  for (uint64_t &time : times) {
    const uint64_t begin = monotonic_ns();
    if (parallel_launch(task, &work, threads) != 0) throw Exception(take_raised());
    time = std::max<uint64_t>(monotonic_ns() - begin, 1);
  }
  std::sort(std::begin(times), std::end(times));
  const auto least = static_cast<double>(times[0]);
  spread = std::max(spread, static_cast<double>(times[kTries / 2]) / least - 1);
  return least;
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
  measured.peak.gflops = operations / shortest(compute, *work, threads, measured.spread);
  if (parallel_launch(stream, work.get(), threads) != 0) throw Exception(take_raised());  // touches all pages
  work->fills = false;
  measured.peak.bandwidth_gbps = 3.0 * sizeof(double) * kElements / shortest(stream, *work, threads, measured.spread);
  return measured;
}

}  // namespace opd
