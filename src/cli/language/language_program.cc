#include <algorithm>

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

  Names names() const {
    Names names;
    for (const FunctionInfo &function : program_.functions) names.push_back(function.name);
    return names;
  }

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
                   " is no program of a language model as --prefill and --decode need one: it has the ",
                   program_.functions.size() == 1 ? "function " : "functions ", join(names(), ", "), ", but ",
                   join(parts, " and "), ". If one has another name, say so by ", join(options, ", ")));
  }

  // The kind of a parameter: from the checks, or else from the annotations.
  std::string kind_of(const Param &param, const std::string &function, size_t index) const {
    if (param.kind != "any") return param.kind;
    const auto found = annotations_.find({function, static_cast<int64_t>(index)});
    return found == annotations_.end() || found->second.kind.empty() ? param.kind : found->second.kind;
  }

  // TVM's frontend puts the inputs before the states, and the weights after them.
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
                       ", with which no function of a language model is known"));
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

}  // namespace

size_t LanguageFunction::count(Role role) const {
  return static_cast<size_t>(std::ranges::count(params, role, &LanguageParam::role));
}

LanguageProgram LanguageProgram::of(const Program &program, const Args &args) {
  if (!program.vm_module)
    fail_usage(cat(args.words()[0], " holds no VM program, so --prefill and --decode have nothing to drive"));
  return Finder(program, args).find();
}

}  // namespace opd::cli
