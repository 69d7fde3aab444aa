// Tables of traces. Expected lines are those of torch.profiler 2.15 for spans of these times and names.
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/full_trace.h"
#include "support/trace_builder.h"
#include "trace_formats/trace_formats.h"
#include "value/tensor.h"

namespace opd {
namespace {

// conv2d 578.234 µs, of which 11.828 are its own; the range 1454.889, of which 219.122 are its own.
void add_sample(TraceBuilder &built) {
  built.range(100'000, 666'406, "aten::convolution_overrideable").range(90'000, 668'234, "aten::conv2d");
  built.range(700'000, 1'357'533, "aten::convolution_overrideable").range(50'000, 1'504'889, "my_range");
}

TEST(TraceTable, HasTheColumnsWidthsAndUnitsOfTorch) {
  TraceBuilder built;
  add_sample(built);
  TraceTableOptions options;
  options.max_name_width = 20;
  options.header = "HEADER";
  EXPECT_EQ(trace_table(*trace_of(built), options),
            R"(========================================================================================================
HEADER
--------------------  ------------  ------------  ------------  ------------  ------------  ------------  
                Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  
--------------------  ------------  ------------  ------------  ------------  ------------  ------------  
            my_range        15.06%     219.122us       100.00%       1.455ms       1.455ms             1  
        aten::conv2d         0.81%      11.828us        39.74%     578.234us     578.234us             1  
aten::convolution...        84.13%       1.224ms        84.13%       1.224ms     611.970us             2  
--------------------  ------------  ------------  ------------  ------------  ------------  ------------  
Self CPU time total: 1.455ms
)");
}

// The names of the rows, in order.
std::string order(const Ref<Trace> &trace, const TraceTableOptions &options) {
  std::string names, text = trace_table(*trace, options);
  for (std::istringstream lines(text); std::getline(lines, text);) {
    std::istringstream words(text);
    std::string name;
    words >> name;
    const bool is_row = !name.empty() && name[0] != '-' && name != "Name" && name != "Self" && name != "Dropped";
    if (is_row) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}
std::string order(TraceBuilder &built, const TraceTableOptions &options) { return order(trace_of(built), options); }

TEST(TraceTable, IsSortedByAnyMetric) {
  TraceBuilder built;
  built.range(0, 10, "b").range(20, 90, "inner").range(15, 100, "a").range(100, 110, "b").range(120, 130, "b");
  const auto by = [&](std::string_view key) {
    TraceTableOptions options;
    options.sort_by = key;
    return order(built, options);
  };
  EXPECT_EQ(by(""), "b a inner") << "in the order of the first begins";
  EXPECT_EQ(by("cpu_time_total"), "a inner b");
  EXPECT_EQ(by("self_cpu_time_total"), "inner b a");
  EXPECT_EQ(by("cpu_time"), "a inner b");
  EXPECT_EQ(by("count"), "b a inner");
  EXPECT_EQ(by("key"), "inner b a");
  EXPECT_EQ(by("cuda_time_total"), "b a inner") << "all are 0, and the order is kept";
  try {
    by("self_time");
    FAIL();
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_NOT_FOUND);
    EXPECT_NE(e.error()->message.find("self_cpu_time_total"), std::string::npos) << "the known ones are listed";
  }
}

// The kernel "late" ran twice, 100 and 300 ns; all else as full_trace() says. Rows whose numbers are equal keep their
// order, that of their begins.
TEST(TraceTable, IsSortedByTimesOfDevicesAndMemory) {
  TraceParts parts = full_trace();
  const Event again = work_of("late", {10'820, 10, 7, 0, 0, WorkKind::kKernel}, 12'000, 12'300, 0);
  parts.tracks.emplace_back().add_open({&again, 1});
  const Ref<Trace> trace = make_object<Trace>(std::move(parts));
  const auto by = [&](std::string_view key) {
    TraceTableOptions options;
    options.sort_by = key;
    return order(trace, options);
  };
  const std::string in_order = "ProfilerStep* outer main conv conv_kernel add copy fill open late";
  EXPECT_EQ(by(""), in_order);
  EXPECT_EQ(by("flops"), in_order) << "nothing is counted";
  EXPECT_EQ(by("self_cpu_time_total"), "main open conv ProfilerStep* outer add conv_kernel copy fill late");
  EXPECT_EQ(by("cpu_time_total"), "ProfilerStep* outer main open conv add conv_kernel copy fill late");
  for (const char *device : {"device", "cuda"}) {
    EXPECT_EQ(by(concat("self_", device, "_time_total")),
              "conv conv_kernel ProfilerStep* late add copy fill outer main open")
        << "the step launched both of late";
    EXPECT_EQ(by(concat(device, "_time_total")), "ProfilerStep* outer main conv conv_kernel late add copy fill open");
    EXPECT_EQ(by(concat(device, "_time")), "ProfilerStep* outer main conv conv_kernel add copy late fill open")
        << "200 ns each";
    EXPECT_EQ(by(concat(device, "_memory_usage")), in_order) << "32 bytes of the first four";
    EXPECT_EQ(by(concat("self_", device, "_memory_usage")),
              "conv ProfilerStep* outer main conv_kernel add copy fill open late");
  }
  EXPECT_EQ(by("cpu_memory_usage"), "conv ProfilerStep* outer main conv_kernel add copy fill open late");
  EXPECT_EQ(by("self_cpu_memory_usage"), "conv ProfilerStep* outer conv_kernel add copy fill open late main");
  EXPECT_EQ(by("key"), "outer open main late fill copy conv_kernel conv add ProfilerStep*");
}

// Six functions, from the innermost on; of each span five of them are shown. What is wider than its column is cut at
// the left.
TEST(TraceTable, HasTheHostsFunctionsBelowEachOther) {
  std::vector<uint64_t> frames;
  for (const char *name : {"inner", "second", "third", "fourth", "fifth", "sixth"})
    frames.push_back(pack_frame({name_id(name), name_id("a.py"), 9}));
  TraceBuilder built;
  built.range(0, 10, "with").range(20, 30, "without");
  TraceParts parts = built.parts({{0, 0}, 1});
  const_cast<Event *>(parts.tracks[0].ranges[0])->stack = stack_id(frames);
  const_cast<Event *>(parts.tracks[0].ranges[1])->stack = 0;
  parts.has_stacks = true;
  const Ref<Trace> trace = make_object<Trace>(std::move(parts));
  const auto sources = [&](const TraceTableOptions &options) {  // what is in the last column
    const std::string text = trace_table(*trace, options);
    const size_t at = text.find("Source Location") - text.rfind('\n', text.find("Source Location")) - 1;
    std::string found, line;
    for (std::istringstream lines(text); std::getline(lines, line);)
      if (line.size() > at) found += line.substr(at, std::max(line.find_last_not_of(' ') + 1, at) - at) + "\n";
    return found;
  };
  TraceTableOptions options;
  options.rows.stack_depth = 2;
  EXPECT_EQ(sources(options),
            "-------------------\nSource Location\n-------------------\na.py(9): inner\na.py(9): second\n\n\n\n"
            "-------------------\n")
      << "an empty line behind each row's functions, and a column 4 wider than the longest";
  options.max_source_width = 13;
  EXPECT_EQ(sources(options),
            "-------------\nSource Location\n-------------\n...(9): inner\n...9): second\n\n\n\n-------------\n");
  options.rows.each_span = true, options.rows.stack_depth = 0, options.max_source_width = 100;
  const std::string all = trace_table(*trace, options);
  for (const char *name : {"inner", "second", "third", "fourth", "fifth"})
    EXPECT_NE(all.find(concat("a.py(9): ", name, " ")), std::string::npos) << all;
  EXPECT_EQ(all.find("sixth"), std::string::npos) << all;
}

TEST(TraceTable, LimitsRowsAndKeepsTheSumsOfAll) {
  TraceBuilder built;
  for (uint64_t i = 0; i < 10; ++i) built.range(i * 2'000, i * 2'000 + 1'000, ("r" + std::to_string(i)).c_str());
  TraceTableOptions options;
  options.row_limit = 2;
  EXPECT_EQ(order(built, options), "r0 r1");
  EXPECT_NE(trace_table(*trace_of(built), options).find("10.00%       1.000us"), std::string::npos);
  EXPECT_NE(trace_table(*trace_of(built), options).find("Self CPU time total: 10.000us\n"), std::string::npos);
}

TEST(TraceTable, CanLeaveOutNestedSpans) {
  TraceBuilder built;
  add_sample(built);
  TraceTableOptions options;
  options.top_level_only = true;
  const std::string text = trace_table(*trace_of(built), options);
  EXPECT_EQ(text.find("conv2d"), std::string::npos);
  EXPECT_NE(text.find("my_range"), std::string::npos);
  EXPECT_NE(text.find("=\nThis report only display top-level ops statistics\n-"), std::string::npos);
  EXPECT_NE(text.find(" 15.06% "), std::string::npos) << "of the time of all";
}

TEST(TraceTable, HasAUnitForAllTimes) {
  TraceBuilder built;
  add_sample(built);
  TraceTableOptions options;
  options.time_unit = "ms";
  EXPECT_NE(trace_table(*trace_of(built), options).find("0.219ms"), std::string::npos);
  options.time_unit = "s";
  EXPECT_NE(trace_table(*trace_of(built), options).find("0.000s       100.00%        0.001s"), std::string::npos);
  options.time_unit = "us";
  EXPECT_NE(trace_table(*trace_of(built), options).find("  1454.889us  "), std::string::npos);
  options.time_unit = "h";
  try {
    trace_table(*trace_of(built), options);
    FAIL();
  } catch (const Exception &e) { EXPECT_EQ(e.error()->message, "time_unit must be s, ms or us, but is \"h\""); }
}

void add_matmuls(TraceBuilder &built) {
  int64_t a_dims[] = {8, 16}, b_dims[] = {16, 32}, c_dims[] = {8, 32}, small[] = {2, 2};
  const auto tensor = [](int64_t *dims) {
    return DLTensor{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, nullptr, 0};
  };
  DLTensor a = tensor(a_dims), b = tensor(b_dims), c = tensor(c_dims), s = tensor(small);
  const View large[] = {opd_dltensor(&a), opd_dltensor(&b), opd_dltensor(&c)},
             little[] = {opd_dltensor(&s), opd_dltensor(&s), opd_dltensor(&s)};
  for (uint64_t i = 0; i < 3; ++i) built.call({i * 100, i * 100 + 10, name_id("matmul"), 1}, large);
  built.call({400, 500, name_id("matmul"), 1}, little);
}

TEST(TraceTable, GroupsByShapesAndCountsOperations) {
  TraceBuilder built;
  add_matmuls(built);
  TraceTableOptions options;
  options.rows.by_shape = options.rows.with_flops = true;
  const std::string text = trace_table(*trace_of(built), options);
  // 3 * 2 * 8 * 16 * 32 and 2 * 2 * 2 * 2 operations. The unit is that of the smallest.
  EXPECT_NE(text.find("# of Calls                      Input Shapes   Total FLOPs  \n"), std::string::npos) << text;
  EXPECT_NE(text.find("     3      [[8, 16], [16, 32], [8, 32]]     24576.000  \n"), std::string::npos) << text;
  EXPECT_NE(text.find("     1          [[2, 2], [2, 2], [2, 2]]        16.000  \n"), std::string::npos) << text;
  options.rows.by_shape = false;
  const std::string joined = trace_table(*trace_of(built), options);
  EXPECT_EQ(joined.find("Input Shapes"), std::string::npos);
  EXPECT_NE(joined.find("Total KFLOPs  \n"), std::string::npos) << joined;
  EXPECT_NE(joined.find("             4        24.592  \n"), std::string::npos) << joined;
}

TEST(TraceTable, ListsEachSpan) {
  TraceBuilder built;
  add_matmuls(built);
  TraceTableOptions options;
  options.rows.each_span = true;
  options.max_shapes_width = 12;
  const std::string text = trace_table(*trace_of(built), options);
  EXPECT_EQ(order(built, options), "matmul matmul matmul matmul");
  EXPECT_NE(text.find("  [[8, 16], [1  \n"), std::string::npos) << text;
}

TEST(TraceTable, SurvivesNamesOfAnyBytes) {
  TraceBuilder built;
  built.range(0, 10, "line\nbreak\x1b[31m").range(20, 30, "größe").range(40, 50, "").range(60, 70, "\xFF\xC2");
  const std::string text = trace_table(*trace_of(built), {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 + 4 + 1) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("            größe        25.00%"), std::string::npos) << "as wide as five characters";
}

TEST(TraceTable, IsEmptyForAnEmptyTrace) {
  TraceBuilder built;
  EXPECT_EQ(trace_table(*trace_of(built), {}), "");
  built.range(0, 0, "mark", EventKind::kMark);
  EXPECT_EQ(trace_table(*trace_of(built), {}), "");
  built.range(0, 0, "empty");
  EXPECT_NE(trace_table(*trace_of(built), {}).find("0.00%"), std::string::npos) << "no division by 0";
}

TEST(TraceTable, ChoosesTheUnitOfEachTime) {
  TraceBuilder built;
  built.range(0, 999, "a").range(1'000, 1'000'999, "b").range(2'000'000, 3'000'000, "c");
  built.range(4'000'000, 1'003'999'000, "d").range(2'000'000'000, 3'000'000'000, "e");
  const std::string text = trace_table(*trace_of(built), {});
  for (const char *row :
       {"       0.999us             1  \n", "     999.999us             1  \n", "       1.000ms             1  \n",
        "     999.999ms             1  \n", "        1.000s             1  \n"})
    EXPECT_NE(text.find(row), std::string::npos) << row << text;
}

// 1023 bytes have no larger unit, 1024 have; so it is at each limit, and for memory that is given back.
TEST(TraceTable, ChoosesTheUnitOfEachAmountOfMemory) {
  TraceBuilder built;
  uint64_t tick = 0;
  const auto add = [&](EventKind kind, uint64_t bytes) {
    built.memory(kind, tick + 1, {kDLCPU, 0}, {tick + 7, bytes, bytes, 0});
    built.range(tick, tick + 2, concat("r", tick).c_str());
    tick += 10;
  };
  for (const uint64_t bytes : {uint64_t{1} << 10, uint64_t{1} << 20, uint64_t{1} << 30}) {
    add(EventKind::kAlloc, bytes - 1);
    add(EventKind::kAlloc, bytes);
    add(EventKind::kFree, bytes);
  }
  TraceParts parts = built.parts({{0, 0}, 1});
  parts.has_memory = true;
  const std::string text = trace_table(*make_object<Trace>(std::move(parts)), {});
  for (const char *amount :
       {"        1023 B        1023 B  ", "       1.00 KB       1.00 KB  ", "      -1.00 KB      -1.00 KB  ",
        "    1024.00 KB    1024.00 KB  ", "       1.00 MB       1.00 MB  ", "      -1.00 MB      -1.00 MB  ",
        "    1024.00 MB    1024.00 MB  ", "       1.00 GB       1.00 GB  ", "      -1.00 GB      -1.00 GB  "})
    EXPECT_NE(text.find(amount), std::string::npos) << amount << "\n" << text;
}

// As in torch, a name of three characters fewer than the column is cut, too. A column is 4 wider than its longest name.
TEST(TraceTable, CutsNamesThatAreWiderThanTheirColumn) {
  TraceBuilder built;
  built.range(0, 10, "abcdef").range(20, 30, "abcdefg");
  TraceTableOptions options;
  options.max_name_width = 10;
  const std::string text = trace_table(*trace_of(built), options);
  EXPECT_NE(text.find("\n    abcdef        50.00%"), std::string::npos) << text;
  EXPECT_NE(text.find("\nabcdefg...        50.00%"), std::string::npos) << text;
  options.max_name_width = 12;
  EXPECT_NE(trace_table(*trace_of(built), options).find("\n    abcdefg  "), std::string::npos);
  options.max_name_width = 1;
  EXPECT_NE(trace_table(*trace_of(built), options).find("\na...  "), std::string::npos) << "4 is the least";
}

TEST(TraceTable, HasAllRowsIfTheyAreAsManyAsTheLimit) {
  TraceBuilder built;
  built.range(0, 10, "a").range(20, 30, "b");
  TraceTableOptions options;
  options.row_limit = 2;
  EXPECT_EQ(order(built, options), "a b");
  options.row_limit = 1;
  EXPECT_EQ(order(built, options), "a");
}

// A product of n and 1 by 1 and 1 takes 2 * n operations.
TEST(TraceTable, CountsOperationsInTheUnitOfTheFewest) {
  const auto table = [](std::initializer_list<int64_t> sizes) {
    TraceBuilder built;
    uint64_t tick = 0;
    for (const int64_t size : sizes) {
      int64_t a_dims[] = {size, 1}, b_dims[] = {1, 1};
      const DLTensor a{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, a_dims, nullptr, 0},
          b{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, b_dims, nullptr, 0};
      const View args[] = {opd_dltensor(const_cast<DLTensor *>(&a)), opd_dltensor(const_cast<DLTensor *>(&b)),
                           opd_dltensor(const_cast<DLTensor *>(&a))};
      built.call({tick, tick + 10, name_id("matmul"), 1}, args);
      tick += 20;
    }
    built.range(tick, tick + 5, "other");
    TraceTableOptions options;
    options.rows.by_shape = options.rows.with_flops = true;
    return trace_table(*trace_of(built), options);
  };
  const std::string few = table({499, 5'000});
  EXPECT_NE(few.find("  Total FLOPs  \n"), std::string::npos) << few;
  EXPECT_NE(few.find("       998.000  \n"), std::string::npos) << few;
  EXPECT_NE(few.find("     10000.000  \n"), std::string::npos) << few;
  EXPECT_NE(few.find("            --  \n"), std::string::npos) << few;
  const std::string thousands = table({500, 5'000});
  EXPECT_NE(thousands.find(" Total KFLOPs  \n"), std::string::npos) << thousands;
  EXPECT_NE(thousands.find("         1.000  \n"), std::string::npos) << thousands;
  EXPECT_NE(thousands.find("        10.000  \n"), std::string::npos) << thousands;
}

TEST(TraceTable, JoinsStepsOfOneProfiler) {
  TraceBuilder built;
  for (uint64_t i = 0; i < 3; ++i) built.range(i * 10, i * 10 + 10, nullptr, EventKind::kStep, i);
  EXPECT_EQ(order(built, {}), "ProfilerStep*");
}

}  // namespace
}  // namespace opd
