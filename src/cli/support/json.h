// JSON: a parsed document to walk, and a writer that keeps numbers exact and the same under every locale.
#pragma once
#include <cjson/cJSON.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"
#include "cli/support/text.h"

namespace opd::cli {

template <auto release>
struct Release {
  template <class T>
  void operator()(T *owned) const {
    release(owned);
  }
};
using Json = std::unique_ptr<cJSON, Release<cJSON_Delete>>;

// Parses the library's own JSON; a syntax error is a defect, reported as Exit::failed.
Json parse_json(const std::string &text, std::string_view what);
// These return "" or NULL if the member is missing or of another kind. `object` may be NULL.
std::string json_string(const cJSON *object, const char *member);
int64_t json_number(const cJSON *object, const char *member);                    // 0 if it is missing
std::vector<std::string> json_strings(const cJSON *object, const char *member);  // a list's texts; none if missing
const cJSON *json_member(const cJSON *object, const char *member);
std::vector<const cJSON *> json_items(const cJSON *list);  // or an object's members; none if `list` is NULL
// Makes all texts and names of members safe for the terminal, as printable() does.
void make_printable(cJSON *item);

class JsonWriter {
 public:
  JsonWriter &begin_object() { return open('{'); }
  JsonWriter &end_object() { return close('}'); }
  JsonWriter &begin_array() { return open('['); }
  JsonWriter &end_array() { return close(']'); }
  JsonWriter &key(std::string_view name);
  JsonWriter &string(std::string_view text);
  JsonWriter &number(double number);  // NaN and infinities, which JSON lacks, become strings
  JsonWriter &number(std::integral auto number) { return raw(cat(number)); }
  JsonWriter &boolean(bool is_true) { return raw(is_true ? "true" : "false"); }
  JsonWriter &raw(std::string_view json);  // a value written before
  template <class Range>
  JsonWriter &list(const Range &items) {  // of numbers or texts
    begin_array();
    for (const auto &item : items)
      if constexpr (std::convertible_to<decltype(item), std::string_view>) string(item);
      else number(item);
    return end_array();
  }
  std::string take() { return std::move(out_); }

 private:
  JsonWriter &open(char bracket);
  JsonWriter &close(char bracket);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace opd::cli
