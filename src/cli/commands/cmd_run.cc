// `opdyno run`: calls a function, then shows, saves or checks its results.
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/load/runner.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/tensors/element.h"
#include "cli/tensors/results.h"

namespace opd::cli {

namespace {

constexpr size_t json_limit = 1000;  // most elements of a tensor printed without --full

// Indices of a plain function's output arguments: --out-arg, or the last tensor.
std::vector<size_t> result_arguments(const Args &args, const std::vector<opd_value> &arguments) {
  const auto count = static_cast<int64_t>(arguments.size());
  std::vector<size_t> indices;
  for (const std::string &text : args.all("out-arg")) {
    const std::optional<int64_t> given = read_int(text);
    const int64_t index = given ? (*given < 0 ? *given + count : *given) : -1;
    if (index < 0 || index >= count || arguments[static_cast<size_t>(index)].type != OPD_TENSOR)
      fail_usage(cat("option '--out-arg' takes the place of a tensor among the ", count, " arguments, from 0 on, not '",
                     text, "'"));
    indices.push_back(static_cast<size_t>(index));
  }
  if (!indices.empty()) return indices;
  for (size_t i = arguments.size(); i-- > 0;)
    if (arguments[i].type == OPD_TENSOR) return {i};
  return {};
}

void begin_recording(const Runner &runner, const Args &args) {
  const auto path = args.value("record");
  if (!path) return;
  auto options = opdyno::defaults(opd_record_options_init);
  options.with_program = !args.has("without-program");
  options.with_outputs = args.has("with-outputs");
  options.with_operators = args.has("with-operators");
  options.with_paths = args.has("with-paths");
  attempt(Exit::failed, "", [&] { runner.target().vm().record_next_call(*path, &options); });
}

// Throws unless the call was kept.
void end_recording(const Runner &runner, const Args &args) {
  if (args.has("record")) attempt(Exit::failed, "", [&] { runner.target().vm().end_recording(); });
}

void check_record_options(const Args &args) {
  for (const std::string_view option : {"with-paths", "with-outputs", "with-operators", "without-program"})
    if (args.has(option) && !args.has("record")) fail_usage(cat("option '--", option, "' needs --record"));
  if (args.has("record") && args.has("on")) fail_usage("option '--record' records calls of this machine, not of --on");
  if (const auto path = args.value("record")) refuse_overwriting(args.words()[0], *path);
}

// The result of a call. If a plain function returns nothing, its output tensors are the result.
Value result_of(Runner &runner, const Args &args) {
  const bool is_plain = !runner.target().is_program();
  if (!is_plain && args.has("out-arg"))
    fail_usage("option '--out-arg' is for plain functions; a program returns its results");
  if (is_plain && args.has("record"))
    fail_usage(
        cat("option '--record' records functions of programs; ", runner.target().name(), " is a plain function"));
  const std::vector<opd_value> &arguments = runner.arguments();
  const std::vector<size_t> written = is_plain ? result_arguments(args, arguments) : std::vector<size_t>();
  runner.start();
  begin_recording(runner, args);
  Value result = runner.call();
  if (!is_plain || (result.type() != OPD_NONE && !args.has("out-arg")) || written.empty()) return result;
  if (written.size() == 1) return Value::retain(arguments[written[0]]);
  return Value::of(Array(mapped(written, [&](size_t index) { return arguments[index]; })));
}

std::string results_text(const std::vector<Leaf> &leaves, bool with_elements, bool full) {
  std::string text;
  for (const Leaf &leaf : leaves) {
    const bool is_tensor = leaf.value.type() == OPD_TENSOR;
    text += cat(leaf.name, ": ", is_tensor ? tensor_type(leaf.tensor) : opdyno::to_string(leaf.value.view()), "\n");
    const std::string elements = is_tensor && with_elements ? tensor_text(leaf.tensor, full) : "";
    if (!elements.empty()) text += elements + "\n";
  }
  return text;
}

void write_elements(JsonWriter &json, const DLTensor &view) {
  const Scalar scalar = scalar_of(view.dtype, "printing");
  const size_t count = element_count(view) * static_cast<size_t>(scalar.per_element);
  json.begin_array();
  for (size_t i = 0; i < count; ++i) {
    const std::string number = print_scalar(data_of(view), i, scalar, 0);
    const bool is_finite = number.find_first_of("in") == std::string::npos;  // "inf", "nan"
    if (is_finite) json.raw(number);
    else json.string(number);
  }
  json.end_array();
}

// Writes a value that is not a tensor: as its JSON type, or else as text.
void write_value(JsonWriter &json, const Value &value) {
  const opd_value &view = value.view();
  if (view.type == OPD_INT) json.number(view.u.int64);
  else if (view.type == OPD_FLOAT) json.number(view.u.float64);
  else if (view.type == OPD_BOOL) json.boolean(view.u.int64 != 0);
  else if (view.type == OPD_NONE) json.raw("null");
  else if (view.type == OPD_SHAPE) json.list(Shape::of(view).dims());
  else if (view.type == OPD_STRING || view.type == OPD_SMALL_STRING) json.string(value.string());
  else json.string(value.to_string());
}

void write_leaf(JsonWriter &json, const Leaf &leaf, bool full) {
  json.begin_object();
  if (leaf.value.type() == OPD_TENSOR) {
    const DLTensor &view = leaf.tensor.view();
    json.key("dtype").string(opdyno::to_string(view.dtype)).key("shape").list(leaf.tensor.shape());
    if (has_scalars(view.dtype) && (full || element_count(view) <= json_limit)) write_elements(json.key("data"), view);
  } else {
    write_value(json.key("value"), leaf.value);
  }
  json.end_object();
}

std::string results_json(const Runner &runner, const std::vector<Leaf> &leaves,
                         const std::vector<Comparison> &comparisons, bool full) {
  JsonWriter json;
  json.begin_object().key("function").string(runner.target().name()).key("outputs").begin_object();
  for (const Leaf &leaf : leaves) write_leaf(json.key(leaf.name), leaf, full);
  json.end_object();
  if (!comparisons.empty()) {
    json.key("comparisons").begin_object();
    for (const Comparison &comparison : comparisons) {
      json.key(comparison.name).begin_object().key("ok").boolean(comparison.is_good());
      json.key("elements").number(comparison.elements).key("mismatches").number(comparison.mismatches);
      json.key("largest_difference").number(comparison.largest_difference);
      json.key("text").string(comparison.text()).end_object();
    }
    json.end_object();
  }
  return json.end_object().take() + "\n";
}

// Writes one line per element: output, index in row-major order, number.
std::string results_csv(const std::vector<Leaf> &leaves) {
  std::string csv = "output,index,value\n";
  for (const Leaf &leaf : leaves) {
    if (!leaf.tensor) continue;
    const DLTensor &view = leaf.tensor.view();
    const Scalar scalar = scalar_of(view.dtype, leaf.name);
    const size_t count = element_count(view) * static_cast<size_t>(scalar.per_element);
    for (size_t i = 0; i < count; ++i)
      csv += cat(csv_field(leaf.name), ",", i, ",", print_scalar(data_of(view), i, scalar, 0), "\n");
  }
  return csv;
}

}  // namespace

Exit run_run(const Args &args) {
  const bool checks = args.has("expect");
  for (const std::string_view option : {"rtol", "atol", "equal-nan"})
    if (args.has(option) && !checks) fail_usage(cat("option '--", option, "' needs --expect"));
  if (args.has("json") && args.has("csv")) fail_usage("--json and --csv exclude each other");
  check_record_options(args);
  args.real("rtol", 0), args.real("atol", 0);  // checks the numbers before anything runs

  if (const auto path = args.value("output")) {
    check_results_path(*path);
    refuse_overwriting(args.words()[0], *path);
  }
  Runner runner(args);
  const std::vector<Leaf> leaves = flatten(result_of(runner, args));
  if (const auto path = args.value("output")) save_leaves(leaves, *path);
  const std::vector<Comparison> comparisons =
      checks ? compare(leaves, Expectation::from(args)) : std::vector<Comparison>();
  runner.progress().clear();
  if (const BoundsCheck *check = runner.target().bounds_check())
    print_message(cat("opdyno run: ", check->summary(), "\n"));

  const bool is_good = std::ranges::all_of(comparisons, &Comparison::is_good);
  if (args.has("json")) {
    print(results_json(runner, leaves, comparisons, args.has("full")));
  } else if (args.has("csv")) {
    print(results_csv(leaves));
  } else {
    print(results_text(leaves, args.has("full") || (!checks && !args.has("output")), args.has("full")));
    if (is_good)
      for (const Comparison &comparison : comparisons) print(comparison.text() + "\n");
  }
  end_recording(runner, args);  // last, because the results are good even if the call could not be kept
  if (is_good) return Exit::ok;
  throw Failure(Exit::mismatch, join(mapped(comparisons, &Comparison::text), "\n"));
}

}  // namespace opd::cli
