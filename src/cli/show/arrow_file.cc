// Writes Arrow files. Layout of files and messages: https://arrow.apache.org/docs/format/Columnar.html (IPC file
// format). Field numbers of the tables are in Message.fbs, Schema.fbs and File.fbs there.
#include "cli/show/arrow_file.h"

#include <cstring>

#include "cli/show/flat_buffer.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr std::string_view magic = "ARROW1";
constexpr int16_t version = 4;  // V5: Arrow 1.0 and later
constexpr size_t arrow_alignment = 8;
enum Header : uint8_t { schema_header = 1, dictionary_header = 2, batch_header = 3 };
enum Type : uint8_t { int_type = 2, float_type = 3, text_type = 5 };

size_t aligned(size_t size) { return (size + arrow_alignment - 1) / arrow_alignment * arrow_alignment; }

template <class T>
struct Released {  // a struct of the C interface, released at the end
  T value{};
  Released() = default;
  Released(const Released &) = delete;
  ~Released() {
    if (value.release) value.release(&value);
  }
};

// Reads the C interface's metadata: a count, then texts with their lengths.
std::vector<std::pair<std::string_view, std::string_view>> metadata_of(const char *at) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  const auto number = [&] {
    int32_t read;
    std::memcpy(&read, at, sizeof read);
    at += sizeof read;
    return read;
  };
  const auto text = [&] {
    const auto size = static_cast<size_t>(number());
    return std::string_view(std::exchange(at, at + size), size);
  };
  for (int32_t left = at ? number() : 0; left > 0; --left) {
    const std::string_view key = text();
    pairs.emplace_back(key, text());
  }
  return pairs;
}

class Writer {
 public:
  explicit Writer(const Report &report) {
    Released<ArrowArrayStream> stream;
    report.to_arrow(&stream.value);
    if (stream.value.get_schema(&stream.value, &schema_.value) != 0 ||
        stream.value.get_next(&stream.value, &batch_.value) != 0)
      throw Failure(Exit::failed, cat("Arrow: ", stream.value.get_last_error(&stream.value)));
  }

  std::string write() {
    out_ = std::string(magic) + std::string(arrow_alignment - magic.size(), '\0');
    {
      FlatBuffer flat;
      const auto message = begin_message(flat, schema_header, 0);
      flat.refer(message, write_schema(flat));
      add_message(flat, "");
    }
    std::vector<int64_t> dictionaries, batches;
    if (const ArrowArray *texts = dictionary()) add_batch(dictionary_header, {texts}, texts->length, dictionaries);
    const ArrowArray &batch = batch_.value;
    add_batch(batch_header, {batch.children, batch.children + batch.n_children}, batch.length, batches);
    add_word(UINT32_MAX), add_word(0);  // the end of the stream
    add_footer(dictionaries, batches);
    return std::move(out_);
  }

 private:
  using Field = FlatBuffer::Field;

  const ArrowArray *dictionary() const {  // shared by all columns
    for (int64_t i = 0; i < batch_.value.n_children; ++i)
      if (batch_.value.children[i]->dictionary) return batch_.value.children[i]->dictionary;
    return nullptr;
  }

  void add_word(uint32_t word) {  // little-endian
    for (int i = 0; i < 4; ++i) out_ += static_cast<char>(word >> (8 * i));
  }

  // Returns the place of the reference to the message's header.
  static size_t begin_message(FlatBuffer &flat, Header header, size_t body) {
    const auto message = flat.table({Field(FlatBuffer::i16(version)), FlatBuffer::u8(header), FlatBuffer::child(),
                                     FlatBuffer::i64(static_cast<int64_t>(body))});
    flat.set_root(message);
    return message.fields[2];
  }
  size_t add_message(const FlatBuffer &flat, std::string_view body) {
    const size_t size = aligned(flat.bytes().size());
    add_word(UINT32_MAX), add_word(static_cast<uint32_t>(size));
    out_ += flat.bytes();
    out_.append(size - flat.bytes().size(), '\0');
    out_ += body;
    return 8 + size;
  }

  static void write_metadata(FlatBuffer &flat, size_t from, const char *metadata) {
    const auto pairs = metadata_of(metadata);
    const size_t list = flat.references(pairs.size());
    flat.refer(from, list);
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto pair = flat.table({FlatBuffer::child(), FlatBuffer::child()});
      flat.refer(FlatBuffer::reference(list, i), pair.begin);
      flat.refer(pair.fields[0], flat.string(pairs[i].first));
      flat.refer(pair.fields[1], flat.string(pairs[i].second));
    }
  }

  size_t write_schema(FlatBuffer &flat) const {
    const ArrowSchema &all = schema_.value;
    const auto schema = flat.table(
        {FlatBuffer::absent(), FlatBuffer::child(), all.metadata ? FlatBuffer::child() : FlatBuffer::absent()});
    const size_t list = flat.references(static_cast<size_t>(all.n_children));
    flat.refer(schema.fields[1], list);
    for (int64_t i = 0; i < all.n_children; ++i)
      flat.refer(FlatBuffer::reference(list, static_cast<size_t>(i)), write_field(flat, *all.children[i]));
    if (all.metadata) write_metadata(flat, schema.fields[2], all.metadata);
    return schema.begin;
  }

  static size_t write_int64(FlatBuffer &flat) { return flat.table({FlatBuffer::i32(64), FlatBuffer::u8(1)}).begin; }

  static size_t write_field(FlatBuffer &flat, const ArrowSchema &column) {
    const std::string_view format = column.dictionary ? "u" : column.format;
    const Type type = format == "l" ? int_type : format == "g" ? float_type : text_type;
    const auto field = flat.table({FlatBuffer::child(), FlatBuffer::u8((column.flags & ARROW_FLAG_NULLABLE) != 0),
                                   FlatBuffer::u8(type), FlatBuffer::child(),
                                   column.dictionary ? FlatBuffer::child() : FlatBuffer::absent(), FlatBuffer::child(),
                                   column.metadata ? FlatBuffer::child() : FlatBuffer::absent()});
    flat.refer(field.fields[0], flat.string(column.name));
    constexpr int16_t double_precision = 2;
    flat.refer(field.fields[3], type == int_type     ? write_int64(flat)
                                : type == float_type ? flat.table({FlatBuffer::i16(double_precision)}).begin
                                                     : flat.table({}).begin);
    if (column.dictionary) {
      const auto encoding = flat.table({FlatBuffer::i64(0), FlatBuffer::child()});
      flat.refer(field.fields[4], encoding.begin);
      flat.refer(encoding.fields[1], write_int64(flat));
    }
    flat.refer(field.fields[5], flat.references(0));
    if (column.metadata) write_metadata(flat, field.fields[6], column.metadata);
    return field.begin;
  }

  // Adds a batch of columns, or the dictionary, and adds its place to `blocks`.
  void add_batch(Header header, const std::vector<const ArrowArray *> &columns, int64_t length,
                 std::vector<int64_t> &blocks) {
    std::string body;
    std::vector<int64_t> nodes, buffers;
    for (const ArrowArray *column : columns) {
      nodes.insert(nodes.end(), {column->length, std::max<int64_t>(column->null_count, 0)});
      add_buffers(*column, body, buffers);
    }
    FlatBuffer flat;
    size_t from = begin_message(flat, header, body.size());
    if (header == dictionary_header) {
      const auto texts = flat.table({FlatBuffer::i64(0), FlatBuffer::child()});
      flat.refer(from, texts.begin);
      from = texts.fields[1];
    }
    const auto batch = flat.table({FlatBuffer::i64(length), FlatBuffer::child(), FlatBuffer::child()});
    flat.refer(from, batch.begin);
    flat.refer(batch.fields[1], flat.structs(nodes, 2));
    flat.refer(batch.fields[2], flat.structs(buffers, 2));
    const auto offset = static_cast<int64_t>(out_.size());
    const auto head = static_cast<int64_t>(add_message(flat, body));
    blocks.insert(blocks.end(), {offset, head, static_cast<int64_t>(body.size())});
  }

  static void add_buffers(const ArrowArray &column, std::string &body, std::vector<int64_t> &buffers) {
    const auto rows = static_cast<size_t>(column.length);
    const auto add = [&](const void *data, size_t size) {
      buffers.insert(buffers.end(), {static_cast<int64_t>(body.size()), static_cast<int64_t>(data ? size : 0)});
      if (data) body.append(static_cast<const char *>(data), size);
      body.resize(aligned(body.size()));
    };
    add(column.null_count ? column.buffers[0] : nullptr, (rows + 7) / 8);
    if (column.n_buffers == 2) return add(column.buffers[1], 8 * rows);
    const auto *offsets = static_cast<const int32_t *>(column.buffers[1]);
    add(offsets, 4 * (rows + 1));
    add(column.buffers[2], static_cast<size_t>(offsets[rows]));
  }

  void add_footer(const std::vector<int64_t> &dictionaries, const std::vector<int64_t> &batches) {
    FlatBuffer flat;
    const auto footer =
        flat.table({FlatBuffer::i16(version), FlatBuffer::child(), FlatBuffer::child(), FlatBuffer::child()});
    flat.set_root(footer);
    flat.refer(footer.fields[1], write_schema(flat));
    flat.refer(footer.fields[2], flat.structs(dictionaries, 3));
    flat.refer(footer.fields[3], flat.structs(batches, 3));
    out_ += flat.bytes();
    add_word(static_cast<uint32_t>(flat.bytes().size()));
    out_ += magic;
  }

  Released<ArrowSchema> schema_;
  Released<ArrowArray> batch_;
  std::string out_;
};

}  // namespace

std::string arrow_file(const Report &report) { return Writer(report).write(); }

}  // namespace opd::cli
