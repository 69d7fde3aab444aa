// The table of commands and options.
#include <algorithm>
#include <span>

#include "cli/commands/command.h"

namespace opd::cli {

namespace {

// ---- options that several commands have; help is in all

constexpr Option help = {"help", 'h', "", "show this help"};
// A macro, because only literals can be joined to literals.
#define OPD_ANOTHER_MACHINE                                                          \
  "another machine: HOST:PORT or tracker=HOST:PORT, then [,key=K][,secret-file=F], " \
  "and for TLS [,tls-ca=F] [,tls-fingerprint=HASH] [,tls-name=NAME] without spaces"
constexpr Option on[] = {{"on", 0, "MACHINE", "run on " OPD_ANOTHER_MACHINE}};
constexpr Option json[] = {{"json", 0, "", "print JSON"}};
constexpr Option csv[] = {{"csv", 0, "", "print CSV"}};
constexpr Option import_ = {"import", 0, "FILE", "add a module with kernels: a shared library, objects or C source",
                            true};
constexpr Option c_flags = {"c-flags", 0, "FLAGS", "compiler flags for C sources; -O2"};
constexpr Option modules[] = {
    import_,
    c_flags,
    {"copy", 0, "WHEN", "load libraries from a private copy: always, when-shared, never (for perf and gdb)"}};
constexpr Option inputs[] = {{"input", 'i', "SPEC", "an argument, in order or as NAME:SPEC; see above", true},
                             {"params", 0, "FILE", "bind the file's tensors to the parameters of their names", true},
                             {"dim", 0, "NAME=SIZE", "a size that the program leaves open", true},
                             {"seed", 0, "N", "seed of random inputs; 0"}};
constexpr Option places[] = {{"device", 0, "DEVICE", "where to run; cpu:0"},
                             {"allocator", 0, "KIND", "pooled or naive; pooled"},
                             {"memory-limit", 0, "SIZE", "most memory that the program's tensors may take, as 512M"}};
constexpr Option limits[] = {{"threads", 0, "N", "threads of parallel kernels"},
                             {"timeout", 0, "TIME", "end with exit code 4 after 250ms, 5s or 2m"}};
constexpr Option language[] = {
    {"prefill", 0, "N", "drive a language model: compute prompts of N tokens; 128. See above"},
    {"decode", 0, "N", "drive a language model: decode N tokens after the prompts; 32"},
    {"batch", 0, "N", "sequences of a language model at once; 1"},
    {"create-function", 0, "NAME", "the function that makes the model's KV cache", true},
    {"embed-function", 0, "NAME", "the function that embeds tokens"},
    {"prefill-function", 0, "NAME", "the function that computes prompts"},
    {"decode-function", 0, "NAME", "the function that decodes a token of each sequence"}};
constexpr Option summary[] = {{"top", 0, "N", "show only the N slowest operators; on a terminal 10, in a pipe all"},
                              {"wide", 0, "", "show the whole table on a terminal, too, as it goes into a pipe"}};
constexpr Option sorting[] = {{"sort", 0, "", "longest operators first (the default)"},
                              {"no-sort", 0, "", "operators in the order of the program"},
                              {"no-aggregate", 0, "", "one row per call"},
                              {"no-sums", 0, "", "no row of sums"}};
constexpr Option check_bounds = {"check-bounds", 0, "",
                                 "find kernels that touch memory outside their tensors: each call of one runs three "
                                 "times. Exit code 1 names the kernel and the tensor"};
constexpr Option trace_form = {"form", 0, "FORM", "the form of the file, whatever its suffix"};
constexpr Option fail_above = {"fail-above", 0, "SHARE", "exit with 1 if something is slower by more, as 3%"};
constexpr Option min_effect = {"min-effect", 0, "SHARE", "changes that do not matter; 1%"};
constexpr Option changes[] = {
    fail_above,
    min_effect,
    {"min-share", 0, "SHARE", "operators that take less of the time do not fail, though the total may; 1%"}};

// ---- options of one command

constexpr Option of_info[] = {
    {"on", 0, "MACHINE", "show the devices of " OPD_ANOTHER_MACHINE},
    {"functions", 0, "", "list the global functions, too"},
    {"measure", 0, "", "measure the processors' arithmetic and memory bandwidth"},
    {"collectors", 0, "", "show which collectors work on this machine, and why others do not"}};
constexpr Option of_doctor[] = {{"require", 0, "NAME", "exit with 1 unless this check is ok", true},
                                {"within", 0, "TIME", "wait so long for drivers, compilers and Python at most; 800ms"}};
constexpr Option of_inspect[] = {
    {"tree", 0, "", "the modules and what they import, a line each"},
    {"signatures", 0, "", "the functions with their parameters and results, as far as known"},
    {"sizes", 0, "", "how many bytes files, sections and functions take"},
    {"disasm", 0, "", "the VM program as assembly; with --json as \"disassembly\""},
    {"verify", 0, "", "check it; with --json as \"verification\". Exit code 1 if it is damaged, with the place"},
    {"load", 0, "", "load it as run does: its initialisers run, sources are compiled, objects linked"}};
constexpr Option of_run[] = {
    {"output", 'o', "FILE",
     "write the results to a .npz, .safetensors or .params file: out, or out_0, out_0_1 for tuples"},
    {"out-arg", 0, "K", "of a plain function: argument K (from 0; -1 is the last) is a result", true},
    {"expect", 0, "FILE[:PREFIX]",
     "compare the results with the tensors of a file, as -o writes it; with a prefix, its keys PREFIX/out…"},
    {"rtol", 0, "X", "tolerance of --expect relative to the expected number; 1e-5"},
    {"atol", 0, "X",
     "tolerance of --expect in absolute terms; 1e-6. Integers are compared exactly unless one is given"},
    {"equal-nan", 0, "", "let --expect take NaN as equal to NaN"},
    {"full", 0, "", "print all elements at full precision"},
    check_bounds,
    {"record", 0, "FILE.opdrec", "keep the call in a file for opdyno replay"},
    {"with-paths", 0, "", "let --record keep paths and the machine's name, too"},
    {"with-outputs", 0, "", "let --record keep the result's elements, not only its hash"},
    {"with-operators", 0, "",
     "let --record keep a hash of the values after each operator, so that replay names the first one that differs"},
    {"without-program", 0, "", "let --record keep only hashes of the program; replay then needs --with"}};
constexpr Option of_bench[] = {
    {"repeat", 0, "N", "measured repeats; 10"},
    {"number", 0, "N", "calls per repeat; 1"},
    {"min-repeat-ms", 0, "MS", "raise the calls per repeat until one lasts this long; 10"},
    {"warmup", 0, "WHAT",
     "calls that are not measured: so many, or steady or steady:TIME, until their times do not change any more; "
     "steady:3s"},
    {"concurrency", 0, "N", "threads that call at once; 1"},
    {"flush-cache", 0, "SIZE",
     "measure single calls with cold caches: copy so much before each; as much as the last-level cache holds", false,
     true},
    {"sweep", 0, "NAME=SIZES",
     "measure for each of the sizes that the program leaves open, as n=1,8,64 or n=16:64:16 or n=1:64:x2; of several "
     "names, for each combination",
     true},
    {"copies", 0, "SIZES",
     "measure no module, but copies of so many bytes from the host to the device, back, and on it; 4K,1M,64M", false,
     true}};
constexpr Option bench_base[] = {
    {"compare", 0, "FILE", "compare with what --json printed before, of the same function, sizes, threads and caches"},
    fail_above,
    min_effect};
constexpr Option of_profile[] = {
    {"repeat", 0, "N",
     "exactly N measured calls. Without it, and without --runs, --turn and --warmup 0, calls are repeated until the "
     "slowest operator and its share are stable"},
    {"budget", 0, "TIME", "time limit of these calls; 10s, or half of --timeout"},
    {"warmup", 0, "N",
     "calls before the measured ones; 1. With 0 the first call is measured, with the pages that it touches and the "
     "memory that later ones keep"},
    {"runs", 0, "N",
     "measure N runs, each with its warm-up; -o and --json then write a report a line, the rest shows the last one; 1"},
    {"turn", 0, "N",
     "this is the N-th run (with --runs: N is the first): opdyno diff compares runs of one turn as pairs"},
    {"collector", 0, "NAME",
     "measure more of each call: time, memory, perf, papi, energy, nvml, device; perf:EVENT,…, papi:EVENT,… and "
     "device:METRIC,… count these events. See info --collectors",
     true}};
constexpr Option profile_outputs[] = {
    {"builtins", 0, "WHICH",
     "calls of the VM's builtins that are rows: with_tensors, all, or folded into one row; with_tensors"},
    {"details", 0, "", "columns for the start, thread, run and call path of each call"},
    {"roofline", 0, "", "measure the peaks of the machine, and how near each operator comes to them"},
    {"output", 'o', "FILE", "write the report, in the form of the suffix: .html, .csv, .md, .txt, else JSON"},
    {"csv", 0, "FILE", "write the report's calls as CSV; - prints them"},
    {"chrome", 0, "FILE", "write the calls on a time line, for Perfetto or chrome://tracing"},
    {"view", 0, "FILE", "write a page with time line, flame graph and operators: .html"},
    {"flame", 0, "FILE", "write a flame graph: .svg"}};
constexpr Option of_replay[] = {
    {"info", 0, "", "show the contents of the file, and call nothing"},
    {"with", 0, "MOD", "run this program instead of the recorded one"},
    {"device", 0, "DEVICE", "make the call on this device instead of the recorded one"},
    {"profile", 0, "", "measure each operator of the call, too"},
    check_bounds,
    {"minimise", 0, "FILE",
     "keep the one operator that fails, ends the process, or is the first that differs, as a smaller recording"},
    {"rtol", 0, "X", "relative tolerance of elements that were kept; as float16=1e-2,float32=1e-5 by dtype"},
    {"atol", 0, "X", "the same in absolute terms"}};
constexpr Option of_record[] = {
    {"seconds", 0, "TIME", "how long it records: 10, 500ms, 2m; 10. Ctrl-C ends it earlier"},
    {"memory", 0, "", "also each block of memory that tensors and kernels get, or give back"},
    trace_form,
    {"max-events", 0, "N", "calls and ranges of each thread that are kept; 1048576"},
    {"output", 'o', "FILE", "the file to write; trace.json.gz"}};
constexpr Option of_top[] = {{"interval", 0, "TIME", "time between two tables: 1, 500ms, 2m; 1"},
                             {"once", 0, "", "show one table and end"}};
constexpr Option of_trace[] = {
    {"output", 'o', "FILE", "the file to write"},
    trace_form,
    {"label", 0, "NAME", "merge: the name of a process, in the order of the files", true},
    {"sort", 0, "KEY", "table: the largest first, by self (so on a terminal), total, mean or calls"}};
constexpr Option of_serve[] = {
    {"listen", 0, "HOST:PORT", "where clients connect; 127.0.0.1:9090, which only this machine reaches"},
    {"key", 0, "NAME", "the key that clients must send, which is also the name at the tracker"},
    {"secret-file", 0, "FILE", "a secret that clients must prove to know; opdyno's can, TVM's cannot"},
    {"tls-cert", 0, "FILE", "go through TLS with this certificate (PEM); opdyno's clients can, TVM's cannot"},
    {"tls-key", 0, "FILE", "the certificate's private key (PEM)"},
    {"allow-anyone", 0, "", "let other machines' clients in without a secret"},
    {"tracker", 0, "HOST:PORT", "a tracker of TVM's that hands this server out to one client at a time"},
    {"sessions", 0, "N", "most clients at once; 16, with a tracker 1"},
    {"memory-limit", 0, "SIZE",
     "most memory of the tensors that a client makes, as 512M; its process gets 256M and 8M for each processor more; "
     "without it, the process gets three quarters of the machine's"},
    {"cpu-limit", 0, "TIME", "end a session that used so much CPU time, in whole seconds"},
    {"session-limit", 0, "TIME", "end a session after that time, whatever it does"},
    {"file-limit", 0, "SIZE", "most bytes of a client's files; 2G; all that its session writes may take 256M more"},
    {"timeout", 0, "TIME", "end a session if its client sends no request for so long, as 5m"},
    {"allow-read", 0, "PATH", "a further file or directory that sessions may read and execute", true},
    {"allow-network", 0, "", "let sessions open connections"},
    {"allow-modules", 0, "FILE", "load only modules whose SHA-256 is in the file, as sha256sum prints them"},
    {"user", 0, "NAME", "run sessions as this user, if the server is root's"},
    {"no-sandbox", 0, "", "let sessions do all that the user can"},
    {"metrics", 0, "HOST:PORT",
     "where Prometheus finds metrics of the sessions; who reaches the address can read them; else nowhere"},
    {"otlp", 0, "URL",
     "a collector of OpenTelemetry to which metrics and spans of the sessions go, as http://127.0.0.1:4318"}};
constexpr Option of_report[] = {{"as", 0, "FORM", "table, csv, json, markdown or html; table"},
                                {"output", 'o', "FILE", "write to a file; without --as in the form of its suffix"}};
constexpr Option of_diff[] = {
    {"by", 0, "KEY", "of recordings: name, or path, which is the name and those of the spans around it; name"},
    {"flame", 0, "FILE", "of two recordings: write what changed as a flame graph (SVG)"}};
constexpr Option diff_forms[] = {
    {"paired", 0, "", "the runs were made in turns: compare run 1 of A with run 1 of B, and so on"},
    {"as", 0, "FORM", "table, csv, json or markdown; table"}};
constexpr Option of_ab[] = {{"budget", 0, "TIME", "stop after this time, with the warm-up, at the latest; 30s"},
                            {"runs", 0, "N", "stop after N turns of each at the latest"}};
constexpr Option ab_forms[] = {{"as", 0, "FORM", "sentence, table, csv, json or markdown; sentence"}};
constexpr Option of_compare[] = {
    {"b-device", 0, "DEVICE", "where B runs, if not where A does"},
    {"b-params", 0, "FILE",
     "B's own parameters, as --params: of a quantised build, say. It gets A's for the other ones", true},
    {"rtol", 0, "X",
     "tolerance relative to A's number: 1e-4 for all real dtypes, or float16=1e-2,float32=1e-5; float16 1e-3, bfloat16 "
     "1.6e-2, float32 1.3e-6, float64 1e-7, integers 0"},
    {"atol", 0, "X", "tolerance in absolute terms, as --rtol; 1e-5, float64 1e-7, integers 0"},
    {"nan-differs", 0, "", "NaN does not agree with NaN"},
    {"save", 0, "DIR", "write the tensors around the first difference to DIR/a.npz and DIR/b.npz"},
    {"keep", 0, "SIZE",
     "most memory for copies of values; of those beyond it is known only whether they are equal bit for bit; 2G"},
    {"repeat", 0, "N", "measured runs of each program; 20, and 0 measures none"},
    {"as", 0, "FORM", "sentence, table, csv, json, markdown or html; sentence"},
    {"output", 'o', "FILE",
     "write the report of all operators, too, in the form of the suffix: .html, .csv, .md, .txt, else JSON"},
    {"times", 0, "FILE",
     "write the comparison of all operators' times, as opdyno diff gives it, in the form of the suffix"}};
constexpr Option of_dis[] = {{"python", 0, "", "print a Python script that builds the program with TVM instead"},
                             {"output", 'o', "FILE", "write the text to a file"}};
constexpr Option of_export[] = {
    import_,
    {"object", 0, "FILE", "link an object file (.o), an archive of them (.a) or a C source (.c) in", true},
    c_flags};

constexpr std::string_view inspect_text =
    R"(MOD is a shared library (.so), objects (.o, .a, .tar), VM executable (.vmexec), VM assembly (.opdasm) or C source (.c).
Without --tree, --signatures, --disasm, --sizes and --verify an overview is shown, else these parts. --json always
has all of the tree, the signatures and the sizes.

What --verify says of each module: ok; open, where something is needed that is not there (--import may give it); warning;
damaged, with the section, function or offset concerned.

MOD is read, and nothing of it runs: an untrusted file can be looked at. What only code can tell needs --load: whether a
library's dependencies are there, and which functions a C source has whose names macros put together.)";

constexpr std::string_view diff_text =
    R"(A and B are reports: JSON as `profile -o` writes it, files of one report a line (profile --runs), directories of such
files, or several with commas between. Each report is one run, in the order in time. To
compare two programs without files, use `opdyno ab`.

A and B may also be files of recordings (profile(file=…)). Then each step of a schedule is a run; without steps each
outermost run of a program, and without these each outermost range.

The table shows what changes the total most. On a terminal it ends with the total and a sentence. The sums of each operator per run are compared by a rank
test, which allows for runs that resemble their neighbours and for the number of operators. Verdicts: same, regression,
improvement, undecided (the data cannot tell), new, vanished; the row (replaced) compares all new operators with all
that vanished. --fail-above looks at the total, and at operators that take at least --min-share of it; the exit code is
2 if a side has no runs. At least 4 runs on each side are needed (6 pairs with --paired); smaller changes need more.)";

constexpr std::string_view ab_text =
    R"(A and B are two builds of a program (or of a plain function FN), as MOD of `opdyno run`. Each runs in a process of
its own, both get the same inputs, and they are measured in turns until the verdict is clear or --budget is spent. One
sentence says which is faster, what changed and whether something got slower; the interval of the total stands behind
the ±. Differences are tested as `opdyno diff` does for pairs of runs, at a level that allows for every look at the data.)";

constexpr std::string_view compare_text =
    R"(A and B are two builds of a program, as MOD of `opdyno run`: by another compiler, for another target, in another
precision, with a changed kernel. Each runs once, from a private copy and on the same inputs, and what its operators read
and write is compared. A sentence says where the programs part first, and which operator caused it: its inputs agree, its
output does not. Then it is said whose operators became slower. Inputs are those of A; B gets them on its own device, in
the floating point dtype that it checks, and by the names of its parameters if these have another order.

Operators are matched by names and shapes in their order, then by equal values, then along the data flow; so renamed,
reordered and fused ones are found as far as values allow. The sentence counts those without a counterpart; --as table
lists all. Exit code 1: the programs differ; 4: one of them failed.

With --prefill or --decode the programs are those of a language model. Both compute the same random tokens in the same
passes, each with a cache of its own, and the first pass that differs is shown.)";

constexpr std::string_view replay_text =
    R"(FILE.opdrec is a call as `opdyno run --record` keeps it: program and kernels, arguments, options, what functions of the
host returned, hashes of the results. It is made again here, and a sentence reports whether the result or error
is the same. It runs the code of the file: replay only what you would run.

If the recorded call ended its process, so does this one, for instance under gdb. With --minimise, it runs in a process of
its own, and the file has the call of the kernel that ended it. Exit code 1: the outcome is another; 3: the file is damaged,
or cannot be replayed here.)";

constexpr std::string_view info_text =
    R"(FILE holds parameters: a TVM param dict, the directory of a tensor cache, .npz, .npy or .safetensors. Names, dtypes and
shapes are shown; the numbers are not read.)";

constexpr std::string_view doctor_text =
    R"(Each check is ok, limited (a part works) or missing, with the cause on this machine and the command that mends it:
  counters       the processor's: cycles, instructions, cache misses
  kernel-events  context switches, migrations
  papi, energy   what collectors of these names need
  clock, governor, quota  what makes timings slow, drift or scatter
  cache          the directory of compiled files
  compiler       for C sources and objects
  cuda, opencl, vulkan, nvml, tls  devices, drivers, OpenSSL
  python, tvm, tvm-ffi  of the active Python: do artifacts load?

Nothing is changed, but for a file in the cache directory. The exit code is 0 unless --require asks for a check.)";

constexpr std::string_view explain_text =
    R"(CODE is the name of an error code in any spelling (OPD_NOT_FOUND, not-found), its number, or exit-codes. Without CODE all
are listed, with a line each. docs/errors.md has the same pages.)";

constexpr std::string_view as_text =
    "IN is VM assembly, OUT the VM executable to write; - stands for standard input and output.";
constexpr std::string_view export_text =
    R"(MOD is a VM executable (.vmexec), VM assembly (.opdasm), C source (.c) or shared library (.so); OUT a shared library
(.so), or an archive of objects (.tar) that is linked when it is loaded. Both run in opdyno and in TVM. A library
that is linked already is kept in a .so where no other code comes with it; else give its objects by --object.)";
constexpr std::string_view report_text =
    "FILE is a report as JSON, of opdyno or of TVM's profiler, or as CSV, which has the rows only; -\nstands for "
    "standard input. The HTML is one page that needs no other file: charts, a table to sort,\nthe configuration.";
constexpr std::string_view dis_text =
    "IN is a VM executable (.vmexec) or a shared library that embeds one; - stands for standard input.";

constexpr std::string_view record_text =
    R"(PATH is the socket of a process that was started with OPDYNO_CONTROL=PATH. The process goes on meanwhile. The form of
FILE follows from its suffix, compressed with .gz behind it:
  .json  .pftrace  .html  .svg  .txt  .stacks  .speedscope.json  .pb.gz
  .memory.json  .memory.raw.json  .memory.html   the memory in use over time
or is named by --form: chrome, perfetto, html, flame, table, stacks, speedscope, pprof, memory, memory_raw, memory_html.)";
constexpr std::string_view top_text =
    R"(PATH is the socket of a process that was started with OPDYNO_CONTROL=PATH. A row has what one operator, program or
range did in the interval: calls that ended; its share of all recorded time and that time, without what it called; the
mean of a call. Only time inside the interval is counted. A terminal is refreshed, a pipe gets table after table.)";

constexpr std::string_view trace_text =
    R"(FILE is what a profiler wrote while it recorded (opd_profiler_options.file, profile(file=…)). If its process was killed,
FILE.live beside it is read, too. A process that still writes is not disturbed.

Actions:
  view     write it as a page for a browser, to FILE.html or --output
  recover  write it in another form, by the suffix of --output (FILE.json.gz) or --form
  table    print the times by name: on a terminal the ten slowest, in a pipe all
  merge    join several files, of several processes or machines, to one --output, on the time line of Unix time)";

constexpr std::string_view serve_text =
    R"(A server of TVM's RPC: clients of TVM (tvm.rpc.connect, or tvm.rpc.connect_tracker with --tracker) send libraries to this
machine, load them, run and time their functions and VM programs, and copy tensors, on all devices of `opdyno info`. Each
client has a process of its own, whose files go when it ends. Ctrl-C ends the server and all sessions.

A client runs what it sends, in a sandbox as far as the kernel has one: it can read programs, libraries and devices, write
its own files, and open no connections. The server says what is enforced. It listens on the loopback address unless --listen
says otherwise; from another machine, an ssh tunnel reaches it: ssh -L 9090:127.0.0.1:9090 HOST.)";

constexpr std::string_view input_text =
    R"(MOD is a shared library (.so), objects (.o, .a, .tar), VM executable (.vmexec), VM assembly (.opdasm) or C source (.c).
FN is main, or else the only function, unless it is named. A function outside a VM program (a kernel) is called as it is
and writes to its last tensor argument, or to those that --out-arg names.

Inputs (SPEC):
  '4x8xf32=rand(0,1)'  a tensor of random numbers      4xi32=1,2,3,4    numbers one by one
  4x8xf32=0            the same number everywhere      2x3xi64=range    0, 1, 2 …
  4x8xf32=@x.npy       from a file                     0dxf32=1.5       no dimensions
  @x.npy  @f.npz:key   with the file's shape and dtype (any parameter file)
  i64=7  f64=0.5  bool=true  str=text  none            plain values
  'shape(2,3)'  'tuple(4xf32;i64=1)'
Parameters that get no input are filled at random in the shapes that the program checks; the numbers are from 0 to 1 and
depend on the seed alone, on every machine.)";

constexpr std::string_view language_details =
    R"(

With --prefill or --decode MOD is the program of a language model, which is driven as a server drives it: a cache is
made, --batch prompts of random tokens are computed, then tokens are decoded for all of them together. Weights are those
of --params, in the file's order, or random.)";

constexpr std::string_view bench_details =
    R"(

Warm-up ends when two consecutive windows of ten calls (or of ten batches that last 1 ms) show no significant difference
(Mann-Whitney's test, 5 %), or one below 1 %. --timeout is for all sizes and the warm-up together.)";

std::vector<const Option *> joined(std::initializer_list<std::span<const Option>> parts) {
  std::vector<const Option *> all;
  for (const auto &part : parts)
    for (const Option &option : part) all.push_back(&option);
  all.push_back(&help);
  return all;
}

}  // namespace

const std::vector<Command> &commands() {
  static const std::string profile_text = std::string(input_text) + std::string(language_details);
  static const std::string bench_text = profile_text + std::string(bench_details);
  static const std::vector<Command> table = {
      {"info", "[FILE]", 0, 1, "show what this build and this machine offer, or what a parameter file holds", info_text,
       joined({of_info, json}), run_info},
      {"doctor", "", 0, 0, "tell what works here, and the command that fixes the rest", doctor_text,
       joined({of_doctor, json}), run_doctor},
      {"explain", "[CODE]", 0, 1, "show what an error code means, an example, and the next step", explain_text,
       joined({}), run_explain},
      {"inspect", "MOD", 1, 1, "show what a module holds: kind, imports, functions, parameters, constants",
       inspect_text, joined({of_inspect, json, modules}), run_inspect},
      {"run", "MOD [FN]", 1, 2, "call a function and show, save or check its results", input_text,
       joined({on, of_run, json, csv, inputs, modules, places, limits}), run_run},
      {"bench", "MOD [FN]", 0, 2, "measure how long a call takes", bench_text,
       joined({on, of_bench, language, json, csv, bench_base, inputs, modules, places, limits}), run_bench},
      {"profile", "MOD [FN]", 1, 2, "measure each operator of a call", profile_text,
       joined({on, of_profile, sorting, summary, profile_outputs, language, json, inputs, modules, places, limits}),
       run_profile},
      {"replay", "FILE.opdrec", 1, 1, "make a recorded call again, and compare the outcomes", replay_text,
       joined({of_replay, modules, limits, json}), run_replay},
      {"record", "PATH", 1, 1, "record a running process from outside", record_text, joined({of_record}), run_record},
      {"top", "PATH", 1, 1, "show what the operators of a running process do now", top_text, joined({of_top}), run_top},
      {"trace", "ACTION FILE…", 2, 4097,
       "show, convert or join files of recordings, also of processes that were killed", trace_text,
       joined({of_trace, summary}), run_trace},
      {"serve", "", 0, 0, "let clients of TVM's RPC run programs here", serve_text, joined({of_serve}), run_serve},
      {"report", "FILE", 1, 1, "write a profile's report in another form", report_text,
       joined({of_report, summary, sorting}), run_report},
      {"diff", "A B", 2, 2, "tell which operators became slower between two sets of runs", diff_text,
       joined({of_diff, changes, diff_forms}), run_diff},
      {"ab", "A B [FN]", 2, 3, "tell which of two programs is faster, measured in turns", ab_text,
       joined({on, of_ab, changes, ab_forms, inputs, modules, places, limits}), run_ab},
      {"compare", "A B [FN]", 2, 3, "tell where the values of two builds of a program part", compare_text,
       joined({of_compare, language, inputs, modules, places, limits}), run_compare},
      {"as", "IN OUT", 2, 2, "assemble a VM program from text", as_text, joined({}), run_as},
      {"dis", "IN", 1, 1, "print a VM program as assembly text", dis_text, joined({of_dis}), run_dis},
      {"export", "MOD OUT", 2, 2, "write a module with all that it imports to one file", export_text,
       joined({of_export}), run_export},
  };
  return table;
}

const Command *find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

}  // namespace opd::cli
