// Each form of a trace with events of all kinds, as a whole.
#include "support/full_trace.h"

#include <gtest/gtest.h>

#include "support/shown_report.h"
#include "trace_formats/memory_timeline_page.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

Ref<Trace> trace() { return make_object<Trace>(full_trace()); }
template <class Write>
std::string form_of(const Write &write) {
  StringSink sink;
  write(*trace(), sink);
  return sink.take();
}

// Unix time 0 is the origin, so times are those of full_trace() in µs. A device is a process with the number 0.
TEST(FullTrace, IsWrittenInChromesForm) {
  EXPECT_EQ(
      form_of([](const Trace &of, ByteSink &out) { write_chrome_trace(of, R"({"model":"m"} )", out); }),
      R"x({"schemaVersion":1,"deviceProperties":[],"model":"m","opdyno_dropped_calls":2,"opdyno_device_clocks":[{"pid":41,"device":"opencl:0","method":"bracketed events","error_ns":100,"offset_ns":-500,"drift_ppm":null,"drift_error_ppm":null}],"displayTimeUnit":"ms","baseTimeNanoseconds":0,"traceEvents":[
{"ph":"M","name":"process_name","pid":41,"tid":0,"ts":1.000,"args":{"name":"server"}},
{"ph":"M","name":"process_labels","pid":41,"tid":0,"ts":1.000,"args":{"labels":"CPU"}},
{"ph":"M","name":"process_sort_index","pid":41,"tid":0,"ts":1.000,"args":{"sort_index":41}},
{"ph":"M","name":"thread_name","pid":41,"tid":7,"ts":1.000,"args":{"name":"thread 7 (main)"}},
{"ph":"M","name":"thread_sort_index","pid":41,"tid":7,"ts":1.000,"args":{"sort_index":7}},
{"ph":"M","name":"thread_name","pid":41,"tid":8,"ts":1.000,"args":{"name":"thread 8 (worker)"}},
{"ph":"M","name":"thread_sort_index","pid":41,"tid":8,"ts":1.000,"args":{"sort_index":8}},
{"ph":"X","cat":"user_annotation","name":"run 0","pid":41,"tid":7,"ts":2.000,"dur":8.000,"args":{"External id":1,"Record function id":0,"Ev Idx":0,"Run":0,"Call stack":"a.py(12): serve;"}},
{"ph":"X","cat":"user_annotation","name":"main","pid":41,"tid":7,"ts":2.000,"dur":8.000,"args":{"External id":2,"Record function id":0,"Ev Idx":1,"Run":0,"Call stack":"a.py(12): serve;"}},
{"ph":"i","s":"t","cat":"user_annotation","name":"moment","pid":41,"tid":7,"ts":3.500,"args":{"Call stack":"a.py(13): serve;"}},
{"ph":"X","cat":"user_annotation","name":"outer","pid":41,"tid":7,"ts":1.500,"dur":9.000,"args":{"External id":3,"Record function id":0,"Ev Idx":2,"Call stack":"a.py(12): serve;"}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":41,"tid":7,"ts":1.000,"dur":10.000,"args":{"External id":4,"Record function id":0,"Ev Idx":3}},
{"ph":"X","cat":"cpu_op","name":"conv","pid":41,"tid":7,"ts":3.000,"dur":2.000,"args":{"External id":5,"Record function id":0,"Ev Idx":4,"Device":"opencl:0","Run":0,"Instruction":4,"Depth":1,"Error":"no \"luck\"","Call stack":"a.py(12): serve;","Input Dims":[[2,3],[]],"Input type":["float32","int64"]}},
{"ph":"X","cat":"cpu_op","name":"add","pid":41,"tid":7,"ts":7.000,"dur":0.500,"args":{"External id":6,"Record function id":0,"Ev Idx":5,"Device":"cpu:0","Run":0,"Depth":0,"Call stack":"a.py(12): serve;","Input Dims":[],"Input type":[]}},
{"ph":"X","cat":"parallel_task","name":"conv","pid":41,"tid":7,"ts":3.300,"dur":0.600,"args":{"Ev Idx":6,"Loop":1,"Task":0,"Tasks":2,"Run":0}},
{"ph":"X","cat":"user_annotation","name":"open","pid":41,"tid":8,"ts":9.000,"dur":3.000,"args":{"External id":8,"Record function id":0,"Ev Idx":7,"Open":1}},
{"ph":"X","cat":"parallel_task","name":"conv","pid":41,"tid":8,"ts":3.300,"dur":0.500,"args":{"Ev Idx":8,"Loop":1,"Task":1,"Tasks":2,"Run":0}},
{"ph":"M","name":"thread_name","pid":0,"tid":0,"ts":1.000,"args":{"name":"stream 0"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":0,"ts":1.000,"args":{"sort_index":0}},
{"ph":"X","cat":"cuda_runtime","name":"launch","pid":41,"tid":7,"ts":4.000,"dur":0.010,"args":{"Ev Idx":9,"External id":5,"correlation":1,"Run":0}},
{"ph":"s","id":1,"pid":41,"tid":7,"ts":4.000,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"conv_kernel","pid":0,"tid":0,"ts":4.500,"dur":1.000,"args":{"Ev Idx":10,"device":0,"stream":0,"External id":5,"correlation":1,"Run":0}},
{"ph":"f","id":1,"pid":0,"tid":0,"ts":4.500,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"cuda_runtime","name":"fill","pid":41,"tid":7,"ts":7.200,"dur":0.005,"args":{"Ev Idx":11,"External id":6,"correlation":2,"Run":0}},
{"ph":"s","id":2,"pid":41,"tid":7,"ts":7.200,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"gpu_memset","name":"fill","pid":0,"tid":0,"ts":8.300,"dur":0.010,"args":{"Ev Idx":12,"device":0,"stream":0,"External id":6,"correlation":2,"Run":0,"bytes":16}},
{"ph":"f","id":2,"pid":0,"tid":0,"ts":8.300,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"cuda_runtime","name":"launch","pid":41,"tid":7,"ts":10.800,"dur":0.010,"args":{"Ev Idx":13,"External id":4,"correlation":3}},
{"ph":"s","id":3,"pid":41,"tid":7,"ts":10.800,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"late","pid":0,"tid":0,"ts":11.500,"dur":0.100,"args":{"Ev Idx":14,"device":0,"stream":0,"External id":4,"correlation":3}},
{"ph":"f","id":3,"pid":0,"tid":0,"ts":11.500,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"M","name":"thread_name","pid":0,"tid":2,"ts":1.000,"args":{"name":"stream 2"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":2,"ts":1.000,"args":{"sort_index":2}},
{"ph":"X","cat":"cuda_runtime","name":"copy","pid":41,"tid":7,"ts":7.100,"dur":0.020,"args":{"Ev Idx":15,"External id":6,"correlation":4,"Run":0}},
{"ph":"s","id":4,"pid":41,"tid":7,"ts":7.100,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":2,"ts":8.000,"dur":0.250,"args":{"Ev Idx":16,"device":0,"stream":2,"External id":6,"correlation":4,"Run":0,"bytes":256}},
{"ph":"f","id":4,"pid":0,"tid":2,"ts":8.000,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"M","name":"thread_name","pid":0,"tid":65535,"ts":1.000,"args":{"name":"overhead"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":65535,"ts":1.000,"args":{"sort_index":65535}},
{"ph":"X","cat":"overhead","name":"flush","pid":0,"tid":65535,"ts":8.400,"dur":0.100,"args":{"Ev Idx":17,"device":0,"stream":65535,"External id":0,"correlation":5}},
{"ph":"M","name":"process_name","pid":0,"tid":0,"ts":1.000,"args":{"name":"opencl:0"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"ts":1.000,"args":{"labels":"opencl:0"}},
{"ph":"M","name":"process_sort_index","pid":0,"tid":0,"ts":1.000,"args":{"sort_index":1000000000}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":41,"tid":7,"ts":3.100,"args":{"Total Reserved":200,"Total Allocated":164,"Bytes":64,"Device Id":-1,"Device Type":0,"Addr":1,"finished":true,"Ev Idx":18,"Use":"parameter"}},
{"ph":"C","name":"Memory of cpu:0","pid":41,"tid":0,"ts":3.100,"args":{"Allocated":164,"Reserved":200}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":41,"tid":7,"ts":3.200,"args":{"Total Reserved":64,"Total Allocated":32,"Bytes":32,"Device Id":0,"Device Type":4,"Addr":2,"finished":true,"Ev Idx":19}},
{"ph":"C","name":"Memory of opencl:0","pid":41,"tid":0,"ts":3.200,"args":{"Allocated":32,"Reserved":64}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":41,"tid":7,"ts":6.000,"args":{"Total Reserved":200,"Total Allocated":100,"Bytes":-64,"Device Id":-1,"Device Type":0,"Addr":1,"finished":true,"Ev Idx":20}},
{"ph":"C","name":"Memory of cpu:0","pid":41,"tid":0,"ts":6.000,"args":{"Allocated":100,"Reserved":200}},
{"ph":"C","name":"Power (W)","pid":41,"tid":0,"ts":3.600,"args":{"value":12.5}}
],"traceName":"opdyno"}
)x");
}

TEST(FullTrace, IsWrittenInSpeedscopesForm) {
  EXPECT_EQ(
      form_of(write_speedscope),
      R"x({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"opdyno","name":"server, dropped events: 2","activeProfileIndex":0,"profiles":[
{"type":"evented","unit":"nanoseconds","name":"thread 7 (main)","startValue":0,"endValue":10000,"events":[
{"type":"O","frame":0,"at":0},
{"type":"O","frame":1,"at":500},
{"type":"O","frame":2,"at":500},
{"type":"O","frame":3,"at":1000},
{"type":"O","frame":4,"at":2000},
{"type":"O","frame":5,"at":2300},
{"type":"O","frame":6,"at":2500},
{"type":"C","frame":6,"at":2500},
{"type":"C","frame":5,"at":2900},
{"type":"C","frame":4,"at":4000},
{"type":"O","frame":7,"at":6000},
{"type":"C","frame":7,"at":6500},
{"type":"C","frame":3,"at":9000},
{"type":"C","frame":2,"at":9500},
{"type":"C","frame":1,"at":9500},
{"type":"C","frame":0,"at":10000}
]},
{"type":"evented","unit":"nanoseconds","name":"thread 8 (worker)","startValue":0,"endValue":11000,"events":[
{"type":"O","frame":5,"at":2300},
{"type":"C","frame":5,"at":2800},
{"type":"O","frame":8,"at":8000},
{"type":"C","frame":8,"at":11000}
]},
{"type":"evented","unit":"nanoseconds","name":"opencl:0, default stream","startValue":0,"endValue":10600,"events":[
{"type":"O","frame":9,"at":3500},
{"type":"C","frame":9,"at":4500},
{"type":"O","frame":10,"at":7300},
{"type":"C","frame":10,"at":7310},
{"type":"O","frame":11,"at":10500},
{"type":"C","frame":11,"at":10600}
]},
{"type":"evented","unit":"nanoseconds","name":"opencl:0, stream 2","startValue":0,"endValue":7250,"events":[
{"type":"O","frame":12,"at":7000},
{"type":"C","frame":12,"at":7250}
]},
{"type":"evented","unit":"nanoseconds","name":"opencl:0, overhead","startValue":0,"endValue":7500,"events":[
{"type":"O","frame":13,"at":7400},
{"type":"C","frame":13,"at":7500}
]}],"shared":{"frames":[
{"name":"ProfilerStep#3"},
{"name":"serve","file":"a.py","line":12},
{"name":"outer"},
{"name":"main"},
{"name":"conv"},
{"name":"conv (task)"},
{"name":"moment"},
{"name":"add"},
{"name":"open"},
{"name":"conv_kernel"},
{"name":"fill"},
{"name":"late"},
{"name":"copy"},
{"name":"flush"}
]}}
)x");
}

TEST(FullTrace, IsWrittenAsLinesOfStacks) {
  const auto lines = [](bool per_event, bool of_devices) {
    return form_of([&](const Trace &of, ByteSink &out) { write_stacks(of, per_event, of_devices, out); });
  };
  EXPECT_EQ(lines(false, false), R"(ProfilerStep* 1
ProfilerStep*;a.py(12):_serve;outer 1
ProfilerStep*;a.py(12):_serve;outer;main 6
ProfilerStep*;a.py(12):_serve;outer;main;conv 2
ProfilerStep*;a.py(12):_serve;outer;main;add 1
open 3
)");
  EXPECT_EQ(lines(false, true), R"(ProfilerStep* 1
ProfilerStep*;a.py(12):_serve;outer;main;conv 1
ProfilerStep*;a.py(12):_serve;outer;main;add 1
)");
  EXPECT_EQ(lines(true, false), R"(ProfilerStep#3 1
ProfilerStep#3;a.py(12):_serve;outer 1
ProfilerStep#3;a.py(12):_serve;outer;main 5
ProfilerStep#3;a.py(12):_serve;outer;main;conv 2
open 3
)");
  EXPECT_EQ(lines(true, true), R"(ProfilerStep#3;a.py(12):_serve;outer;main;conv 1
)");
}

// Words are one space apart here.
TEST(FullTrace, IsWrittenAsATableOfItsSpans) {
  TraceTableOptions options;
  options.rows.each_span = true;
  std::string table = trace_table(*trace(), options);
  const auto is_gap = [](char a, char b) { return a == ' ' && b == ' '; };
  table.erase(std::unique(table.begin(), table.end(), is_gap), table.end());
  for (size_t at = 0; (at = table.find(" \n", at)) != std::string::npos;) table.erase(at, 1);
  EXPECT_TRUE(table.starts_with("Dropped events: 2\n")) << "before the numbers, from which they are missing";
  table = table.substr(table.find("Name"));
  EXPECT_EQ(
      table,
      R"(Name Self CPU % Self CPU CPU total % CPU total CPU time avg Self OPENCL Self OPENCL % OPENCL total OPENCL time avg CPU Mem Self CPU Mem OPENCL Mem Self OPENCL Mem # of Calls Input Shapes Source Location
----------------- ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ---------------- -------------------
 ProfilerStep* 7.69% 1.000us 76.92% 10.000us 10.000us 0.100us 7.35% 1.360us 1.360us 0 B 0 B 32 B 0 B 1 []

 outer 7.69% 1.000us 69.23% 9.000us 9.000us 0.000us 0.00% 1.260us 1.260us 0 B 0 B 32 B 0 B 1 [] a.py(12): serve

 main 42.31% 5.500us 61.54% 8.000us 8.000us 0.000us 0.00% 1.260us 1.260us 0 B -64 B 32 B 0 B 1 [] a.py(12): serve

 conv 15.38% 2.000us 15.38% 2.000us 2.000us 1.000us 73.53% 1.000us 1.000us 64 B 64 B 32 B 32 B 1 [[2, 3], []] a.py(12): serve

 moment 0.00% 0.000us 0.00% 0.000us 0.000us 0.000us 0.00% 0.000us 0.000us 0 B 0 B 0 B 0 B 1 [] a.py(13): serve

 conv_kernel 0.00% 0.000us 0.00% 0.000us 0.000us 1.000us 73.53% 1.000us 1.000us 0 B 0 B 0 B 0 B 1 []

 add 3.85% 0.500us 3.85% 0.500us 0.500us 0.260us 19.12% 0.260us 0.260us 0 B 0 B 0 B 0 B 1 [] a.py(12): serve

 copy 0.00% 0.000us 0.00% 0.000us 0.000us 0.250us 18.38% 0.250us 0.250us 0 B 0 B 0 B 0 B 1 []

 fill 0.00% 0.000us 0.00% 0.000us 0.000us 0.010us 0.74% 0.010us 0.010us 0 B 0 B 0 B 0 B 1 []

 open 23.08% 3.000us 23.08% 3.000us 3.000us 0.000us 0.00% 0.000us 0.000us 0 B 0 B 0 B 0 B 1 []

 late 0.00% 0.000us 0.00% 0.000us 0.000us 0.100us 7.35% 0.100us 0.100us 0 B 0 B 0 B 0 B 1 []

----------------- ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ------------ ---------------- -------------------
Self CPU time total: 13.000us
Self OPENCL time total: 1.360us
)");
}

TEST(FullTrace, GivesAReportOfItsEvents) {
  EXPECT_EQ(
      shown_report(*report_of_events(*trace())),
      R"(Name|Duration (us)|Percent|Device|Count|Argument Shapes|Self (us)|Kind|Device Duration (us)|Self Device Duration (us)|Memory (bytes)|Self Memory (bytes)|Device Memory (bytes)|Self Device Memory (bytes)|Start (us)|Thread ID|Thread|Depth|Step|Stack|Parent|Error|Stream|Launch Thread ID|Launch Gap (us)|Launched In|Bytes|Open|
ProfilerStep*|10|76.923|cpu0|1||1|step|1.36|0.1|0|0|32|0|0|7|main|0|3|-|-|-|-|-|-|-|-|-|
outer|9|69.231|cpu0|1||1|range|1.26|0|0|0|32|0|0.5|7|main|1|-|a.py(12): serve;|0|-|-|-|-|-|-|-|
main|8|61.538|cpu0|1||5.5|run|1.26|0|0|-64|32|0|1|7|main|2|-|a.py(12): serve;|1|-|-|-|-|-|-|-|
conv|2|15.385|opencl0|1|float32[2, 3], int64[]|2|call|1|1|64|64|32|32|2|7|main|3|-|a.py(12): serve;|2|no "luck"|-|-|-|-|-|-|
moment|0|0|cpu0|1||0|mark|0|0|0|0|0|0|2.5|7|main|4|-|a.py(13): serve;|3|-|-|-|-|-|-|-|
conv_kernel|0|0|opencl0|1||0|device|1|1|-|-|-|-|3.5|8388608|opencl:0, default stream|0|-|-|-|-|0|7|0.49|3|-|-|
add|0.5|3.846|cpu0|1||0.5|call|0.26|0.26|0|0|0|0|6|7|main|3|-|a.py(12): serve;|2|-|-|-|-|-|-|-|
copy|0|0|opencl0|1||0|device|0.25|0.25|-|-|-|-|7|8388609|opencl:0, stream 2|0|-|-|-|-|2|7|0.88|6|256|-|
fill|0|0|opencl0|1||0|device|0.01|0.01|-|-|-|-|7.3|8388608|opencl:0, default stream|0|-|-|-|-|0|7|1.095|6|16|-|
flush|0|0|opencl0|1||0|device|0.1|0.1|-|-|-|-|7.4|8388610|opencl:0, overhead|0|-|-|-|-|65535|7|0|-|-|-|
open|3|23.077|cpu0|1||3|range|-|-|0|0|0|0|8|8|worker|0|-|-|-|-|-|-|-|-|-|1|
late|0|0|opencl0|1||0|device|0.1|0.1|-|-|-|-|10.5|8388608|opencl:0, default stream|0|-|-|-|-|0|7|0.69|0|-|-|
Dropped calls: 2
Device clock error: opencl0 (us): 0.1
Device clock: opencl0: bracketed events, error 100 ns, offset -500 ns, drift not known
)");
}

TEST(FullTrace, GivesAReportOfItsAverages) {
  KeyAverageOptions options;
  options.by_shape = true, options.stack_depth = 2;
  EXPECT_EQ(
      shown_report(*report_of_averages(*trace(), options)),
      R"(Name|Duration (us)|Percent|Device|Count|Argument Shapes|Self (us)|Kind|Device Duration (us)|Self Device Duration (us)|Memory (bytes)|Self Memory (bytes)|Device Memory (bytes)|Self Device Memory (bytes)|Stack|
ProfilerStep*|10|76.923|cpu0|1||1|step|1.36|0.1|0|0|32|0|-|
outer|9|69.231|cpu0|1||1|range|1.26|0|0|0|32|0|a.py(12): serve;|
main|8|61.538|cpu0|1||5.5|run|1.26|0|0|-64|32|0|a.py(12): serve;|
conv|2|15.385|opencl0|1|float32[2, 3], int64[]|2|call|1|1|64|64|32|32|a.py(12): serve;|
conv_kernel|0|0|opencl0|1||0|device|1|1|0|0|0|0|-|
add|0.5|3.846|cpu0|1||0.5|call|0.26|0.26|0|0|0|0|a.py(12): serve;|
copy|0|0|opencl0|1||0|device|0.25|0.25|0|0|0|0|-|
fill|0|0|opencl0|1||0|device|0.01|0.01|0|0|0|0|-|
open|3|23.077|cpu0|1||3|range|0|0|0|0|0|0|-|
late|0|0|opencl0|1||0|device|0.1|0.1|0|0|0|0|-|
Dropped calls: 2
Device clock error: opencl0 (us): 0.1
Device clock: opencl0: bracketed events, error 100 ns, offset -500 ns, drift not known
)");
}

TEST(FullTrace, GivesAReportOfItsTasks) {
  EXPECT_EQ(shown_report(*report_of_tasks(*trace())),
            R"(Name|Duration (us)|Start (us)|Wait (us)|Loop|Task|Tasks|Thread ID|Thread|
conv|0.6|2.3|0|1|0|2|7|main|
conv|0.5|2.3|0.1|1|1|2|8|worker|
)");
}

TEST(FullTrace, GivesAReportOfItsPaths) {
  EXPECT_EQ(shown_report(*report_of_paths(*trace(), false)),
            R"(Name|Duration (us)|Percent|Device|Count|Argument Shapes|Self (us)|Kind|Depth|Parent|
ProfilerStep*|10|76.923||1||1|step|0|-|
ProfilerStep*;outer|9|69.231||1||1|range|1|0|
ProfilerStep*;outer;main|8|61.538||1||5.5|run|2|1|
ProfilerStep*;outer;main;conv|2|15.385||1||2|call|3|2|
ProfilerStep*;outer;main;add|0.5|3.846||1||0.5|call|3|2|
open|3|23.077||1||3|range|0|-|
Dropped calls: 2
Device clock error: opencl0 (us): 0.1
Device clock: opencl0: bracketed events, error 100 ns, offset -500 ns, drift not known
)");
}

// 100 bytes were in use before. The block of 64 came and went within the run, and its call allocated it.
TEST(FullTrace, IsWrittenAsAPageOfItsMemory) {
  std::string page = form_of([](const Trace &of, ByteSink &out) { write_memory_timeline_html(of, "cpu:0", out); });
  for (const std::string_view part : {kTimelineStyle, kTimelineScript}) page.replace(page.find(part), part.size(), "…");
  EXPECT_EQ(page, R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>opdyno memory timeline</title>
<style>…</style></head><body>
<h1>What took the memory of cpu:0</h1>
<p class="soft">Peak: 164 bytes. At the end: 100 bytes. Allocations: 1. Events that found no room and are missing: 2.</p>
<p id="legend"></p>
<div id="chart"><canvas tabindex="0" role="img" aria-label="Bytes in use over time, by category"></canvas><div id="tip" hidden></div></div>
<p class="soft">Point at a moment to see it; click to keep it; drag to enlarge, double click for all. <button id="peak" type="button">Peak</button></p>
<h2 id="when">No block came or went</h2>
<div class="scroll"><table><thead><tr><th>Size</th><th class="text">Category</th><th class="text">Allocated or written by</th><th>From</th><th>To</th></tr></thead><tbody></tbody></table></div>
<p class="soft" id="rest"></p>
<script>const data={categories:{0:"parameter",1:"cache",2:"input",3:"temporary",4:"activation",7:"from before the recording"},peak:164,rows:[
[0,[0,0,0,0,0,100],-1,0],
[0.000,[64,0,0,0,0,100],0,64],
[2.900,[0,0,0,0,0,100],0,-64]],
blocks:[
[-1,-1,100,7,-1],
[0.000,2.900,64,0,0]],
names:["conv"]};…</script></body></html>
)");
}

}  // namespace
}  // namespace opd
