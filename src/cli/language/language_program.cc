// Finds the functions of a language model's program, and makes their arguments.
#include <algorithm>
#include <numeric>

#include "cli/language/language.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

using Names = std::vector<std::string>;

struct Wanted {
  std::string_view option;  // option that names another function
  std::string_view task;
  Names names;  // in order of preference
};

// Functions for batches come first, because the others may take only single sequences.
const Wanted create_wanted = {
    "create-function",
    "makes a KV cache",
    {"create_tir_paged_kv_cache", "create_paged_kv_cache", "create_flashinfer_paged_kv_cache", "create_kv_cache"}};
const Wanted rnn_wanted = {"create-function", "makes an RNN state", {"create_rnn_state"}};
const Wanted prefill_wanted = {"prefill-function", "computes prompts", {"batch_prefill", "prefill"}};
const Wanted decode_wanted = {"decode-function", "decodes tokens", {"batch_decode", "decode"}};
const Wanted embed_wanted = {"embed-function", "embeds tokens", {"embed"}};

class Finder {
 public:
  Finder(const Program &program, const Args &args)
      : program_(program), args_(args), annotations_(read_annotations(program.executable)) {}

  LanguageProgram find() {
    LanguageProgram found;
    const auto embed = choose(embed_wanted), prefill = choose(prefill_wanted), decode = choose(decode_wanted);
    auto creates = choose_creates();
    require(!creates.empty(), create_wanted);
    require(prefill.has_value(), prefill_wanted);
    require(decode.has_value(), decode_wanted);
    if (!missing_.empty()) refuse();
    if (embed) found.embed = function(*embed, false);
    found.prefill = function(*prefill, true);
    found.decode = function(*decode, true);
    const size_t states = std::max(found.prefill.count(Role::state), found.decode.count(Role::state));
    if (!args_.has(create_wanted.option) && creates.size() > states) creates.resize(states);
    for (const std::string &name : creates) found.creates.push_back(creator(name));
    check(found);
    return found;
  }

 private:
  std::optional<std::string> choose(const Wanted &wanted) const {
    if (const auto given = args_.value(wanted.option)) return named(wanted, *given);
    for (const std::string &name : wanted.names)
      if (program_.find(name)) return name;
    return std::nullopt;
  }

  std::string named(const Wanted &wanted, const std::string &given) const {
    if (!program_.find(given))
      fail_usage(cat("option '--", wanted.option, "': the program has no function '", given, "'.",
                     suggest(given, names()), " It has ", join(names(), ", ")));
    return given;
  }

  Names choose_creates() const {
    Names chosen;
    for (const std::string &given : args_.all(create_wanted.option)) chosen.push_back(named(create_wanted, given));
    if (!chosen.empty()) return chosen;
    for (const Wanted *wanted : {&create_wanted, &rnn_wanted})
      if (const auto name = choose(*wanted)) chosen.push_back(*name);
    return chosen;
  }

  Names names() const { return names_of(program_.functions); }

  void require(bool is_there, const Wanted &wanted) {
    if (!is_there) missing_.push_back(&wanted);
  }

  [[noreturn]] void refuse() const {
    std::vector<std::string> parts, options;
    for (const Wanted *wanted : missing_) {
      parts.push_back(cat("none that ", wanted->task, " (", join(wanted->names, ", "), ")"));
      options.push_back(cat("--", wanted->option));
    }
    fail_usage(cat(args_.words()[0],
                   " is not a program of a language model as --prefill and --decode need one: it has the ",
                   program_.functions.size() == 1 ? "function " : "functions ", join(names(), ", "), ", but ",
                   join(parts, " and "), ". If one has another name, say so by ", join(options, ", ")));
  }

  // The kind of a parameter: from the checks, or else from the annotations.
  std::string kind_of(const Param &param, const std::string &function, size_t index) const {
    if (param.kind != "any") return param.kind;
    const auto found = annotations_.find({function, static_cast<int64_t>(index)});
    return found == annotations_.end() || found->second.kind.empty() ? param.kind : found->second.kind;
  }

  // TVM's frontend puts the inputs before the states and the weights after the states.
  LanguageFunction function(const std::string &name, bool has_states) const {
    LanguageFunction found{name, {}};
    bool is_behind = !has_states;
    const std::vector<Param> &params = program_.find(name)->params;
    for (size_t i = 0; i < params.size(); ++i) {
      const std::string kind = kind_of(params[i], name, i);
      LanguageParam &param = found.params.emplace_back(LanguageParam{Role::input, params[i].name, {}});
      if (kind == "tuple" || (kind == "any" && contains(param.name, "param"))) param.role = Role::weights;
      else if (i == 0) param.role = Role::input;
      else if (kind == "tensor") param.role = is_behind ? Role::weight : Role::positions;
      else if (kind != "any")
        fail_usage(cat("parameter ", param.name, " of ", name, " is of the kind ", kind,
                       ", which functions of a language model do not support"));
      else if (contains(param.name, "position")) param.role = Role::positions;
      else is_behind = true, param.role = Role::state;
      describe(param, params[i], name, i);
    }
    return found;
  }

  void describe(LanguageParam &param, const Param &known, const std::string &function, size_t index) const {
    const auto found = annotations_.find({function, static_cast<int64_t>(index)});
    if (found != annotations_.end()) param.tensors = found->second.tensors;
    else if (known.dims && known.dtype) param.tensors = {{*known.dtype, *known.dims}};
  }

  LanguageFunction creator(const std::string &name) const {
    LanguageFunction found{name, {}};
    for (const Param &param : program_.find(name)->params) found.params.push_back({Role::size, param.name, {}});
    return found;
  }

  void check(const LanguageProgram &found) const {
    if (found.embed && found.embed->count(Role::state) != 0)
      fail_usage(cat(found.embed->name,
                     " takes a cache, as no function that embeds tokens does; name another one by --",
                     embed_wanted.option));
    for (const LanguageFunction *function : {&found.prefill, &found.decode}) {
      const size_t states = function->count(Role::state);
      if (states != found.creates.size() || states == 0)
        fail_usage(cat(function->name, " takes ", counted(static_cast<int64_t>(states), "cache"), ", but ",
                       found.creates.empty() ? "none" : std::to_string(found.creates.size()),
                       " can be made; name the functions that make them by --create-function, in the order of its "
                       "parameters"));
    }
  }

  const Program &program_;
  const Args &args_;
  const Annotations annotations_;
  std::vector<const Wanted *> missing_;
};

const Fill kWeight = {Fill::Kind::random, -0.05, 0.05, {}, {}};  // so that nothing overflows

// Finds a size by its name in TVM's and MLC's models, or else by the order of the five sizes of a paged cache.
std::optional<int64_t> size_of(const std::string &name, size_t index, size_t count, const StateSizes &sizes) {
  if (contains(name, "history")) return 1;
  if (contains(name, "window")) return 0;
  if (contains(name, "chunk")) return sizes.chunk;
  if (contains(name, "page")) return StateSizes::kPage;
  if (contains(name, "total") || contains(name, "seq_len")) return sizes.total;
  if (contains(name, "batch")) return sizes.batch;
  const int64_t in_order[] = {sizes.batch, sizes.total, sizes.chunk, StateSizes::kPage, 0};
  return count == std::size(in_order) ? std::optional(in_order[index]) : std::nullopt;
}

std::string where_of(const LanguageFunction &function, const LanguageParam &param) {
  return cat("parameter ", param.name, " of ", function.name);
}

// The layout of a decoding pass is [sequences, 1], of others [1, tokens].
std::vector<int64_t> layout(const LanguagePass &pass, size_t ndim) {
  const int64_t rows = pass.rows();
  if (ndim < 2) return {rows};
  return pass.is_decoding ? std::vector<int64_t>{rows, 1} : std::vector<int64_t>{1, rows};
}

bool is_integer(const std::string &dtype) { return contains(dtype, "int"); }

}  // namespace

size_t LanguageFunction::count(Role role) const {
  return static_cast<size_t>(std::ranges::count(params, role, &LanguageParam::role));
}

LanguageProgram LanguageProgram::of(const Program &program, const Args &args) {
  if (!program.vm_module)
    fail_usage(cat(args.words()[0], " holds no VM program, so --prefill and --decode have nothing to drive"));
  return Finder(program, args).find();
}

int64_t LanguagePass::rows() const { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

LanguageInputs::LanguageInputs(const LanguageProgram &program, const Args &args, DLDevice device)
    : random_(static_cast<uint64_t>(args.integer("seed", 0, 0, INT64_MAX)), 0), path_(args.value("params")) {
  if (args.all("params").size() > 1) fail_usage("--params takes one file here, with all weights in their order");
  maker_.seed = static_cast<uint64_t>(args.integer("seed", 0, 0, INT64_MAX));
  maker_.device = device;
  if (path_) params_ = Params::load(*path_);
  std::vector<const LanguageFunction *> all = {&program.prefill, &program.decode};
  if (program.embed) all.push_back(&*program.embed);
  for (const LanguageFunction *function : all)  // made now, so that a missing one is reported before anything runs
    for (const LanguageParam &param : function->params)
      if (param.role == Role::weights || param.role == Role::weight) weights_of(*function, param);
}

std::vector<Value> LanguageInputs::sizes(const LanguageFunction &create, const StateSizes &sizes) const {
  std::vector<Value> values;
  for (size_t i = 0; i < create.params.size(); ++i) {
    const auto size = size_of(create.params[i].name, i, create.params.size(), sizes);
    if (!size)
      fail_usage(cat(where_of(create, create.params[i]),
                     ": its name says none of batch, total, chunk, page, window and "
                     "history, so its size is not known; name another function by --create-function"));
    values.push_back(Value::of(Shape({*size})));
  }
  return values;
}

Tensor LanguageInputs::random_tensor(const AnnotatedTensor &of, const std::string &where, uint64_t stream) const {
  std::vector<int64_t> dims;
  for (const Dim &dim : of.dims) {
    const auto *size = std::get_if<int64_t>(&dim);
    if (!size)
      fail_usage(cat(where, " has the shape ", dims_text(of.dims), ", whose sizes are open; give it by --params"));
    dims.push_back(*size);
  }
  const DLDataType dtype = attempt(Exit::usage, where, [&] { return opdyno::dtype_of(of.dtype); });
  return maker_.make(dims, dtype, kWeight, where, stream);
}

Value LanguageInputs::make_weights(const LanguageFunction &function, const LanguageParam &param) const {
  const std::string where = where_of(function, param);
  const size_t wanted = param.tensors.size();
  if (!params_ && wanted == 0)
    fail_usage(cat(where, ": the program does not state which tensors it has; give them, as --params FILE"));
  if (params_ && wanted != 0 && params_.size() != wanted)
    fail_usage(cat(where, " takes ", counted(static_cast<int64_t>(wanted), "tensor"), ", but ", *path_, " has ",
                   params_.size()));
  std::vector<Value> items;
  for (size_t i = 0; i < (params_ ? params_.size() : wanted); ++i) {
    if (params_) {
      const std::string name = params_.name(i);
      Tensor tensor = attempt(Exit::failed, *path_, [&] { return params_.get_tensor(name.c_str()); });
      items.push_back(Value::of(maker_.to_device(std::move(tensor))));
    } else {
      items.push_back(Value::of(random_tensor(param.tensors[i], cat(where, "[", i, "]"), i)));
    }
  }
  return Value::of(Array(views_of(items)));
}

Value LanguageInputs::make_weight(const LanguageFunction &function, const LanguageParam &param) const {
  const std::string where = where_of(function, param);
  for (size_t i = 0; params_ && i < params_.size(); ++i)
    if (param.name == params_.name(i)) {
      Tensor tensor = attempt(Exit::failed, *path_, [&] { return params_.get_tensor(param.name.c_str()); });
      return Value::of(maker_.to_device(std::move(tensor)));
    }
  if (param.tensors.empty()) fail_usage(cat(where, ": the program does not state its shape; give it by --params"));
  return Value::of(random_tensor(param.tensors[0], where, made_.size()));
}

// The functions of a program share their weights.
Value LanguageInputs::weights_of(const LanguageFunction &function, const LanguageParam &param) {
  const auto [found, is_new] = made_.try_emplace(param.name);
  if (is_new) found->second = param.role == Role::weight ? make_weight(function, param) : make_weights(function, param);
  return found->second;
}

Tensor LanguageInputs::tokens(const std::vector<int64_t> &dims, const std::string &dtype) {
  const Tensor made(dims, dtype == "int64" ? "int64" : "int32");
  for (int64_t i = 0; i < made.size(); ++i) {
    const int64_t token = random_.integer(0, vocabulary_ - 1);
    if (dtype == "int64") made.data<int64_t>()[i] = token;
    else made.data<int32_t>()[i] = static_cast<int32_t>(token);
  }
  return maker_.to_device(made);
}

// The input without an embed function: tokens, or random numbers instead of embedded tokens.
Value LanguageInputs::input_of(const LanguageFunction &function, const LanguageParam &param, const LanguagePass &pass) {
  if (param.tensors.empty()) return Value::of(tokens({pass.rows()}, "int32"));
  const AnnotatedTensor &tensor = param.tensors[0];
  std::vector<int64_t> dims = layout(pass, tensor.dims.size() - (is_integer(tensor.dtype) ? 0 : 1));
  if (is_integer(tensor.dtype)) return Value::of(tokens(dims, tensor.dtype));
  AnnotatedTensor embedded{tensor.dtype, {dims.begin(), dims.end()}};
  embedded.dims.push_back(tensor.dims.back());
  return Value::of(random_tensor(embedded, where_of(function, param), 0));
}

// The result of embed is [tokens, size]. Other functions take three dimensions, unless their checks give other ones.
Value LanguageInputs::embedded(const LanguageFunction &function, const LanguagePass &pass, const Value &input) {
  const LanguageParam &param = function.params[0];
  const Tensor given = Tensor::of(input);
  const size_t ndim = param.tensors.empty() ? 3 : param.tensors[0].dims.size();
  if (given.view().ndim == 0 || ndim == 0) return input;
  std::vector<int64_t> dims = layout(pass, ndim - 1);
  dims.push_back(given.shape().back());
  return Value::of(given.reshape(dims));
}

// The positions of the last row of each sequence.
Value LanguageInputs::positions(const LanguagePass &pass) const {
  const Tensor rows({static_cast<int64_t>(pass.counts.size())}, "int32");
  int64_t end = 0;
  for (size_t i = 0; i < pass.counts.size(); ++i)
    rows.data<int32_t>()[i] = static_cast<int32_t>((end += pass.counts[i]) - 1);
  return Value::of(maker_.to_device(rows));
}

std::vector<Value> LanguageInputs::arguments(const LanguageFunction &function, const LanguagePass &pass,
                                             const std::vector<Value> &states) {
  std::vector<Value> values;
  size_t next_state = 0;
  for (const LanguageParam &param : function.params) {
    if (param.role == Role::input) values.push_back(input_of(function, param, pass));
    if (param.role == Role::positions) values.push_back(positions(pass));
    if (param.role == Role::state) values.push_back(states[next_state++]);
    if (param.role == Role::weights || param.role == Role::weight) values.push_back(weights_of(function, param));
  }
  return values;
}

}  // namespace opd::cli
