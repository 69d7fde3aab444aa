// The table of commands and options.
#include "cli/commands/command.h"

namespace opd::cli {

namespace {

// Options, grouped by the commands that share them.
constexpr Option help = {"help", 'h', "", "show this help"};
constexpr Option json = {"json", 0, "", "print JSON"};
constexpr Option csv = {"csv", 0, "", "print CSV"};

constexpr Option import_ = {"import", 0, "FILE", "add a module with kernels: a shared library, objects or C source",
                            true};
constexpr Option c_flags = {"c-flags", 0, "FLAGS", "compiler flags for C sources; -O2"};
constexpr Option copy_ = {"copy", 0, "WHEN",
                          "load libraries from a private copy: always, when-shared, never (for perf and gdb)"};

constexpr Option input = {"input", 'i', "SPEC", "an argument, in order or as NAME:SPEC; see above", true};
constexpr Option params = {"params", 0, "FILE", "bind the file's tensors to the parameters of their names", true};
constexpr Option dim = {"dim", 0, "NAME=SIZE", "a size that the program leaves open", true};
constexpr Option seed = {"seed", 0, "N", "seed of random inputs; 0"};
constexpr Option device = {"device", 0, "DEVICE", "where to run; cpu:0"};
// A macro, because only literals can be joined to literals.
#define OPD_ANOTHER_MACHINE                                                          \
  "another machine: HOST:PORT or tracker=HOST:PORT, then [,key=K][,secret-file=F], " \
  "and for TLS [,tls-ca=F] [,tls-fingerprint=HASH] [,tls-name=NAME] without spaces"
constexpr Option on = {"on", 0, "MACHINE", "run on " OPD_ANOTHER_MACHINE};
constexpr Option on_info = {"on", 0, "MACHINE", "show the devices of " OPD_ANOTHER_MACHINE};
constexpr Option allocator = {"allocator", 0, "KIND", "pooled or naive; pooled"};
constexpr Option memory_limit = {"memory-limit", 0, "SIZE", "most memory that the program's tensors may take, as 512M"};
constexpr Option threads = {"threads", 0, "N", "threads of parallel kernels"};
constexpr Option timeout = {"timeout", 0, "TIME", "end with exit code 4 after 250ms, 5s or 2m"};

constexpr Option run_output = {
    "output", 'o', "FILE",
    "write the results to a .npz, .safetensors or .params file: out, or out_0, out_0_1 for tuples"};
constexpr Option out_arg = {"out-arg", 0, "K", "of a plain function: argument K (from 0; -1 is the last) is a result",
                            true};
constexpr Option expect = {
    "expect", 0, "FILE[:PREFIX]",
    "compare the results with the tensors of a file, as -o writes it; with a prefix, its keys PREFIX/out…"};
constexpr Option rtol = {"rtol", 0, "X", "tolerance of --expect relative to the expected number; 1e-5"};
constexpr Option atol = {
    "atol", 0, "X", "tolerance of --expect in absolute terms; 1e-6. Integers are compared exactly unless one is given"};
constexpr Option equal_nan = {"equal-nan", 0, "", "let --expect take NaN as equal to NaN"};
constexpr Option full = {"full", 0, "", "print all elements at full precision"};

constexpr Option check_bounds = {
    "check-bounds", 0, "",
    "find kernels that touch memory outside their tensors: each call of one runs three times. Exit code 1 names the "
    "kernel and the tensor"};

constexpr Option record_call = {"record", 0, "FILE.opdrec", "keep the call in a file for opdyno replay"};
constexpr Option with_paths = {"with-paths", 0, "", "let --record keep paths and the machine's name, too"};
constexpr Option with_outputs = {"with-outputs", 0, "", "let --record keep the result's elements, not only its hash"};
constexpr Option with_operators = {"with-operators", 0, "",
                                   "let --record keep a hash of the values after each operator, so that replay names "
                                   "the first one that differs"};
constexpr Option without_program = {"without-program", 0, "",
                                    "let --record keep only hashes of the program; replay then needs --with"};

constexpr Option replay_info = {"info", 0, "", "show the contents of the file, and call nothing"};
constexpr Option replay_profile = {"profile", 0, "", "measure each operator of the call, too"};
constexpr Option replay_minimise = {
    "minimise", 0, "FILE",
    "keep the one operator that fails, ends the process, or is the first that differs, as a smaller recording"};
constexpr Option replay_with = {"with", 0, "MOD", "run this program instead of the recorded one"};
constexpr Option replay_device = {"device", 0, "DEVICE", "make the call on this device instead of the recorded one"};
constexpr Option replay_rtol = {"rtol", 0, "X",
                                "relative tolerance of elements that were kept; as float16=1e-2,float32=1e-5 by dtype"};
constexpr Option replay_atol = {"atol", 0, "X", "the same in absolute terms"};

constexpr Option bench_repeat = {"repeat", 0, "N", "measured repeats; 10"};
constexpr Option number = {"number", 0, "N", "calls per repeat; 1"};
constexpr Option min_repeat_ms = {"min-repeat-ms", 0, "MS", "raise the calls per repeat until one lasts this long; 10"};

constexpr Option bench_warmup = {"warmup", 0, "WHAT",
                                 "calls that are not measured: so many, or steady or steady:TIME, until their times "
                                 "do not change any more; steady:3s"};
constexpr Option concurrency = {"concurrency", 0, "N", "threads that call at once; 1"};
constexpr Option flush_cache = {
    "flush-cache",
    0,
    "SIZE",
    "measure single calls with cold caches: copy so much before each; as much as the last-level cache holds",
    false,
    true};
constexpr Option copies = {
    "copies",
    0,
    "SIZES",
    "measure no module, but copies of so many bytes from the host to the device, back, and on it; "
    "4K,1M,64M",
    false,
    true};
constexpr Option sweep = {"sweep", 0, "NAME=SIZES",
                          "measure for each of the sizes that the program leaves open, as n=1,8,64 or n=16:64:16 or "
                          "n=1:64:x2; of several names, for each combination",
                          true};

constexpr Option report_output = {"output", 'o', "FILE",
                                  "write the report, in the form of the suffix: .html, .csv, .md, .txt, else JSON"};
constexpr Option top = {"top", 0, "N", "show only the N slowest operators; on a terminal 10, in a pipe all"};
constexpr Option wide = {"wide", 0, "", "show the whole table on a terminal, too, as it goes into a pipe"};
constexpr Option report_csv = {"csv", 0, "FILE", "write the report's calls as CSV; - prints them"};
constexpr Option chrome = {"chrome", 0, "FILE", "write the calls on a time line, for Perfetto or chrome://tracing"};
constexpr Option view = {"view", 0, "FILE", "write a page with time line, flame graph and operators: .html"};
constexpr Option flame = {"flame", 0, "FILE", "write a flame graph: .svg"};
constexpr Option profile_repeat = {
    "repeat", 0, "N",
    "exactly N measured calls. Without it, and without --runs, --turn and --warmup 0, calls "
    "are repeated until the slowest operator and its share are stable"};
constexpr Option profile_budget = {"budget", 0, "TIME", "time limit of these calls; 10s, or half of --timeout"};
constexpr Option warmup = {
    "warmup", 0, "N",
    "calls before the measured ones; 1. With 0 the first call is measured, with the pages that it touches "
    "and the memory that later ones keep"};
constexpr Option sort = {"sort", 0, "", "longest operators first (the default)"};
constexpr Option no_sort = {"no-sort", 0, "", "operators in the order of the program"};
constexpr Option no_aggregate = {"no-aggregate", 0, "", "one row per call"};
constexpr Option no_sums = {"no-sums", 0, "", "no row of sums"};

constexpr Option builtins = {
    "builtins", 0, "WHICH",
    "calls of the VM's builtins that are rows: with_tensors, all, or folded into one row; with_tensors"};
constexpr Option details = {"details", 0, "", "columns for the start, thread, run and call path of each call"};
constexpr Option roofline = {"roofline", 0, "",
                             "measure the peaks of the machine, and how near each operator comes to them"};
constexpr Option measure = {"measure", 0, "", "measure the processors' arithmetic and memory bandwidth"};
constexpr Option as_form = {"as", 0, "FORM", "table, csv, json, markdown or html; table"};
constexpr Option diff_form = {"as", 0, "FORM", "table, csv, json or markdown; table"};
constexpr Option form_output = {"output", 'o', "FILE", "write to a file; without --as in the form of its suffix"};
constexpr Option turn = {
    "turn", 0, "N",
    "this is the N-th run (with --runs: N is the first): opdyno diff compares runs of one turn as pairs"};
constexpr Option profile_runs = {"runs", 0, "N",
                                 "measure N runs, each with its warm-up; -o and --json then write a report a line, the "
                                 "rest shows the last one; 1"};

constexpr Option seconds = {"seconds", 0, "TIME", "how long it records: 10, 500ms, 2m; 10. Ctrl-C ends it earlier"};
constexpr Option memory = {"memory", 0, "", "also each block of memory that tensors and kernels get, or give back"};
constexpr Option trace_form_ = {"form", 0, "FORM", "the form of the file, whatever its suffix"};
constexpr Option trace_output = {"output", 'o', "FILE", "the file to write; trace.json.gz"};
constexpr Option trace_file = {"output", 'o', "FILE", "the file to write"};
constexpr Option trace_sort = {"sort", 0, "KEY",
                               "table: the largest first, by self (so on a terminal), total, mean or calls"};
constexpr Option label = {"label", 0, "NAME", "merge: the name of a process, in the order of the files", true};
constexpr Option max_events = {"max-events", 0, "N", "calls and ranges of each thread that are kept; 1048576"};
constexpr Option interval = {"interval", 0, "TIME", "time between two tables: 1, 500ms, 2m; 1"};
constexpr Option once = {"once", 0, "", "show one table and end"};

constexpr Option fail_above = {"fail-above", 0, "SHARE", "exit with 1 if something is slower by more, as 3%"};
constexpr Option min_effect = {"min-effect", 0, "SHARE", "changes that do not matter; 1%"};
constexpr Option min_share = {"min-share", 0, "SHARE",
                              "operators that take less of the time do not fail, though the total may; 1%"};
constexpr Option by = {"by", 0, "KEY",
                       "of recordings: name, or path, which is the name and those of the spans around it; name"};
constexpr Option flame_diff = {"flame", 0, "FILE", "of two recordings: write what changed as a flame graph (SVG)"};
constexpr Option paired = {"paired", 0, "",
                           "the runs were made in turns: compare run 1 of A with run 1 of B, and so on"};
constexpr Option budget = {"budget", 0, "TIME", "stop after this time, with the warm-up, at the latest; 30s"};
constexpr Option ab_runs = {"runs", 0, "N", "stop after N turns of each at the latest"};
constexpr Option ab_form = {"as", 0, "FORM", "sentence, table, csv, json or markdown; sentence"};
constexpr Option b_device = {"b-device", 0, "DEVICE", "where B runs, if not where A does"};
constexpr Option b_params = {
    "b-params", 0, "FILE", "B's own parameters, as --params: of a quantised build, say. It gets A's for the other ones",
    true};
constexpr Option compare_rtol = {
    "rtol", 0, "X",
    "tolerance relative to A's number: 1e-4 for all real dtypes, or float16=1e-2,float32=1e-5; float16 1e-3, bfloat16 "
    "1.6e-2, float32 1.3e-6, float64 1e-7, integers 0"};
constexpr Option compare_atol = {"atol", 0, "X",
                                 "tolerance in absolute terms, as --rtol; 1e-5, float64 1e-7, integers 0"};
constexpr Option nan_differs = {"nan-differs", 0, "", "NaN does not agree with NaN"};
constexpr Option save_tensors = {"save", 0, "DIR",
                                 "write the tensors around the first difference to DIR/a.npz and DIR/b.npz"};
constexpr Option keep = {
    "keep", 0, "SIZE",
    "most memory for copies of values; of those beyond it is known only whether they are equal bit "
    "for bit; 2G"};
constexpr Option compare_repeat = {"repeat", 0, "N", "measured runs of each program; 20, and 0 measures none"};
constexpr Option compare_form = {"as", 0, "FORM", "sentence, table, csv, json, markdown or html; sentence"};
constexpr Option compare_times = {
    "times", 0, "FILE",
    "write the comparison of all operators' times, as opdyno diff gives it, in the form of "
    "the suffix"};
constexpr Option compare_output = {
    "output", 'o', "FILE",
    "write the report of all operators, too, in the form of the suffix: .html, .csv, .md, .txt, else JSON"};
constexpr Option bench_compare = {
    "compare", 0, "FILE", "compare with what --json printed before, of the same function, sizes, threads and caches"};

constexpr Option prefill = {"prefill", 0, "N", "drive a language model: compute prompts of N tokens; 128. See above"};
constexpr Option decode = {"decode", 0, "N", "drive a language model: decode N tokens after the prompts; 32"};
constexpr Option batch = {"batch", 0, "N", "sequences of a language model at once; 1"};
constexpr Option create_function = {"create-function", 0, "NAME", "the function that makes the model's KV cache", true};
constexpr Option prefill_function = {"prefill-function", 0, "NAME", "the function that computes prompts"};
constexpr Option decode_function = {"decode-function", 0, "NAME", "the function that decodes a token of each sequence"};
constexpr Option embed_function = {"embed-function", 0, "NAME", "the function that embeds tokens"};

constexpr Option collector = {
    "collector", 0, "NAME",
    "measure more of each call: time, memory, perf, papi, energy, nvml, device; perf:EVENT,…, papi:EVENT,… and "
    "device:METRIC,… count these events. See info --collectors",
    true};

constexpr Option collectors = {"collectors", 0, "",
                               "show which collectors work on this machine, and why others do not"};
constexpr Option functions = {"functions", 0, "", "list the global functions, too"};
constexpr Option object = {"object", 0, "FILE",
                           "link an object file (.o), an archive of them (.a) or a C source (.c) in", true};
constexpr Option tree = {"tree", 0, "", "the modules and what they import, a line each"};
constexpr Option signatures = {"signatures", 0, "", "the functions with their parameters and results, as far as known"};
constexpr Option disasm = {"disasm", 0, "", "the VM program as assembly; with --json as \"disassembly\""};
constexpr Option sizes = {"sizes", 0, "", "how many bytes files, sections and functions take"};
constexpr Option verify_ = {"verify", 0, "",
                            "check it; with --json as \"verification\". Exit code 1 if it is damaged, with the place"};
constexpr Option load = {"load", 0, "",
                         "load it as run does: its initialisers run, sources are compiled, objects linked"};
constexpr Option python = {"python", 0, "", "print a Python script that builds the program with TVM instead"};
constexpr Option text_output = {"output", 'o', "FILE", "write the text to a file"};

constexpr Option require = {"require", 0, "NAME", "exit with 1 unless this check is ok", true};
constexpr Option within = {"within", 0, "TIME", "wait so long for drivers, compilers and Python at most; 800ms"};

constexpr Option listen = {"listen", 0, "HOST:PORT",
                           "where clients connect; 127.0.0.1:9090, which only this machine reaches"};
constexpr Option serve_key = {"key", 0, "NAME",
                              "the key that clients must send, which is also the name at the tracker"};
constexpr Option tracker = {"tracker", 0, "HOST:PORT",
                            "a tracker of TVM's that hands this server out to one client at a time"};
constexpr Option secret_file = {"secret-file", 0, "FILE",
                                "a secret that clients must prove to know; opdyno's can, TVM's cannot"};
constexpr Option tls_cert = {"tls-cert", 0, "FILE",
                             "go through TLS with this certificate (PEM); opdyno's clients can, TVM's cannot"};
constexpr Option tls_key = {"tls-key", 0, "FILE", "the certificate's private key (PEM)"};
constexpr Option allow_anyone = {"allow-anyone", 0, "", "let other machines' clients in without a secret"};
constexpr Option sessions = {"sessions", 0, "N", "most clients at once; 16, with a tracker 1"};
constexpr Option serve_memory = {
    "memory-limit", 0, "SIZE",
    "most memory of the tensors that a client makes, as 512M; its process gets 256M and 8M "
    "for each processor more; without it, the process gets three quarters of the machine's"};
constexpr Option cpu_limit = {"cpu-limit", 0, "TIME", "end a session that used so much CPU time, in whole seconds"};
constexpr Option session_limit = {"session-limit", 0, "TIME", "end a session after that time, whatever it does"};
constexpr Option file_limit = {"file-limit", 0, "SIZE",
                               "most bytes of a client's files; 2G; all that its session writes may take 256M more"};
constexpr Option allow_read = {"allow-read", 0, "PATH",
                               "a further file or directory that sessions may read and execute", true};
constexpr Option allow_network = {"allow-network", 0, "", "let sessions open connections"};
constexpr Option allow_modules = {"allow-modules", 0, "FILE",
                                  "load only modules whose SHA-256 is in the file, as sha256sum prints them"};
constexpr Option serve_user = {"user", 0, "NAME", "run sessions as this user, if the server is root's"};
constexpr Option no_sandbox = {"no-sandbox", 0, "", "let sessions do all that the user can"};
constexpr Option metrics = {
    "metrics", 0, "HOST:PORT",
    "where Prometheus finds metrics of the sessions; who reaches the address can read them; else nowhere"};
constexpr Option otlp = {
    "otlp", 0, "URL",
    "a collector of OpenTelemetry to which metrics and spans of the sessions go, as http://127.0.0.1:4318"};
constexpr Option silence = {"timeout", 0, "TIME", "end a session if its client sends no request for so long, as 5m"};

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
    "MOD is a VM executable (.vmexec), VM assembly (.opdasm), C source (.c) or shared library (.so); OUT a shared "
    "library\n(.so), or an archive of objects (.tar) that is linked when it is loaded. Both run in opdyno and in TVM. "
    "A "
    "library\nthat is linked already is kept in a .so where no other code comes with it; else give its objects by "
    "--object.";
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

using Options = std::vector<const Option *>;
const Options call_options = {&input,  &params,    &dim,          &seed,    &import_, &c_flags, &copy_,
                              &device, &allocator, &memory_limit, &threads, &timeout, &help};
const Options language_options = {&prefill,        &decode,           &batch,          &create_function,
                                  &embed_function, &prefill_function, &decode_function};

Options joined(std::initializer_list<Options> parts) {
  Options all;
  for (const Options &part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<Command> &commands() {
  static const std::string profile_text = std::string(input_text) + std::string(language_details);
  static const std::string bench_text = profile_text + std::string(bench_details);
  static const std::vector<Command> table = {
      {"info", "[FILE]", 0, 1, "show what this build and this machine offer, or what a parameter file holds", info_text,
       std::vector{&on_info, &functions, &measure, &collectors, &json, &help}, run_info},
      {"doctor", "", 0, 0, "tell what works here, and the command that fixes the rest", doctor_text,
       std::vector{&require, &within, &json, &help}, run_doctor},
      {"explain", "[CODE]", 0, 1, "show what an error code means, an example, and the next step", explain_text,
       std::vector{&help}, run_explain},
      {"inspect", "MOD", 1, 1, "show what a module holds: kind, imports, functions, parameters, constants",
       inspect_text,
       std::vector{&tree, &signatures, &sizes, &disasm, &verify_, &load, &json, &import_, &c_flags, &copy_, &help},
       run_inspect},
      {"run", "MOD [FN]", 1, 2, "call a function and show, save or check its results", input_text,
       joined({{&on, &run_output, &out_arg, &expect, &rtol, &atol, &equal_nan, &full, &check_bounds, &record_call,
                &with_paths, &with_outputs, &with_operators, &without_program, &json, &csv},
               call_options}),
       run_run},
      {"bench", "MOD [FN]", 0, 2, "measure how long a call takes", bench_text,
       joined(
           {{&on, &bench_repeat, &number, &min_repeat_ms, &bench_warmup, &concurrency, &flush_cache, &sweep, &copies},
            language_options,
            {&json, &csv, &bench_compare, &fail_above, &min_effect},
            call_options}),
       run_bench},
      {"profile", "MOD [FN]", 1, 2, "measure each operator of a call", profile_text,
       joined({{&on,      &profile_repeat, &profile_budget, &warmup,     &profile_runs, &turn, &collector,
                &sort,    &no_sort,        &no_aggregate,   &no_sums,    &top,          &wide, &builtins,
                &details, &roofline,       &report_output,  &report_csv, &chrome,       &view, &flame},
               language_options,
               {&json},
               call_options}),
       run_profile},
      {"replay", "FILE.opdrec", 1, 1, "make a recorded call again, and compare the outcomes", replay_text,
       std::vector{&replay_info, &replay_with, &replay_device, &replay_profile, &check_bounds, &replay_minimise,
                   &replay_rtol, &replay_atol, &import_, &c_flags, &copy_, &threads, &timeout, &json, &help},
       run_replay},
      {"record", "PATH", 1, 1, "record a running process from outside", record_text,
       std::vector{&seconds, &memory, &trace_form_, &max_events, &trace_output, &help}, run_record},
      {"top", "PATH", 1, 1, "show what the operators of a running process do now", top_text,
       std::vector{&interval, &once, &help}, run_top},
      {"trace", "ACTION FILE…", 2, 4097,
       "show, convert or join files of recordings, also of processes that were killed", trace_text,
       std::vector{&trace_file, &trace_form_, &label, &trace_sort, &top, &wide, &help}, run_trace},
      {"serve", "", 0, 0, "let clients of TVM's RPC run programs here", serve_text,
       std::vector{&listen,  &serve_key,  &secret_file,   &tls_cert,      &tls_key,       &allow_anyone,
                   &tracker, &sessions,   &serve_memory,  &cpu_limit,     &session_limit, &file_limit,
                   &silence, &allow_read, &allow_network, &allow_modules, &serve_user,    &no_sandbox,
                   &metrics, &otlp,       &help},
       run_serve},
      {"report", "FILE", 1, 1, "write a profile's report in another form", report_text,
       std::vector{&as_form, &form_output, &top, &wide, &sort, &no_sort, &no_aggregate, &no_sums, &help}, run_report},
      {"diff", "A B", 2, 2, "tell which operators became slower between two sets of runs", diff_text,
       std::vector{&by, &flame_diff, &fail_above, &min_effect, &min_share, &paired, &diff_form, &help}, run_diff},
      {"ab", "A B [FN]", 2, 3, "tell which of two programs is faster, measured in turns", ab_text,
       joined({{&on, &budget, &ab_runs, &fail_above, &min_effect, &min_share, &ab_form}, call_options}), run_ab},
      {"compare", "A B [FN]", 2, 3, "tell where the values of two builds of a program part", compare_text,
       joined({{&b_device, &b_params, &compare_rtol, &compare_atol, &nan_differs, &save_tensors, &keep, &compare_repeat,
                &compare_form, &compare_output, &compare_times},
               language_options,
               call_options}),
       run_compare},
      {"as", "IN OUT", 2, 2, "assemble a VM program from text", as_text, std::vector{&help}, run_as},
      {"dis", "IN", 1, 1, "print a VM program as assembly text", dis_text, std::vector{&python, &text_output, &help},
       run_dis},
      {"export", "MOD OUT", 2, 2, "write a module with all that it imports to one file", export_text,
       std::vector{&import_, &object, &c_flags, &help}, run_export},
  };
  return table;
}

const Command *find_command(std::string_view name) {
  for (const Command &command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace opd::cli
