// Writes the calls as an Arrow stream. Every cell of a column has 8 bytes: int64, double, or the index of a text. That
// is Arrow's layout of int64, float64 and dictionary indices. So columns without gaps are not copied; texts are copied
// once, as the dictionary. Every array keeps the batch alive until its consumer releases it, and the batch keeps the
// report.
#include <opdyno/arrow.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/json_writer.h"
#include "report/report.h"

namespace opd {
namespace {

struct Texts {
  std::vector<int32_t> offsets{0};
  std::string bytes;

  void add(std::string_view text) {
    append_utf8_text(bytes, text);
    if (bytes.size() > INT32_MAX) fail(OPD_UNSUPPORTED, "the report has more than 2 GiB of text, as Arrow's offsets");
    offsets.push_back(static_cast<int32_t>(bytes.size()));
  }
};

enum class Layout { kInt, kFloat, kDictionary, kText };

struct ArrowColumn {
  std::string name, metadata;
  Layout layout = Layout::kInt;
  const uint64_t *cells = nullptr;  // points into the report or into `copied`
  std::vector<uint64_t> copied;
  std::vector<uint8_t> validity;  // a bit per row; empty if every row has a cell
  int64_t missing = 0;
  Texts texts;  // used for kText
};

struct Batch {
  Ref<Report> report;
  std::string metadata;
  std::vector<ArrowColumn> columns;
  Texts dictionary;
};
using SharedBatch = std::shared_ptr<const Batch>;

// ---- from the report's columns to Arrow's

std::string arrow_metadata(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::string out;
  const auto add_number = [&](size_t number) {
    const auto narrow = static_cast<int32_t>(number);
    out.append(reinterpret_cast<const char *>(&narrow), sizeof narrow);
  };
  const auto add_text = [&](std::string_view text) { add_number(text.size()), out += text; };
  add_number(pairs.size());
  for (const auto &[key, value] : pairs) add_text(key), add_text(value);
  return out;
}

Layout layout_of(const Column &column) {
  bool integers = true, numbers = true, texts = true;
  const size_t count = column.common_kind() == MetricKind::kNone ? column.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const Metric metric = column.cell(i);
    integers &= metric.is_integer(), numbers &= !metric.is_text(), texts &= metric.is_text();
  }
  return integers ? Layout::kInt : numbers ? Layout::kFloat : texts ? Layout::kDictionary : Layout::kText;
}

uint64_t cell_bits(Metric metric, Layout layout) {
  if (layout == Layout::kFloat && metric.is_integer())
    return std::bit_cast<uint64_t>(static_cast<double>(metric.count()));
  return metric.bits;
}

void fill_texts(const Report &report, const Column &column, Texts &texts) {
  Cells cells(&column);
  for (size_t row = 0; row < report.num_rows(); ++row) {
    std::string text;
    const Metric metric = cells.at(row);
    if (metric.is_text()) text = report.text(metric.text());
    else if (metric.is_integer()) append(text, metric.count());
    else if (metric) append(text, metric.number());
    texts.add(text);
  }
}

ArrowColumn arrow_column(const Report &report, const Column &column) {
  ArrowColumn out;
  append_utf8_text(out.name, column.name());
  if (const auto kind = kind_name(column.common_kind()); !kind.empty())
    out.metadata = arrow_metadata({{"opdyno.kind", kind}});
  out.layout = layout_of(column);
  const size_t rows = report.num_rows();
  out.missing = static_cast<int64_t>(rows - column.size());
  if (out.missing) {
    out.validity.resize((rows + 7) / 8);
    for (size_t i = 0; i < column.size(); ++i) {
      const size_t row = column.row_of(i);
      out.validity[row / 8] = static_cast<uint8_t>(out.validity[row / 8] | 1 << row % 8);
    }
  }
  if (out.layout == Layout::kText) return fill_texts(report, column, out.texts), out;
  if (!out.missing && (column.common_kind() != MetricKind::kNone || out.layout == Layout::kDictionary)) {
    out.cells = column.bits().data();
    return out;
  }
  out.copied.resize(rows);
  for (size_t i = 0; i < column.size(); ++i) out.copied[column.row_of(i)] = cell_bits(column.cell(i), out.layout);
  out.cells = out.copied.data();
  return out;
}

SharedBatch make_batch(Ref<Report> report) {
  auto batch = std::make_shared<Batch>();
  batch->metadata =
      arrow_metadata({{"device_metrics", report->devices_json()}, {"configuration", report->configuration_json()}});
  bool dictionary = false;
  for (const auto &column : report->columns()) {
    if (!column.size()) continue;
    batch->columns.push_back(arrow_column(*report, column));
    dictionary |= batch->columns.back().layout == Layout::kDictionary;
  }
  for (size_t i = 0; dictionary && i < report->num_texts(); ++i) batch->dictionary.add(report->text(i));
  batch->report = std::move(report);
  return batch;
}

// ---- Arrow's structs

// The memory behind an Arrow struct; T is ArrowArray or ArrowSchema. Children that were not moved away are destroyed
// with it.
template <class T>
struct Node {
  SharedBatch batch;
  std::array<const void *, 3> buffers{};
  std::vector<T> children;
  std::vector<T *> child_places;
  T dictionary{};

  ~Node() {
    for (auto &child : children) end(child);
    end(dictionary);
  }
  static void end(T &item) {
    if (item.release) item.release(&item);
  }
  static void release(T *item) {
    std::unique_ptr<Node> last(static_cast<Node *>(item->private_data));
    item->release = nullptr;
  }
  // Makes a struct that owns `node`.
  static T wrap(std::unique_ptr<Node> node) {
    T out{};
    for (auto &child : node->children) node->child_places.push_back(&child);
    out.n_children = static_cast<int64_t>(node->children.size());
    if (out.n_children) out.children = node->child_places.data();
    if (node->dictionary.release) out.dictionary = &node->dictionary;
    out.release = release;
    if constexpr (std::is_same_v<T, ArrowArray>) out.buffers = node->buffers.data();
    out.private_data = node.release();
    return out;
  }
};

ArrowSchema make_schema(const SharedBatch &batch, const char *format, const char *name, const std::string &metadata,
                        std::unique_ptr<Node<ArrowSchema>> node = std::make_unique<Node<ArrowSchema>>()) {
  node->batch = batch;
  ArrowSchema out = Node<ArrowSchema>::wrap(std::move(node));
  out.format = format;
  out.name = name;
  out.metadata = metadata.empty() ? nullptr : metadata.data();
  out.flags = ARROW_FLAG_NULLABLE;
  return out;
}

ArrowSchema make_schema(const SharedBatch &batch) {
  static constexpr const char *kFormats[] = {"l", "g", "l", "u"};
  auto all = std::make_unique<Node<ArrowSchema>>();
  all->children.reserve(batch->columns.size());
  for (const auto &column : batch->columns) {
    auto node = std::make_unique<Node<ArrowSchema>>();
    if (column.layout == Layout::kDictionary) node->dictionary = make_schema(batch, "u", "", {});
    all->children.push_back(make_schema(batch, kFormats[static_cast<int>(column.layout)], column.name.c_str(),
                                        column.metadata, std::move(node)));
  }
  ArrowSchema out = make_schema(batch, "+s", "", batch->metadata, std::move(all));
  out.flags = 0;
  return out;
}

ArrowArray make_array(const SharedBatch &batch, size_t length, int64_t num_buffers,
                      std::unique_ptr<Node<ArrowArray>> node) {
  node->batch = batch;
  ArrowArray out = Node<ArrowArray>::wrap(std::move(node));
  out.length = static_cast<int64_t>(length);
  out.n_buffers = num_buffers;
  return out;
}

ArrowArray make_texts(const SharedBatch &batch, const Texts &texts, std::unique_ptr<Node<ArrowArray>> node) {
  node->buffers[1] = texts.offsets.data();
  node->buffers[2] = texts.bytes.data();
  return make_array(batch, texts.offsets.size() - 1, 3, std::move(node));
}

ArrowArray make_array(const SharedBatch &batch) {
  const size_t rows = batch->report->num_rows();
  auto all = std::make_unique<Node<ArrowArray>>();
  all->children.reserve(batch->columns.size());
  for (const auto &column : batch->columns) {
    auto node = std::make_unique<Node<ArrowArray>>();
    if (column.missing) node->buffers[0] = column.validity.data();
    if (column.layout == Layout::kDictionary)
      node->dictionary = make_texts(batch, batch->dictionary, std::make_unique<Node<ArrowArray>>());
    if (column.layout != Layout::kText) node->buffers[1] = column.cells;
    all->children.push_back(column.layout == Layout::kText ? make_texts(batch, column.texts, std::move(node))
                                                           : make_array(batch, rows, 2, std::move(node)));
    all->children.back().null_count = column.missing;
  }
  return make_array(batch, rows, 1, std::move(all));
}

// ---- the stream

struct Stream {
  SharedBatch batch;
  bool done = false;
};
Stream &stream_of(ArrowArrayStream *stream) { return *static_cast<Stream *>(stream->private_data); }

template <class F>
int without_exceptions(F body) {  // the consumer is C code
  try {
    body();
    return 0;
  } catch (...) { return ENOMEM; }
}

int get_schema(ArrowArrayStream *stream, ArrowSchema *out) {
  return without_exceptions([&] { *out = make_schema(stream_of(stream).batch); });
}

int get_next(ArrowArrayStream *stream, ArrowArray *out) {
  return without_exceptions([&] {
    Stream &state = stream_of(stream);
    *out = state.done ? ArrowArray{} : make_array(state.batch);
    state.done = true;
  });
}

const char *get_last_error(ArrowArrayStream *) { return nullptr; }

void release_stream(ArrowArrayStream *stream) {
  std::unique_ptr<Stream> last(&stream_of(stream));
  stream->release = nullptr;
}

}  // namespace

void report_to_arrow(Ref<Report> report, ArrowArrayStream *out) {
  auto stream = std::make_unique<Stream>(Stream{make_batch(std::move(report))});
  *out = {get_schema, get_next, get_last_error, release_stream, stream.release()};
}

}  // namespace opd
