#include "cli/support/args.h"

#include <algorithm>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

const Option &find_long(std::string_view name, const std::vector<const Option *> &options) {
  for (const Option *option : options)
    if (option->name == name) return *option;
  const auto names = mapped(options, [](const Option *option) { return cat("--", option->name); });
  fail_usage(cat("unknown option '--", name, "'.", suggest(cat("--", name), names)));
}

const Option &find_short(char letter, const std::vector<const Option *> &options) {
  for (const Option *option : options)
    if (option->letter == letter) return *option;
  fail_usage(cat("unknown option '-", letter, "'."));
}

}  // namespace

void Args::add(const Option &option, std::string value) {
  std::vector<std::string> &values = values_[std::string(option.name)];
  if (!values.empty() && !option.repeatable) fail_usage(cat("option '--", option.name, "' is given twice"));
  values.push_back(std::move(value));
}

Args Args::parse(const std::vector<std::string> &words, const std::vector<const Option *> &options) {
  Args args;
  bool options_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (options_ended || word.size() < 2 || word[0] != '-') {  // "-" alone means standard input or output
      args.words_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const bool is_long = word[1] == '-';
    const size_t equals = is_long ? word.find('=') : std::string_view::npos;
    const Option &option = is_long ? find_long(word.substr(2, equals - 2), options) : find_short(word[1], options);
    const bool attached = is_long ? equals != std::string_view::npos : word.size() > 2;
    if (option.value.empty()) {
      if (attached) fail_usage(cat("option '--", option.name, "' takes no value, '", word, "' gives one"));
      args.add(option, "");
    } else if (attached) {
      args.add(option, std::string(word.substr(is_long ? equals + 1 : 2)));
    } else if (option.may_lack_value) {
      args.add(option, "");
    } else if (i + 1 < words.size()) {
      args.add(option, words[++i]);
    } else {
      fail_usage(cat("option '", word, "' needs a value: ", word, " ", option.value));
    }
  }
  return args;
}

Args Args::without(std::initializer_list<std::string_view> names) const {
  Args rest = *this;
  std::erase_if(rest.values_, [&](const auto &entry) { return std::ranges::count(names, entry.first) > 0; });
  return rest;
}

Args Args::of_program(size_t program) const {
  std::vector<std::string> words = {words_[program]};
  if (words_.size() > 2) words.push_back(words_[2]);
  return with_words(std::move(words));
}

Args Args::of_b() const {
  Args rest = *this;
  for (const std::string name : {"device", "params"})
    if (has("b-" + name)) rest.values_[name] = all("b-" + name);
  return rest;
}

Args Args::with_words(std::vector<std::string> words) const {
  Args args = *this;
  args.words_ = std::move(words);
  return args;
}

std::optional<std::string> Args::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second.back());
}

const std::vector<std::string> &Args::all(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

// `read` returns nullopt for a text that is not `wanted`.
template <class Read>
auto Args::typed(std::string_view name, const Read &read, std::string_view wanted) const {
  const std::optional<std::string> text = value(name);
  const auto read_value = text ? read(*text) : std::nullopt;
  if (text && !read_value) fail_usage(cat("option '--", name, "' takes ", wanted, ", not '", *text, "'"));
  return read_value;
}

int64_t Args::integer(std::string_view name, int64_t otherwise, int64_t least, int64_t most) const {
  const auto read = [&](std::string_view text) {
    const std::optional<int64_t> number = read_int(text);
    return number && *number >= least && *number <= most ? number : std::nullopt;
  };
  return typed(name, read, cat("an integer from ", least, " to ", most)).value_or(otherwise);
}

double Args::real(std::string_view name, double otherwise) const {
  const auto read = [](std::string_view text) {
    const std::optional<double> number = read_double(text);
    return number && *number >= 0 ? number : std::nullopt;
  };
  return typed(name, read, "a number of at least 0").value_or(otherwise);
}

std::optional<int64_t> Args::duration_ns(std::string_view name) const {
  return typed(name, read_duration, "a time as 250ms, 5s or 2m");
}

std::optional<uint64_t> Args::bytes(std::string_view name) const {
  return typed(name, read_bytes, "a size as 4096, 64K, 512M or 2G");
}

size_t Args::choice(std::string_view name, const std::vector<std::string> &names) const {
  const std::string wanted = value(name).value_or(names[0]);
  const auto found = std::ranges::find(names, wanted);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  const std::string but_last = join({names.begin(), names.end() - 1}, ", ");
  fail_usage(cat("option '--", name, "' takes ", but_last, " or ", names.back(), ", not '", wanted, "'"));
}

}  // namespace opd::cli
