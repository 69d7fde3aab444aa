// `opdyno compare`: finds where the values of two builds of a program differ, and which operators became slower.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "cli/ab/ab_rule.h"
#include "cli/commands/command.h"
#include "cli/language/language.h"
#include "cli/load/runner.h"
#include "cli/show/column.h"
#include "cli/show/forms.h"
#include "cli/support/file.h"
#include "cli/support/progress.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"
#include "cli/tensors/tensor_make.h"

namespace opd::cli {

namespace {

// ---- the output for people, read from the comparison's report

bool is_equal(const Report &report) { return configured(report, "Equal").view().u.int64 > 0; }

bool has_failure(const Report &report) {
  return !configured_text(report, "Failure of A").empty() || !configured_text(report, "Failure of B").empty();
}

std::string number_text(double number) { return std::isnan(number) ? "" : significant(number, 3); }

// Makes a table of all operators. Text for a terminal fits its width.
std::string operators_table(const Report &report, TableStyle style) {
  const Column names(report, "Name"), in_a(report, "Name in A"), states(report, "State"), inputs(report, "Inputs"),
      matched(report, "Matched By"), max_abs(report, "Max Abs"), tolerances(report, "Tolerance"),
      mismatches(report, "Mismatches"), elements(report, "Elements");
  constexpr size_t state = 1, tolerance = 3, input = 5, matched_by = 6;
  TextTable table{{{"Operator", "State", "Max abs", "Tolerance", "Differing", "Inputs", "Matched by"}},
                  {state, input, matched_by},
                  {matched_by, tolerance}};
  for (size_t i = 0; i < report.count(); ++i) {
    const std::string other = in_a.text(i);
    const double differing = mismatches.number(i);
    table.lines.push_back({printable(other.empty() ? names.text(i) : cat(names.text(i), " (", other, ")")),
                           states.text(i), number_text(max_abs.number(i)), number_text(tolerances.number(i)),
                           std::isnan(differing) ? "" : cat(fixed(differing, 0), " of ", fixed(elements.number(i), 0)),
                           inputs.text(i), matched.text(i)});
  }
  return table.written(style);
}

// ---- two programs

constexpr int64_t most_runs = 1'000'000;

// Lists operators in the order of the program, each in its own row.
std::string report_text(const Report &report, ReportForm form) {
  auto options = opdyno::defaults(opd_report_write_options_init);
  options.sort = options.aggregate = options.col_sums = 0;
  return written(report, form, options);
}

void require_program(const Target &target, const std::string &path) {
  if (!target.is_program())
    fail_usage(cat(path, ": ", target.name(), " is a plain function; compare takes functions of programs"));
}

opd_compare_options compare_options(const Args &args) {
  auto options = opdyno::defaults(opd_compare_options_init);
  options.rtol = args.text("rtol"), options.atol = args.text("atol");
  options.save_directory = args.text("save");
  if (args.value("save") == "") fail_usage("option '--save' takes a directory, but is empty");
  options.equal_nan = !args.has("nan-differs");
  options.keep_bytes = args.bytes("keep").value_or(options.keep_bytes);
  options.repeat = static_cast<int32_t>(args.integer("repeat", 20, 0, most_runs));
  return options;
}

// Converts errors that the command line causes: wrong options, and inputs that do not fit a program.
template <class Compare>
auto with_usage_errors(const Compare &compare) {
  try {
    return compare();
  } catch (const opdyno::Error &error) {
    const bool is_usage = error.code() == OPD_INVALID_ARGUMENT || error.code() == OPD_NOT_FOUND;
    throw Failure(is_usage ? Exit::usage : Exit::failed, message_of(error), error.code());
  }
}

// B's arguments if it has its own parameters: the tensors of --b-params, and A's arguments of the same names for the
// rest.
Array own_arguments(const Args &args, const Runner &a, const Target &b) {
  const std::vector<std::string> &paths = args.all("b-params");
  const std::vector<Params> files = mapped(paths, Params::load);
  TensorMaker maker;
  maker.device = b.device();
  bool is_used = false;
  const auto argument = [&](const std::string &name) {
    for (size_t file = 0; file < files.size(); ++file)
      for (size_t i = 0; i < files[file].size(); ++i)
        if (name == files[file].name(i)) {
          is_used = true;
          Tensor tensor = attempt(Exit::failed, paths[file], [&] { return files[file].get_tensor(name.c_str()); });
          return Value::of(maker.to_device(std::move(tensor)));
        }
    const std::vector<Param> &of_a = a.target().params();
    const auto found = std::ranges::find(of_a, name, &Param::name);
    if (found == of_a.end())
      fail_usage(cat("parameter ", name, " of ", b.name(), " of B is neither in ", join(paths, ", "),
                     " nor a parameter of A"));
    const Value value = Value::retain(a.arguments()[static_cast<size_t>(found - of_a.begin())]);
    const DLDevice from = a.target().device(), to = b.device();
    const bool moves = from.device_type != to.device_type || from.device_id != to.device_id;
    return moves && value.type() == OPD_TENSOR ? Value::of(maker.to_device(to_cpu(Tensor::of(value)))) : value;
  };
  const std::vector<Value> values = mapped(mapped(b.params(), &Param::name), argument);
  if (!is_used)
    fail_usage(cat(join(paths, ", "), " has no tensor with the name of a parameter of ", b.name(), " of B"));
  return Array(views_of(values));
}

opdyno::Comparison compare_programs(const Args &args) {
  Runner a(args.of_program(0));
  require_program(a.target(), args.words()[0]);
  a.progress().stage(cat("loading ", args.words()[1]));
  const Program other = load_program(args.words()[1], args);
  // If no function is named, B's function is the one that was chosen for A.
  const std::string &name = a.target().name();
  if (other.vm_module && !other.find(name) && !other.root.has_function(name.c_str()))
    fail_usage(cat(args.words()[1], " has no function '", name, "', which ", args.words()[0],
                   " has; name one that both have"));
  const Target b(other, name, args.of_b());
  require_program(b, args.words()[1]);
  opd_compare_options how = compare_options(args);
  a.start();
  const opd_call_options call = a.call_options();
  how.timeout_ns = call.timeout_ns, how.cancel = call.cancel;
  Array of_b;
  if (args.has("b-params")) how.b_args = (of_b = own_arguments(args, a, b)).get();
  return with_usage_errors([&] { return opdyno::compare(a.target().vm(), b.vm(), name.c_str(), a.arguments(), &how); });
}

// ---- two builds of a language model, which run with the same tokens and separate caches

struct ComparedPasses {
  opdyno::Comparison last;  // comparison of the first pass that differs, else of the last pass
  int64_t count;            // passes that were compared
  std::string pass;         // the last compared pass: "prefill, pass 1 of 5"
};

struct Side {
  Program program;
  LanguageProgram language;
  Target target;
  Generation generation;

  explicit Side(const Args &args)
      : program(load_program(args.words()[0], args)),
        language(LanguageProgram::of(program, args)),
        target(program, language.decode.name, args),
        generation(language, target, args, [] { return opdyno::defaults(opd_call_options_init); }) {
    generation.begin();
  }
};

// The programs are words()[0] and [1].
std::pair<std::unique_ptr<Side>, std::unique_ptr<Side>> load_sides(const Args &args) {
  Progress progress;
  const auto load = [&](const Args &of_program) {
    progress.stage(cat("loading ", of_program.words()[0]));
    return std::make_unique<Side>(of_program);
  };
  auto a = load(args.with_words({args.words()[0]}));
  auto b = load(args.of_b().with_words({args.words()[1]}));
  for (const auto function : {&LanguageProgram::prefill, &LanguageProgram::decode})
    if (const std::string &of_a = (a->language.*function).name, &of_b = (b->language.*function).name; of_a != of_b)
      fail_usage(cat("the programs' functions have different names, ", of_a, " and ", of_b,
                     "; name one by --prefill-function or --decode-function"));
  if (a->generation.vocabulary() != b->generation.vocabulary())
    fail_usage(cat("the programs have vocabularies of ", a->generation.vocabulary(), " and ",
                   b->generation.vocabulary(), " tokens"));
  return {std::move(a), std::move(b)};
}

// `options` returns the options of the next comparison. Operators are measured in the last pass that is compared.
ComparedPasses compare_passes(Side &a, Side &b, const std::function<opd_compare_options()> &options) {
  std::vector<LanguagePass> passes = a.generation.prompt_passes();
  passes.insert(passes.end(), static_cast<size_t>(a.generation.plan().decode), a.generation.decoding_pass());
  ComparedPasses found{{}, 0, {}};
  for (Side *side : {&a, &b}) side->generation.restart();
  Progress progress;
  bool agrees = true;
  for (size_t i = 0; i < passes.size() && agrees; ++i) {
    found.pass = cat(passes[i].is_decoding ? "decoding" : "prefill", ", pass ", i + 1, " of ", passes.size());
    progress.stage(found.pass);
    a.generation.with_pass(passes[i], [&](const LanguageFunction &function, const std::vector<Value> &a_args) {
      b.generation.with_pass(passes[i], [&](const LanguageFunction &, const std::vector<Value> &b_args) {
        const std::vector<opd_value> a_views = views_of(a_args);
        const Array of_b(views_of(b_args));
        opd_compare_options how = options();
        how.b_args = of_b.get();
        const auto compare = [&](int32_t repeat) {
          how.repeat = repeat;
          found.last = opdyno::compare(a.target.vm(), b.target.vm(), function.name.c_str(), a_views, &how);
        };
        const int32_t repeat = how.repeat;
        const bool is_last = i + 1 == passes.size();
        compare(is_last ? repeat : 0);
        agrees = is_equal(found.last.report);
        const bool is_last_after_all = !agrees && !is_last && !has_failure(found.last.report);
        if (is_last_after_all && repeat) compare(repeat);
      });
    });
    ++found.count;
  }
  return found;
}

ComparedPasses compare_language(const Args &args) {
  if (args.words().size() > 2)
    fail_usage(cat("--prefill and --decode choose the functions; leave out '", args.words()[2],
                   "', or name them by --prefill-function and --decode-function"));
  for (const char *name : {"input", "dim"})
    if (args.has(name)) fail_usage(cat("--", name, " does not go with --prefill and --decode"));
  opd_compare_options how = compare_options(args);
  using Clock = std::chrono::steady_clock;
  const auto timeout = args.duration_ns("timeout");
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout.value_or(0));
  const auto sides = load_sides(args);
  return with_usage_errors([&] {
    return compare_passes(*sides.first, *sides.second, [&] {
      if (timeout) how.timeout_ns = std::max<int64_t>(1, std::chrono::nanoseconds(end - Clock::now()).count());
      return how;
    });
  });
}

std::string times_text(const Report &times, TableStyle style) {
  if (!times) return "";
  const auto options = opdyno::defaults(opd_diff_options_init);
  const DiffView diff(times, options);
  if (diff.rows().empty()) return "";
  std::string text = cat("times: ", ab_sentence(diff, options), "\n");
  for (const DiffRow &row : diff.rows()) {
    if (row.kind != "operator" || !row.is_changed() || !row.is_tested()) continue;
    const std::string line =
        cat(row.shown, ": ", fixed(row.before, 2), " -> ", fixed(row.after, 2), " us (", percent_text(row.change), ")");
    text += style == TableStyle::markdown ? cat("- ", markdown_text(line), "\n") : cat("  ", line, "\n");
  }
  return text;
}

}  // namespace

Exit run_compare(const Args &args) {
  const std::string form = args.chosen("as", {"sentence", "table", "csv", "json", "markdown", "html"});
  const std::optional<std::string> output = args.value("output"), times = args.value("times");
  if (times && args.integer("repeat", 20, 0, most_runs) == 0)
    fail_usage("--times needs measured runs, but --repeat is 0");
  for (const std::optional<std::string> &path : {output, times})
    for (const size_t program : {0, 1})
      if (path) refuse_overwriting(args.words()[program], *path);
  device_option(args, "b-device");  // reports its errors before A is loaded
  const bool is_language = GenerationPlan::is_wanted(args);
  const ComparedPasses passes = is_language ? compare_language(args) : ComparedPasses{compare_programs(args), 1, {}};
  const opdyno::Comparison &found = passes.last;
  const std::string verdict = configured_text(found.report, "Verdict");
  const TableStyle style = form == "markdown" ? TableStyle::markdown : TableStyle::text;
  if (form == "json") print(report_text(found.report, ReportForm::json));
  else if (form == "csv") print(report_text(found.report, ReportForm::csv));
  else if (form == "html") print(report_text(found.report, ReportForm::html));
  else {
    std::string text = is_language ? cat(passes.pass, ": ", verdict) : verdict;
    if (passes.count == 2) text += "; no difference in the pass before";
    if (passes.count > 2) text += cat("; no difference in the ", passes.count - 1, " passes before");
    text += "\n";
    if (form != "sentence") text += cat("\n", operators_table(found.report, style), "\n");
    text += times_text(found.times, style);
    if (const std::string note = configured_text(found.report, "Note"); !note.empty())
      text += cat("note: ", note, "\n");
    style == TableStyle::text ? print_fitted(text) : print(text);
  }
  if (times && found.times) write_file(*times, report_text(found.times, report_form_of_file(*times, ReportForm::json)));
  else if (times) print_message(cat("opdyno compare: ", *times, " was not written, because a program failed\n"));
  if (output) write_file(*output, report_text(found.report, report_form_of_file(*output, ReportForm::json)));
  if (has_failure(found.report)) return Exit::failed;
  return is_equal(found.report) ? Exit::ok : Exit::mismatch;
}

}  // namespace opd::cli
