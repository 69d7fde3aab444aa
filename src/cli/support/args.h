// The command line: options are looked up in a command's table; unknown ones get a "did you mean".
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opd::cli {

struct Option {
  std::string_view name;   // without the dashes
  char letter;             // one-letter form, or 0
  std::string_view value;  // name of the value in help; "" for a flag
  std::string_view help;
  bool repeatable = false;
  bool may_lack_value = false;  // --name=VALUE, or --name alone, whose value is ""
};

class Args {
 public:
  // Reads the words after the command. Fails with Exit::usage.
  static Args parse(const std::vector<std::string> &words, const std::vector<const Option *> &options);

  bool has(std::string_view name) const { return values_.contains(name); }
  // The value of an option that may be given once; nullopt if it is absent.
  std::optional<std::string> value(std::string_view name) const;
  // The value for C, valid as long as this object; NULL if it is absent.
  const char *text(std::string_view name) const { return has(name) ? all(name).back().c_str() : nullptr; }
  const std::vector<std::string> &all(std::string_view name) const;
  const std::vector<std::string> &words() const { return words_; }
  Args with_words(std::vector<std::string> words) const;  // the same options, other words
  Args of_program(size_t program) const;                  // the same options; A B [FN] becomes A [FN] or B [FN]
  Args without(std::initializer_list<std::string_view> names) const;  // a copy without these options
  Args of_b() const;  // the values of --b-device and --b-params become those of --device and --params

  // Typed values. If the text cannot be converted, the error has Exit::usage and names the option.
  int64_t integer(std::string_view name, int64_t otherwise, int64_t least, int64_t most) const;
  double real(std::string_view name, double otherwise) const;  // a number ≥ 0
  std::optional<int64_t> duration_ns(std::string_view name) const;
  std::optional<uint64_t> bytes(std::string_view name) const;
  // The index of the value in `names`. The first name is the default.
  size_t choice(std::string_view name, const std::vector<std::string> &names) const;
  std::string chosen(std::string_view name, const std::vector<std::string> &names) const {
    return names[choice(name, names)];
  }

 private:
  void add(const Option &option, std::string value);
  template <class Read>
  auto typed(std::string_view name, const Read &read, std::string_view wanted) const;

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> words_;
};

}  // namespace opd::cli
