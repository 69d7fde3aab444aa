// A parsed JSON text whose numbers and strings are exact.
//
// cJSON stores numbers as doubles of at most 63 characters and strings as C strings. This loses digits of large counts
// and all text behind a NUL. So cJSON gets the text with every number and string blanked, at unchanged offsets. It
// checks the structure and builds the tree. The numbers and strings are then read from the original text, by their
// position in document order.
#pragma once
#include <cjson/cJSON.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace opd {

class JsonDocument {
 public:
  // `text` must outlive the document; `what` names it in messages. Throws OPD_BAD_FORMAT with the offset.
  JsonDocument(std::string_view text, const char *what);

  const cJSON *root() const { return root_.get(); }
  // Returns the offset of an element, or of a member's key. For a container without scalars: the offset of the next
  // token.
  size_t offset(const cJSON *item) const;
  std::string key(const cJSON *member) const;
  std::string text(const cJSON *string) const;
  std::string_view number(const cJSON *number) const;  // the number as the text writes it
  int64_t integer(const cJSON *number) const;          // throws if it has a fraction or exceeds int64
  double real(const cJSON *number_or_null) const;      // null gives NaN; 1e999 gives infinity
  std::string compact(const cJSON *item) const;        // JSON text without spaces
  [[noreturn]] void bad(size_t offset, std::string_view problem) const;
  [[noreturn]] void bad(const cJSON *item, std::string_view problem) const { bad(offset(item), problem); }

 private:
  struct Token {
    size_t offset, size;
  };
  struct Delete {
    void operator()(cJSON *item) const { cJSON_Delete(item); }
  };

  std::string blank();  // fills tokens_
  size_t end_of_string(size_t begin) const;
  size_t end_of_number(size_t begin) const;
  void number_tokens(cJSON *item, size_t &next);
  std::string_view token(const cJSON *item, bool of_key) const;
  std::string decode(std::string_view quoted) const;
  void append_compact(std::string &out, const cJSON *item) const;

  std::string_view text_;
  const char *what_;
  std::vector<Token> tokens_;
  std::unique_ptr<cJSON, Delete> root_;
};

}  // namespace opd
