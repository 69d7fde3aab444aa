// A report through the Arrow C stream interface, read as any consumer would.
#include <cstring>
#include <thread>

#include "support/opdyno_test.h"

namespace {

using opdyno::arg;
using opdyno::check;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::expect_error;

// What a consumer imports; ends what is left of it.
struct Imported {
  ArrowArrayStream stream{};
  ArrowSchema schema{};
  ArrowArray batch{};

  explicit Imported(const Report &report) {
    check(opd_report_to_arrow(report.get(), &stream));
    EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
    EXPECT_EQ(stream.get_next(&stream, &batch), 0);
    ArrowArray end{};
    EXPECT_EQ(stream.get_next(&stream, &end), 0);
    EXPECT_EQ(end.release, nullptr) << "one batch is all";
    EXPECT_EQ(stream.get_last_error(&stream), nullptr);
    stream.release(&stream);
    EXPECT_EQ(stream.release, nullptr);
  }
  ~Imported() {
    if (schema.release) schema.release(&schema);
    if (batch.release) batch.release(&batch);
  }
  int column(const char *name) const {
    for (int i = 0; i < schema.n_children; ++i)
      if (!std::strcmp(schema.children[i]->name, name)) return i;
    ADD_FAILURE() << name;
    return 0;
  }
  const char *format(const char *name) const { return schema.children[column(name)]->format; }
  const ArrowArray &array(const char *name) const { return *batch.children[column(name)]; }
  bool is_valid(const char *name, size_t row) const {
    const auto *bits = static_cast<const uint8_t *>(array(name).buffers[0]);
    return !bits || (bits[row / 8] >> row % 8 & 1);
  }
  int64_t integer(const char *name, size_t row) const {
    return static_cast<const int64_t *>(array(name).buffers[1])[row];
  }
  double real(const char *name, size_t row) const { return static_cast<const double *>(array(name).buffers[1])[row]; }
  static std::string text(const ArrowArray &texts, int64_t place) {
    const auto *offsets = static_cast<const int32_t *>(texts.buffers[1]);
    return std::string(static_cast<const char *>(texts.buffers[2]) + offsets[place],
                       static_cast<size_t>(offsets[place + 1] - offsets[place]));
  }
  std::string text(const char *name, size_t row) const { return text(*array(name).dictionary, integer(name, row)); }
};

std::string metadata(const char *encoded, const std::string &key) {
  if (!encoded) return "none";
  const auto number = [&] {
    int32_t n;
    std::memcpy(&n, encoded, sizeof n);
    encoded += sizeof n;
    return static_cast<size_t>(n);
  };
  const auto text = [&] {
    const size_t size = number();
    encoded += size;
    return std::string(encoded - size, size);
  };
  for (size_t pairs = number(); pairs--;) {
    const std::string name = text(), value = text();
    if (name == key) return value;
  }
  return "none";
}

Report arrow_report(int rows) {
  const ReportBuilder builder;
  for (int i = 0; i < rows; ++i) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("op" + std::to_string(i % 7)));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(i * 0.5));
    builder.set_call("Count", OPD_METRIC_COUNT, arg(i));
    builder.set_call("Peak", OPD_METRIC_BYTES, arg(i * 4096));
    builder.set_call("Clock", OPD_METRIC_HERTZ, arg(1e9 + i));
    if (i % 3 == 1) builder.set_call("Some", OPD_METRIC_RATIO, arg(i * 1.0));
    if (i % 5 == 2) builder.set_call("Note", OPD_METRIC_STRING, arg("note"));
    if (i % 2) builder.set_call("Either", OPD_METRIC_COUNT, arg(i));
    else builder.set_call("Either", OPD_METRIC_RATIO, arg(0.25));
    if (i % 4 == 1) builder.set_call("Any", OPD_METRIC_STRING, arg("text"));
    else if (i % 4 == 2) builder.set_call("Any", OPD_METRIC_COUNT, arg(i));
    else if (i % 4 == 3) builder.set_call("Any", OPD_METRIC_RATIO, arg(0.5));
  }
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(1));
  builder.set_configuration("Executor", OPD_METRIC_STRING, arg("VM"));
  return builder.finish();
}

TEST(ReportArrow, EndsANameAtItsFirstNul) {
  const Imported got(Report::from_json(R"({"calls":[{"a\u0000b":{"count":7}}]})"));
  ASSERT_EQ(got.schema.n_children, 1);
  EXPECT_EQ(got.integer("a", 0), 7);
}

TEST(ReportArrow, LeavesOutColumnsWithoutCells) {
  const opdyno::Vm vm(opdyno::Executable::assemble(".func main(x) {\n ret %x\n}").to_module());
  vm.profile_start();
  opdyno::Report report;
  check(opd_vm_profile_stop(vm.get(), report.out(), nullptr));
  const Imported empty(report);
  EXPECT_EQ(empty.schema.n_children, 0);
  EXPECT_EQ(empty.batch.length, 0);
}

TEST(ReportArrow, HasTheCellsOfTheReport) {
  constexpr int kRows = 100;
  const Imported arrow(arrow_report(kRows));  // the report itself is gone
  EXPECT_STREQ(arrow.schema.format, "+s");
  EXPECT_EQ(arrow.schema.n_children, 9);
  EXPECT_EQ(arrow.batch.n_children, 9);
  EXPECT_EQ(arrow.batch.length, kRows);
  for (const auto &[name, format] : {std::pair{"Name", "l"},
                                     {"Duration (us)", "g"},
                                     {"Count", "l"},
                                     {"Peak (bytes)", "l"},
                                     {"Clock (Hz)", "g"},
                                     {"Some", "g"},
                                     {"Note", "l"},
                                     {"Either", "g"},
                                     {"Any", "u"}})
    EXPECT_STREQ(arrow.format(name), format) << name;
  EXPECT_STREQ(arrow.schema.children[arrow.column("Name")]->dictionary->format, "u");
  EXPECT_EQ(arrow.schema.children[arrow.column("Count")]->dictionary, nullptr);
  EXPECT_EQ(arrow.array("Count").null_count, 0);
  EXPECT_EQ(arrow.array("Some").null_count, kRows - 33);
  for (size_t i = 0; i < kRows; ++i) {
    const double row = static_cast<double>(i);
    EXPECT_EQ(arrow.text("Name", i), "op" + std::to_string(i % 7));
    EXPECT_EQ(arrow.real("Duration (us)", i), row * 0.5);
    EXPECT_EQ(arrow.integer("Count", i), static_cast<int64_t>(i));
    EXPECT_EQ(arrow.integer("Peak (bytes)", i), static_cast<int64_t>(i * 4096));
    EXPECT_EQ(arrow.real("Clock (Hz)", i), 1e9 + row);
    ASSERT_EQ(arrow.is_valid("Some", i), i % 3 == 1);
    if (i % 3 == 1) { EXPECT_EQ(arrow.real("Some", i), row); }
    ASSERT_EQ(arrow.is_valid("Note", i), i % 5 == 2);
    if (i % 5 == 2) { EXPECT_EQ(arrow.text("Note", i), "note"); }
    EXPECT_EQ(arrow.real("Either", i), i % 2 ? row : 0.25);
    ASSERT_EQ(arrow.is_valid("Any", i), i % 4 != 0);
    const std::string any[] = {"", "text", std::to_string(i), "0.5"};
    EXPECT_EQ(Imported::text(arrow.array("Any"), static_cast<int64_t>(i)), any[i % 4]);
  }
}

// Each member of the structs, by the specification of the Arrow C data interface.
TEST(ReportArrow, FillsEachMemberOfItsStructs) {
  const ReportBuilder builder;
  for (int i = 0; i < 9; ++i) {
    builder.add_call();
    builder.set_call("n", OPD_METRIC_COUNT, arg(i));
    builder.set_call("s", OPD_METRIC_STRING, arg(i % 2 ? "odd" : "even"));
    if (i == 8) builder.set_call("last", OPD_METRIC_STRING, arg("x"));
    if (i % 8) builder.set_call("mixed", OPD_METRIC_COUNT, arg(i));
    else builder.set_call("mixed", OPD_METRIC_STRING, arg("eight"));
  }
  const Imported arrow(builder.finish());
  const auto check_schema = [](const ArrowSchema &schema, const char *format, const char *name, int64_t flags,
                               int64_t children) {
    EXPECT_STREQ(schema.format, format) << name;
    EXPECT_STREQ(schema.name, name);
    EXPECT_EQ(schema.flags, flags) << name;
    EXPECT_EQ(schema.n_children, children) << name;
    EXPECT_EQ(schema.children != nullptr, children > 0) << name;
    EXPECT_NE(schema.release, nullptr) << name;
  };
  check_schema(arrow.schema, "+s", "", 0, 4);
  const std::pair<const char *, const char *> columns[] = {{"n", "l"}, {"s", "l"}, {"mixed", "u"}, {"last", "l"}};
  for (size_t i = 0; i < 4; ++i) {
    const ArrowSchema &field = *arrow.schema.children[i];
    check_schema(field, columns[i].second, columns[i].first, ARROW_FLAG_NULLABLE, 0);
    ASSERT_EQ(field.dictionary != nullptr, i == 1 || i == 3) << field.name;
    if (!field.dictionary) continue;
    check_schema(*field.dictionary, "u", "", ARROW_FLAG_NULLABLE, 0);
    EXPECT_EQ(field.dictionary->metadata, nullptr);
    EXPECT_EQ(field.dictionary->dictionary, nullptr);
  }
  EXPECT_EQ(arrow.schema.children[2]->metadata, nullptr) << "cells of several kinds";
  const auto check_array = [](const ArrowArray &array, int64_t length, int64_t nulls, int64_t buffers,
                              int64_t children) {
    EXPECT_EQ(array.length, length);
    EXPECT_EQ(array.null_count, nulls);
    EXPECT_EQ(array.offset, 0);
    EXPECT_EQ(array.n_buffers, buffers);
    EXPECT_EQ(array.n_children, children);
    EXPECT_EQ(array.children != nullptr, children > 0);
    EXPECT_EQ(array.buffers[0] != nullptr, nulls > 0);
    EXPECT_NE(array.release, nullptr);
  };
  check_array(arrow.batch, 9, 0, 1, 4);
  check_array(arrow.array("n"), 9, 0, 2, 0);
  check_array(arrow.array("s"), 9, 0, 2, 0);
  check_array(arrow.array("last"), 9, 8, 2, 0);
  check_array(arrow.array("mixed"), 9, 0, 3, 0);
  EXPECT_EQ(arrow.array("n").dictionary, nullptr);
  EXPECT_EQ(arrow.array("mixed").dictionary, nullptr);
  check_array(*arrow.array("s").dictionary, 4, 0, 3, 0);  // even, eight, odd, x
  const auto *bits = static_cast<const uint8_t *>(arrow.array("last").buffers[0]);
  EXPECT_EQ(bits[0], 0);
  EXPECT_EQ(bits[1], 1) << "the ninth row alone";
  EXPECT_EQ(arrow.text("last", 8), "x");
  EXPECT_EQ(Imported::text(arrow.array("mixed"), 0), "eight");
  EXPECT_EQ(Imported::text(arrow.array("mixed"), 7), "7");
}

TEST(ReportArrow, HasTheKindsDevicesAndConfiguration) {
  const Imported arrow(arrow_report(4));
  const auto kind = [&](const char *name) {
    return metadata(arrow.schema.children[arrow.column(name)]->metadata, "opdyno.kind");
  };
  EXPECT_EQ(kind("Name"), "string");
  EXPECT_EQ(kind("Duration (us)"), "microseconds");
  EXPECT_EQ(kind("Count"), "count");
  EXPECT_EQ(kind("Peak (bytes)"), "bytes");
  EXPECT_EQ(kind("Clock (Hz)"), "hertz");
  EXPECT_EQ(kind("Some"), "ratio");
  EXPECT_EQ(kind("Either"), "none");
  EXPECT_EQ(metadata(arrow.schema.metadata, "device_metrics"),
            R"-({"cpu0":{"Duration (us)":{"microseconds":1.00000000000000000}}})-");
  EXPECT_EQ(metadata(arrow.schema.metadata, "configuration"), R"-({"Executor":{"string":"VM"}})-");
}

TEST(ReportArrow, DoesNotCopyColumnsWithoutGaps) {
  const Report report = arrow_report(1000);
  const Imported first(report), second(report);
  for (const char *name : {"Name", "Duration (us)", "Count", "Peak (bytes)", "Clock (Hz)"})
    EXPECT_EQ(first.array(name).buffers[1], second.array(name).buffers[1]) << name;
}

TEST(ReportArrow, ColumnsOutliveTheBatchThatTheyWereTakenFrom) {
  ArrowArray name{}, count{};
  ArrowSchema field{};
  {
    Imported arrow(arrow_report(50));
    name = *arrow.batch.children[arrow.column("Name")];  // a move, as Arrow defines it
    arrow.batch.children[arrow.column("Name")]->release = nullptr;
    count = *arrow.batch.children[arrow.column("Count")];
    arrow.batch.children[arrow.column("Count")]->release = nullptr;
    field = *arrow.schema.children[arrow.column("Name")];
    arrow.schema.children[arrow.column("Name")]->release = nullptr;
  }
  std::thread([&] {
    EXPECT_EQ(static_cast<const int64_t *>(count.buffers[1])[49], 49);
    EXPECT_EQ(Imported::text(*name.dictionary, static_cast<const int64_t *>(name.buffers[1])[8]), "op1");
    EXPECT_STREQ(field.name, "Name");
    name.release(&name);
    count.release(&count);
    field.release(&field);
  }).join();
  EXPECT_EQ(name.release, nullptr);
}

TEST(ReportArrow, AStreamNeedNotBeRead) {
  ArrowArrayStream stream;
  check(opd_report_to_arrow(arrow_report(3).get(), &stream));
  stream.release(&stream);
  expect_error(opd_report_to_arrow(nullptr, &stream), OPD_INVALID_ARGUMENT, "NULL");
  expect_error(opd_report_to_arrow(arrow_report(1).get(), nullptr), OPD_INVALID_ARGUMENT, "NULL");
}

TEST(ReportArrow, AReportOfNothingIsABatchWithoutColumns) {
  const Imported arrow(Report::from_json("{\"calls\":[]}"));
  EXPECT_EQ(arrow.batch.length, 0);
  EXPECT_EQ(arrow.batch.n_children, 0);
}

}  // namespace
