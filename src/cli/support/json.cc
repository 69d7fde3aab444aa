#include "cli/support/json.h"

#include <algorithm>
#include <cmath>

#include "cli/support/failure.h"

namespace opd::cli {

Json parse_json(const std::string &text, std::string_view what) {
  Json json(cJSON_ParseWithLength(text.data(), text.size()));
  if (!json)
    throw Failure(Exit::failed, cat("the library's description of ", what, " is no JSON; this is a defect in opdyno"));
  return json;
}

const cJSON *json_member(const cJSON *object, const char *member) {
  return cJSON_GetObjectItemCaseSensitive(object, member);
}

std::vector<const cJSON *> json_items(const cJSON *list) {
  std::vector<const cJSON *> items;
  for (const cJSON *item = list ? list->child : nullptr; item; item = item->next) items.push_back(item);
  return items;
}

int64_t json_number(const cJSON *object, const char *member) {
  const cJSON *number = json_member(object, member);
  return cJSON_IsNumber(number) ? static_cast<int64_t>(number->valuedouble) : 0;
}

std::string json_string(const cJSON *object, const char *member) {
  const char *text = cJSON_GetStringValue(json_member(object, member));
  return text ? text : "";
}

std::vector<std::string> json_strings(const cJSON *object, const char *member) {
  std::vector<std::string> texts;
  for (const cJSON *item : json_items(json_member(object, member)))
    if (cJSON_IsString(item)) texts.emplace_back(item->valuestring);
  return texts;
}

void make_printable(cJSON *item) {
  for (; item; item = item->next) {
    for (char *text : {item->string, item->valuestring})
      if (text) {
        const std::string safe = printable(text);  // never longer
        std::copy_n(safe.c_str(), safe.size() + 1, text);
      }
    make_printable(item->child);
  }
}

JsonWriter &JsonWriter::open(char bracket) {
  raw(std::string_view(&bracket, 1));
  needs_comma_ = false;
  return *this;
}

JsonWriter &JsonWriter::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter &JsonWriter::key(std::string_view name) {
  string(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter &JsonWriter::raw(std::string_view json) {
  if (needs_comma_) out_ += ',';
  out_ += json;
  needs_comma_ = true;
  return *this;
}

JsonWriter &JsonWriter::string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    constexpr std::string_view hex = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += cat("\\u00", hex[c >> 4], hex[c & 15]);
    } else {
      quoted += c;
    }
  }
  return raw(quoted += '"');
}

JsonWriter &JsonWriter::number(double number) {
  if (std::isfinite(number)) return raw(cat(number));
  return string(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

}  // namespace opd::cli
