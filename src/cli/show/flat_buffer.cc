#include "cli/show/flat_buffer.h"

namespace opd::cli {

FlatBuffer::Table FlatBuffer::table(std::span<const Field> fields) {
  constexpr size_t word = 8, head = 4;  // largest field; a table begins with the distance to its list of offsets
  std::vector<size_t> offsets;
  size_t size = head;
  for (const Field &field : fields) {
    if (field.size) size = (size + field.size - 1) / field.size * field.size;
    offsets.push_back(field.size ? size : 0);
    size += field.size;
  }
  const size_t list_bytes = 4 + 2 * fields.size();
  align(word, list_bytes);
  append(2, list_bytes);
  append(2, size);
  for (const size_t offset : offsets) append(2, offset);
  Table made{bytes_.size(), {}};
  append(4, list_bytes);
  bytes_.resize(made.begin + size);
  for (size_t i = 0; i < fields.size(); ++i) {
    made.fields.push_back(made.begin + offsets[i]);
    if (fields[i].size) put(made.fields[i], fields[i].size, fields[i].value);
  }
  return made;
}

size_t FlatBuffer::string(std::string_view text) {
  align(4);
  const size_t begin = append(4, text.size());
  bytes_ += text;
  bytes_ += '\0';
  return begin;
}

size_t FlatBuffer::references(size_t count) {
  align(4);
  const size_t begin = append(4, count);
  bytes_.resize(bytes_.size() + 4 * count);
  return begin;
}

size_t FlatBuffer::structs(std::span<const int64_t> words, size_t words_each) {
  align(8, 4);
  const size_t begin = append(4, words.size() / words_each);
  for (const int64_t each : words) append(8, static_cast<uint64_t>(each));
  return begin;
}

}  // namespace opd::cli
