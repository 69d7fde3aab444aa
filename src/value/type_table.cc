#include "value/type_table.h"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "base/fork_mutex.h"
#include "value/hash.h"

namespace opd {
namespace {

constexpr int32_t kFirstDynamicType = 128;
constexpr int32_t kChunk = 256, kChunks = 4096;  // a million types

struct StaticType {
  int32_t index;
  const char *key;
};
constexpr StaticType kPlainTypes[] = {
    {OPD_NONE, "None"},
    {OPD_INT, "int"},
    {OPD_BOOL, "bool"},
    {OPD_FLOAT, "float"},
    {OPD_POINTER, "void*"},
    {OPD_DTYPE, "DataType"},
    {OPD_DEVICE, "Device"},
    {OPD_DLTENSOR, "DLTensor*"},
    {OPD_CSTRING, "const char*"},
    {OPD_BYTES_VIEW, "TVMFFIByteArray*"},
    {kRvalueReference, "ObjectRValueRef"},
    {OPD_SMALL_STRING, "ffi.SmallStr"},
    {OPD_SMALL_BYTES, "ffi.SmallBytes"},
    {13, "ffi.Unchanged"},
};
constexpr StaticType kObjectTypes[] = {
    {OPD_STRING, "ffi.String"},
    {kBigInt, "ffi.BigInt"},
    {OPD_BYTES, "ffi.Bytes"},
    {OPD_ERROR, "ffi.Error"},
    {OPD_FUNCTION, "ffi.Function"},
    {OPD_SHAPE, "ffi.Shape"},
    {OPD_TENSOR, "ffi.Tensor"},
    {OPD_ARRAY, "ffi.Array"},
    {kList, "ffi.List"},
    {OPD_MAP, "ffi.Map"},
    {kDict, "ffi.Dict"},
    {OPD_MODULE, "ffi.Module"},
    {kOpaqueObject, "ffi.OpaquePyObject"},
};

struct Entry : TypeInfo {
  std::string key_text;
  std::vector<const TypeInfo *> ancestor_list;
  std::vector<FieldInfo> field_list;
  std::vector<MethodInfo> method_list;
  TypeMetadata own_metadata;
  int32_t slots = 1, used_slots = 1;
  bool may_overflow = true;
};

struct Column : AttributeColumn {
  std::vector<Value> values;
};

// Up to a million types in chunks of 256. Static, because a constructor of TypeTable would write to all these pages and
// so occupy them.
constinit std::atomic<std::atomic<Entry *> *> type_chunks[kChunks];

class TypeTable {
 public:
  static TypeTable &get() {
    static auto *table = new TypeTable;  // never destroyed: artifacts may ask while the process exits
    return *table;
  }

  RecursiveForkMutex guard{LockRank::kTypes};  // destructors of dropped values may call back

  // No lock is needed: chunks and entries are published by a release store, and are never moved or freed.
  Entry *find(int32_t index) const noexcept {
    if (index < 0 || index >= kChunk * kChunks) return nullptr;
    const auto *chunk = type_chunks[index / kChunk].load(std::memory_order_acquire);
    return chunk ? chunk[index % kChunk].load(std::memory_order_acquire) : nullptr;
  }
  Entry &at(int32_t index) const {
    if (Entry *entry = find(index)) return *entry;
    fail_as("RuntimeError", OPD_NOT_FOUND, "there is no type of index ", index);
  }
  Entry *find(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

  Entry &make(const NewType &type) {
    Entry *parent = type.parent < 0 ? nullptr : &at(type.parent);
    require(
        type.child_slots >= 0 && type.child_slots < kChunk * kChunks && type.depth == (parent ? parent->depth + 1 : 0),
        "type ", type.key, " of depth ", type.depth, " with ", type.child_slots,
        " child slots does not fit below its parent ", parent ? text_of(parent->key) : "(none)");
    auto entry = std::make_unique<Entry>();
    entry->index = index_for(type, parent);
    entry->key_text = type.key;
    entry->key = opd::bytes_of(entry->key_text);
    entry->key_hash = stable_hash(type.key);
    entry->depth = type.depth;
    entry->slots = type.child_slots + 1;
    entry->may_overflow = type.may_overflow && (!parent || parent->may_overflow);
    if (parent) {
      entry->ancestor_list = parent->ancestor_list;
      entry->ancestor_list.push_back(parent);
    }
    entry->ancestors = entry->ancestor_list.data();
    by_key_.emplace(entry->key_text, entry.get());
    place(entry->index).store(entry.get(), std::memory_order_release);
    return *entry.release();
  }

  ByteArray keep(const ByteArray &text) {
    if (!text.size) return {nullptr, 0};
    texts_.emplace_back(text_of(text));
    return opd::bytes_of(texts_.back());
  }
  View keep(const View &value) {
    values_.emplace_back(value);
    return values_.back();
  }

  Column *column(std::string_view name, bool make) {
    const auto found = columns_.find(name);
    if (found != columns_.end()) return found->second.get();
    return make ? columns_.emplace(name, std::make_unique<Column>()).first->second.get() : nullptr;
  }

  int32_t end() const { return next_; }

 private:
  TypeTable() {
    make({"ffi.Object", OPD_OBJECT, 0, 0, true, -1}).own_metadata.total_size = sizeof(Object);
    at(OPD_OBJECT).metadata = &at(OPD_OBJECT).own_metadata;
    for (const auto &[index, key] : kPlainTypes) make({key, index, 0, 0, false, -1});
    for (const auto &[index, key] : kObjectTypes) make({key, index, 1, 0, false, OPD_OBJECT});
    // C++ compiled with tvm-ffi's headers keeps the result of its first lookup, even null. So these columns exist from
    // the start.
    for (const char *name : {"__any_hash__", "__any_equal__"}) column(name, true);
  }

  std::atomic<Entry *> &place(int32_t index) {
    auto &chunk = type_chunks[index / kChunk];
    if (!chunk.load(std::memory_order_relaxed))
      chunk.store(new std::atomic<Entry *>[kChunk](), std::memory_order_release);
    return chunk.load(std::memory_order_relaxed)[index % kChunk];
  }

  int32_t index_for(const NewType &type, Entry *parent) {
    if (type.static_index >= 0) {
      require(type.static_index < kFirstDynamicType, "type ", type.key, " asks for index ", type.static_index,
              ", which is none of a static type");
      if (const Entry *taken = find(type.static_index))
        fail_as("RuntimeError", OPD_ALREADY_EXISTS, "type ", type.key, " asks for index ", type.static_index,
                ", which ", taken->key_text, " has");
      return type.static_index;
    }
    require(parent, "type ", type.key, " has neither an index nor a parent");
    const int32_t count = type.child_slots + 1;
    if (parent->used_slots + count <= parent->slots) {
      parent->used_slots += count;
      return parent->index + parent->used_slots - count;
    }
    if (!parent->may_overflow)
      fail_as("RuntimeError", OPD_OUT_OF_RANGE, "type ", parent->key_text, " has no room for a further type ",
              type.key);
    if (next_ > kChunk * kChunks - count) fail(OPD_OUT_OF_RANGE, "there is no index left for type ", type.key);
    next_ += count;
    return next_ - count;
  }

  std::map<std::string_view, Entry *> by_key_;
  std::map<std::string, std::unique_ptr<Column>, std::less<>> columns_;
  std::deque<std::string> texts_;
  std::deque<Value> values_;
  int32_t next_ = kFirstDynamicType;
};

}  // namespace

const TypeInfo *find_type(int32_t index) noexcept { return TypeTable::get().find(index); }

const TypeInfo *find_type(std::string_view key) noexcept {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  return table.find(key);
}

std::vector<std::string> type_keys() {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  std::vector<std::string> keys;
  for (int32_t i = 0; i < table.end(); ++i)
    if (const Entry *entry = table.find(i)) keys.push_back(entry->key_text);
  return keys;
}

int32_t get_or_make_type(const NewType &type) {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  if (const Entry *known = table.find(type.key)) return known->index;
  return type.parent == -2 ? -2 : table.make(type).index;
}

int32_t register_type(std::string_view key) { return get_or_make_type({key}); }

const char *type_key(int32_t index) {
  const TypeInfo *type = find_type(index);
  return type ? type->key.data : "unknown";
}

void add_field(int32_t type, const FieldInfo &given) {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  Entry &entry = table.at(type);
  for (const FieldInfo &other : entry.field_list)
    if (text_of(other.name) == text_of(given.name))
      fail_as("RuntimeError", OPD_ALREADY_EXISTS, "type ", entry.key_text, " has a field ", text_of(given.name),
              " already");
  FieldInfo field = given;
  field.name = table.keep(given.name);
  field.doc = table.keep(given.doc);
  field.metadata = table.keep(given.metadata);
  if ((given.flags & kFieldSetterIsFunction) && given.setter) table.keep(view_of(static_cast<Object *>(given.setter)));
  field.default_value = given.flags & kFieldHasDefault ? table.keep(given.default_value) : opd_none();
  entry.field_list.push_back(field);
  entry.fields = entry.field_list.data();
  entry.num_fields = static_cast<int32_t>(entry.field_list.size());
}

void add_method(int32_t type, const MethodInfo &given) {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  Entry &entry = table.at(type);
  MethodInfo method = given;
  method.name = table.keep(given.name);
  method.doc = table.keep(given.doc);
  method.metadata = table.keep(given.metadata);
  method.method = table.keep(given.method);
  entry.method_list.push_back(method);
  entry.methods = entry.method_list.data();
  entry.num_methods = static_cast<int32_t>(entry.method_list.size());
}

void set_metadata(int32_t type, const TypeMetadata &metadata) {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  Entry &entry = table.at(type);
  if (entry.metadata)
    fail_as("RuntimeError", OPD_ALREADY_EXISTS, "type ", entry.key_text,
            " was described before: its reflection is registered twice, or another type has the same key");
  entry.own_metadata = metadata;
  entry.own_metadata.doc = table.keep(metadata.doc);
  entry.metadata = &entry.own_metadata;
}

void set_attribute(int32_t type, std::string_view name, const View &value) {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  Column &column = *table.column(name, true);
  if (type == OPD_NONE) return;
  table.at(type);
  if (static_cast<size_t>(type) >= column.values.size()) column.values.resize(static_cast<size_t>(type) + 1);
  column.data = &column.values.front().view();
  column.size = static_cast<int32_t>(column.values.size());
  Value &place = column.values[static_cast<size_t>(type)];
  if (place.type() != OPD_NONE)
    fail_as("RuntimeError", OPD_ALREADY_EXISTS, "type attribute ", name, " of ", type_key(type),
            " is registered already; register a list or a dict once, and change what it holds");
  place = Value(value);
}

const AttributeColumn *attribute_column(std::string_view name) noexcept {
  auto &table = TypeTable::get();
  std::scoped_lock lock(table.guard);
  return table.column(name, false);
}

}  // namespace opd
