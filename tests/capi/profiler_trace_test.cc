// Traces through the C API: forms, files, reports, and what they refuse. Foreign readers are in tests/interop.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "support/paths.h"
#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

constexpr opd_trace_format kForms[] = {OPD_TRACE_CHROME,   OPD_TRACE_TABLE, OPD_TRACE_STACKS, OPD_TRACE_SPEEDSCOPE,
                                       OPD_TRACE_PERFETTO, OPD_TRACE_PPROF, OPD_TRACE_HTML,   OPD_TRACE_FLAME_SVG};

Trace recorded_ranges() {
  define("test.trace.kernel", [](const opd_value *, int32_t, opd_value *) {});
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.trace.kernel(%x)\n  ret %x\n}").to_module());
  const Profiler profiler;
  profiler.start();
  {
    const Range outer("outer");
    vm.call("main", floats({1, 2}));
    vm.call("main", floats({1}));
  }
  std::thread([] { const Range elsewhere("elsewhere"); }).join();
  return profiler.stop();
}

std::string content(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ATrace, IsSavedInEveryFormAsItIsWritten) {
  const Trace trace = recorded_ranges();
  for (const opd_trace_format form : kForms) {
    const std::string path = test_scratch("/saved_trace");
    trace.save(path.c_str(), form);
    EXPECT_EQ(content(path), trace.write(form)) << form;
    EXPECT_FALSE(content(path).empty()) << form;
    trace.save(path.c_str(), form);  // again, over the first one
    std::filesystem::remove(path);
  }
  EXPECT_EQ(trace.chrome(), trace.write(OPD_TRACE_CHROME));
}

TEST(ATrace, ShowsTheLoadingBeforeTheFirstCall) {
  const ScratchDirectory directory;
  const std::string program = directory.file("program.bin");
  write_bytes(program, Executable::assemble(".func main(x) {\n  ret %x\n}").save());
  const Profiler profiler;
  profiler.start();
  const Vm vm(opdyno::Module::load(program));
  const auto params = opdyno::Params::load(test_data("/params/stored.npz"));
  EXPECT_ANY_THROW(opdyno::Module::load(directory.file("missing.so")));
  const std::vector<std::string> names = names_of(profiler.stop());
  EXPECT_EQ(names, (std::vector<std::string>{"load program.bin", "create VM", "open stored.npz", "load missing.so"}));
}

// Writers collect text in pieces of 64 KiB. The forms that are not here pack it.
TEST(ATrace, ShowsNamesThatAreLongerThanAPieceOfText) {
  const std::string name(300'000, 'n');
  const Profiler profiler;
  profiler.start();
  { const Range range(name.c_str()); }
  opd_range_mark(opdyno::range_name(name.c_str()));
  const Trace trace = profiler.stop();
  for (const opd_trace_format form : {OPD_TRACE_CHROME, OPD_TRACE_STACKS, OPD_TRACE_SPEEDSCOPE, OPD_TRACE_PERFETTO})
    EXPECT_NE(trace.write(form).find(name), std::string::npos) << form;
}

TEST(ATrace, IsCompressedIfTheNameSaysSo) {
  const Trace trace = recorded_ranges();
  const std::string path = test_scratch("/trace.json.gz");
  trace.save(path.c_str(), OPD_TRACE_CHROME);
  EXPECT_EQ(content(path).substr(0, 2), "\x1f\x8b");
  const std::string command = "gzip -dc '" + path + "'";
  FILE *unpacked = popen(command.c_str(), "r");
  ASSERT_NE(unpacked, nullptr);
  std::string text(1 << 20, '\0');
  text.resize(fread(text.data(), 1, text.size(), unpacked));
  EXPECT_EQ(pclose(unpacked), 0);
  EXPECT_EQ(text, trace.chrome());
  std::filesystem::remove(path);
}

TEST(ATrace, LeavesTheOldFileIfItCannotBeWritten) {
  const Trace trace = recorded_ranges();
  expect_error(opd_trace_save(trace.get(), "/nowhere/trace.json", OPD_TRACE_CHROME, nullptr), OPD_NOT_FOUND,
               "/nowhere");
  const std::string path = test_scratch("/kept_trace");
  std::ofstream(path) << "old";
  opd_trace_write_options options;
  opd_trace_write_options_init(&options);
  options.metadata = "[]";
  expect_error(opd_trace_save(trace.get(), path.c_str(), OPD_TRACE_CHROME, &options), OPD_INVALID_ARGUMENT);
  EXPECT_EQ(content(path), "old");
  std::filesystem::remove(path);
}

TEST(ATrace, HasTheMetadataThatIsGiven) {
  const Trace trace = recorded_ranges();
  opd_trace_write_options options;
  opd_trace_write_options_init(&options);
  for (const char *metadata : {"{\"a\":1,\"b\":{\"c\":[]}}", "  {\"a\":1,\"b\":{\"c\":[]}}\n"}) {
    options.metadata = metadata;
    EXPECT_NE(trace.write(OPD_TRACE_CHROME, &options).find(",\"a\":1,\"b\":{\"c\":[]},"), std::string::npos);
  }
  for (const char *metadata : {"{}", " { } ", ""}) {
    options.metadata = metadata;
    EXPECT_EQ(trace.write(OPD_TRACE_CHROME, &options), trace.chrome()) << metadata;
  }
  for (const char *metadata : {"[]", "1", "{\"a\":1", "{\"a\":1}}", "{\"a\":1},\"b\":{}", "{a:1}"}) {
    options.metadata = metadata;
    opd_buffer *bytes = nullptr;
    opd_error *error = opd_trace_write(trace.get(), OPD_TRACE_CHROME, &options, &bytes);
    ASSERT_NE(error, nullptr) << metadata;
    opd_error_release(error);
    EXPECT_EQ(bytes, nullptr);
  }
}

TEST(ATrace, RefusesUnknownFormatsAndBadOptions) {
  const Trace trace = recorded_ranges();
  opd_buffer *bytes = nullptr;
  opd_report *report = nullptr;
  const auto refuses = [&](opd_trace_format form, const opd_trace_write_options &options, opd_code code,
                           const char *part) {
    expect_error(opd_trace_write(trace.get(), form, &options, &bytes), code, part);
  };
  const auto options = opdyno::defaults(opd_trace_write_options_init);
  expect_error(opd_trace_write(trace.get(), static_cast<opd_trace_format>(99), nullptr, &bytes), OPD_INVALID_ARGUMENT,
               "form 99");
  expect_error(opd_trace_to_report(trace.get(), static_cast<opd_trace_view>(99), nullptr, &report),
               OPD_INVALID_ARGUMENT, "view 99");
  expect_error(opd_trace_write(nullptr, OPD_TRACE_CHROME, nullptr, &bytes), OPD_INVALID_ARGUMENT);
  expect_error(opd_trace_write(trace.get(), OPD_TRACE_CHROME, nullptr, nullptr), OPD_INVALID_ARGUMENT);
  expect_error(opd_trace_save(trace.get(), nullptr, OPD_TRACE_CHROME, nullptr), OPD_INVALID_ARGUMENT);
  expect_error(opd_trace_to_report(trace.get(), OPD_TRACE_EVENTS, nullptr, nullptr), OPD_INVALID_ARGUMENT);
  auto wrong = options;
  wrong.sort_by = "speed";
  refuses(OPD_TRACE_TABLE, wrong, OPD_NOT_FOUND, "self_cpu_time_total");
  wrong = options, wrong.time_unit = "h";
  refuses(OPD_TRACE_TABLE, wrong, OPD_INVALID_ARGUMENT, "time_unit");
  wrong = options, wrong.row_limit = -2;
  refuses(OPD_TRACE_TABLE, wrong, OPD_INVALID_ARGUMENT, "row_limit");
  wrong = options, wrong.max_name_column_width = 0;
  refuses(OPD_TRACE_TABLE, wrong, OPD_INVALID_ARGUMENT, "max_name_column_width");
  wrong = options, wrong.max_shapes_column_width = -1;
  refuses(OPD_TRACE_TABLE, wrong, OPD_INVALID_ARGUMENT, "max_shapes_column_width");
  wrong = options, wrong.group_by_input_shape = 2;
  refuses(OPD_TRACE_TABLE, wrong, OPD_INVALID_ARGUMENT, "group_by_input_shape");
  wrong = options, wrong.per_event = 2;
  refuses(OPD_TRACE_STACKS, wrong, OPD_INVALID_ARGUMENT, "per_event");
  wrong = options, wrong.metric = "count";
  refuses(OPD_TRACE_STACKS, wrong, OPD_INVALID_ARGUMENT, "self_cuda_time_total");
  EXPECT_EQ(bytes, nullptr);
  EXPECT_EQ(report, nullptr);
}

TEST(ATrace, MakesReportsOfItsSpansAndOfTheirAverages) {
  const Trace trace = recorded_ranges();
  const Report events = trace.report(OPD_TRACE_EVENTS), names = trace.report(OPD_TRACE_KEY_AVERAGES),
               shapes = trace.report(OPD_TRACE_KEY_AVERAGES_BY_SHAPE);
  std::vector<std::string> order;
  for (size_t row = 0; row < events.count(); ++row) order.push_back(text_value(call_value(events, row, "Name")));
  EXPECT_EQ(order,
            (std::vector<std::string>{"outer", "main", "test.trace.kernel", "main", "test.trace.kernel", "elsewhere"}));
  EXPECT_EQ(number_of(call_value(events, 2, "Parent")), 1);
  EXPECT_EQ(number_of(call_value(events, 3, "Parent")), 0);
  EXPECT_EQ(call_value(events, 5, "Parent").type(), OPD_NONE) << "another thread's";
  EXPECT_NE(number_of(call_value(events, 5, "Thread ID")), number_of(call_value(events, 0, "Thread ID")));
  double self = 0, outermost = 0;
  for (size_t row = 0; row < events.count(); ++row) {
    self += number_of(call_value(events, row, "Self (us)"));
    if (row == 0 || row == 5) outermost += number_of(call_value(events, row, "Duration (us)"));
  }
  EXPECT_NEAR(self, outermost, 0.01);
  ASSERT_EQ(names.count(), 4u);
  EXPECT_EQ(text_value(call_value(names, 2, "Name")), "test.trace.kernel");
  EXPECT_EQ(number_of(call_value(names, 2, "Count")), 2);
  EXPECT_EQ(text_value(call_value(names, 2, "Argument Shapes")), "");
  ASSERT_EQ(shapes.count(), 5u);
  EXPECT_EQ(text_value(call_value(shapes, 2, "Argument Shapes")), "float32[2]");
  EXPECT_EQ(text_value(call_value(shapes, 3, "Argument Shapes")), "float32[1]");
  double sum = 0;
  for (size_t row = 0; row < shapes.count(); ++row) sum += number_of(call_value(shapes, row, "Self (us)"));
  EXPECT_NEAR(sum, self, 0.01);
}

TEST(ATrace, CanBeWrittenInEveryFormIfItIsEmpty) {
  const Profiler profiler;
  profiler.start();
  const Trace trace = profiler.stop();
  for (const opd_trace_format form : kForms) EXPECT_NO_THROW(trace.write(form)) << form;
  EXPECT_EQ(trace.report(OPD_TRACE_EVENTS).count(), 0u);
  EXPECT_EQ(trace.report(OPD_TRACE_KEY_AVERAGES).count(), 0u);
}

}  // namespace
