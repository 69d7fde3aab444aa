// Merged traces of processes whose numbers are equal: those of threads, loops and stacks. Addresses and loops are those
// of each.
#include <gtest/gtest.h>

#include "support/chrome_trace.h"
#include "support/merged_traces.h"
#include "support/occurrences.h"
#include "trace/model/names.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

using opdyno_test::occurrences;

// A run from tick 1000 to 9000 that the function at 0x1011 called; a task of its loop from 2000 to 5000.
TraceParts recorded_run(const char *run_name, const char *object, double ns_per_tick) {
  const uint64_t frames[] = {0x1011};
  Event run{}, task{};
  run.begin = 1000, run.end = 9000, run.kind = EventKind::kRun, run.recordings = 1, run.run = 1;
  run.name = name_id(run_name), run.stack = stack_id(frames);
  task.begin = 2000, task.end = 5000, task.kind = EventKind::kTask, task.recordings = 1, task.run = 1;
  set_loop_task(task, {.loop = 1, .task = 0, .num_tasks = 1, .thread = 7});
  const Event events[] = {run, task};
  TraceParts made;
  TraceTrack &track = made.tracks.emplace_back();
  track.thread_id = 7, track.thread_name = "main";
  track.add_open(events);
  made.has_stacks = true;
  TraceProcess &process = made.processes[0];
  process.id = 41, process.line = {{0, 0}, ns_per_tick}, process.unix_offset_ns = kEpoch, process.recordings = 1;
  process.objects = {{0x1000, 0x2000, 0x1000, object, ""}};
  return made;
}

Ref<Trace> two_hosts() {
  TraceParts near = recorded_run("of near", "/near.so", 1), far = recorded_run("of far", "/far.so", 2);
  far.processes[0].host = "elsewhere";
  far.tracks[0].dropped = 3;
  const Ref<Trace> one = make_object<Trace>(near), other = make_object<Trace>(far);
  const Trace *traces[] = {one.get(), other.get()};
  TraceMergeOptions options;
  options.labels = {"near", "far"};
  return merge_traces(traces, options);
}

std::string column_texts(const Ref<Report> &report, const char *name) {
  std::string texts;
  const Column *column = report->find_column(name);
  for (size_t row = 0; column && row < report->num_rows(); ++row) {
    const Metric cell = column->at(row);
    if (cell.is_text()) texts += report->text(cell.text());
    else append(texts, cell.is_integer() ? concat(cell.count()) : concat(cell.number()));
    texts += " | ";
  }
  return texts;
}

TEST(MergedProcesses, HaveTheirOwnFunctionsOfTheHost) {
  const Ref<Trace> trace = two_hosts();
  EXPECT_TRUE(trace->parts.has_stacks);
  EXPECT_EQ(written([&](ByteSink &out) { write_stacks(*trace, false, false, out); }),
            "near;/near.so(+0x11);of_near 8\nfar;/far.so(+0x11);of_far 16\n");
  EXPECT_EQ(written([&](ByteSink &out) { write_stacks(*trace, true, false, out); }),
            "near;/near.so(+0x11);of_near 8\nfar;/far.so(+0x11);of_far 16\n");
  EXPECT_EQ(column_texts(report_of_events(*trace), "Stack"), "/near.so(+0x11); | /far.so(+0x11); | ");
  EXPECT_EQ(column_texts(report_of_averages(*trace, {.stack_depth = 1}), "Stack"),
            "/near.so(+0x11); | /far.so(+0x11); | ");
  EXPECT_EQ(column_texts(report_of_paths(*trace, false), "Name"), "near;of near | far;of far | ")
      << "of spans, without the host's functions";
  const std::string json = chrome_trace(*trace);
  EXPECT_EQ(occurrences(json, R"("Call stack":"/near.so(+0x11);")"), 2u) << "the run and its function";
  EXPECT_EQ(occurrences(json, R"("Call stack":"/far.so(+0x11);")"), 2u);
  for (const auto write : {&write_speedscope, &write_perfetto, &write_pprof, &write_flame_svg}) {
    const std::string text = written([&](ByteSink &out) { write(*trace, out); });
    EXPECT_NE(text.find("/near.so"), std::string::npos);
    EXPECT_NE(text.find("/far.so"), std::string::npos);
  }
}

TEST(MergedProcesses, HaveTheirOwnLoops) {
  const Ref<Trace> trace = two_hosts();
  const Ref<Report> tasks = report_of_tasks(*trace);
  EXPECT_EQ(column_texts(tasks, "Name"), "of near | of far | ");
  EXPECT_EQ(column_texts(tasks, "Process"), "near | far | ");
  EXPECT_EQ(column_texts(tasks, "Host"), " | elsewhere | ");
  EXPECT_EQ(column_texts(tasks, "Start (us)"), "1 | 3 | ")
      << "near's first event is at 1000 ns, the tasks at 2000, 4000";
  EXPECT_EQ(column_texts(tasks, "Duration (us)"), "3 | 6 | ");
  EXPECT_EQ(column_texts(tasks, "Wait (us)"), "0 | 0 | ");
  const std::string json = chrome_trace(*trace);
  EXPECT_EQ(occurrences(json, R"("cat":"parallel_task","name":"of near","pid":41,)"), 1u);
  EXPECT_EQ(occurrences(json, R"("cat":"parallel_task","name":"of far","pid":10000041,)"), 1u);
  const std::string lanes = written([&](ByteSink &out) { write_speedscope(*trace, out); });
  EXPECT_EQ(occurrences(lanes, "of near (task)"), 1u);
  EXPECT_EQ(occurrences(lanes, "of far (task)"), 1u);
}

// Ticks of two processes say nothing about which task began first.
TEST(AMergedTraceOfEqualNumbers, HasTasksInTheOrderOfTheirTimes) {
  const Ref<Trace> slow = make_object<Trace>(recorded_run("slow", "/slow.so", 3));  // its task begins at 6000 ns
  const Ref<Trace> fast = make_object<Trace>(recorded_run("fast", "/fast.so", 0.5));
  const Trace *traces[] = {slow.get(), fast.get()};
  EXPECT_EQ(column_texts(report_of_tasks(*merge_traces(traces, {})), "Name"), "fast | slow | ");
}

}  // namespace
}  // namespace opd
