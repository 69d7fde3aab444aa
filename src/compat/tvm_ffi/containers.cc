// Global functions for the arrays, lists, maps and dicts of Python's classes.
#include <algorithm>

#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"
#include "value/hash.h"
#include "value/tensor.h"

namespace opd {
namespace {

List &list_at(const View &v) { return as<List>(v, "the list"); }

size_t index_in(const Array &sequence, const View &v, bool or_end = false) {
  const int64_t i = as_int(v, "the index");
  if (i < 0 || i > sequence.count || (i == sequence.count && !or_end))
    fail_as("IndexError", OPD_OUT_OF_RANGE, "Index ", i, " out of bounds ", sequence.count);
  return static_cast<size_t>(i);
}

Map &map_at(const View &v) {
  if (Map *map = try_map(v)) return *map;
  fail_type("the map", "ffi.Map or ffi.Dict", v);
}

Map &dict_at(const View &v) { return as<Dict>(v, "the dict"); }

template <class T>
Value make_map(Args pairs) {
  require(pairs.size() % 2 == 0, type_key(T::type()), " takes keys and values, but was given ", pairs.size(),
          " arguments");
  auto map = make_object<T>();
  for (size_t i = 0; i < pairs.size(); i += 2) map->insert(pairs[i], pairs[i + 1]);
  return map;
}

// Command 0 returns the key, 1 the value. Any other number moves to the next entry and returns whether there is one.
Value iterate(const View &v) {
  return checked_function("the iterator of a map", 1,
                          [map = Ref<Map>::share(&map_at(v)), place = map_at(v).begin()](Args args) mutable -> Value {
                            const int64_t command = as_int(args[0], "the command");
                            if (place == map->end()) {
                              if (command == 0 || command == 1)
                                fail(OPD_OUT_OF_RANGE, "the iterator of a map is at its end");
                              return false;
                            }
                            if (command == 0) return map->at(place).key;
                            if (command == 1) return map->at(place).value;
                            place = map->next(place);
                            return place != map->end();
                          });
}

const DLTensor *first_off_cpu(const View &v, int depth) {
  if (depth > 1000) fail_as("RecursionError", OPD_INVALID_ARGUMENT, "containers are nested more than 1000 deep");
  if (const auto *tensor = try_as<Tensor>(v)) return tensor->dl.device.device_type == kDLCPU ? nullptr : &tensor->dl;
  if (const Array *sequence = try_sequence(v)) {
    for (const View &item : sequence->views())
      if (const DLTensor *found = first_off_cpu(item, depth + 1)) return found;
  } else if (const Map *map = try_map(v)) {
    for (uint64_t at = map->begin(); at != map->end(); at = map->next(at))
      if (const DLTensor *found = first_off_cpu(map->at(at).value, depth + 1)) return found;
  }
  return nullptr;
}

Value get_item(Args args) {
  const Array &sequence = as_sequence(args[0], "the sequence");
  return sequence.items()[index_in(sequence, args[1])];
}
Value get_size(Args args) { return as_sequence(args[0], "the sequence").count; }
Value contains(Args args) {
  const Args items = as_sequence(args[0], "the sequence").views();
  return std::any_of(items.begin(), items.end(), [&](const View &item) { return equal_keys(item, args[1]); });
}

void define_sequences() {
  define("ffi.Array", -1, [](Args args) { return Value(Array::make(args)); });
  define("ffi.ArrayGetItem", 2, get_item);
  define("ffi.ArraySize", 1, get_size);
  define("ffi.ArrayContains", 2, contains);
  define("ffi.List", -1, [](Args args) { return Value(List::make(args)); });
  define("ffi.ListGetItem", 2, get_item);
  define("ffi.ListSize", 1, get_size);
  define("ffi.ListContains", 2, contains);
}

void define_list_changes() {
  const auto define_change = [](const char *name, int arity, auto body) {
    define(name, arity, [body](Args args) { return body(list_at(args[0]), args), Value(); });
  };
  define_change("ffi.ListSetItem", 3, [](List &list, Args args) {
    const size_t i = index_in(list, args[1]);
    list.replace(i, i + 1, args.subspan(2, 1));
  });
  define_change("ffi.ListAppend", 2,
                [](List &list, Args args) { list.replace(list.size(), list.size(), args.subspan(1, 1)); });
  define_change("ffi.ListInsert", 3, [](List &list, Args args) {
    const size_t i = index_in(list, args[1], true);
    list.replace(i, i, args.subspan(2, 1));
  });
  define("ffi.ListPop", 2, [](Args args) {
    List &list = list_at(args[0]);
    const size_t i = index_in(list, args[1]);
    Value item = list.items()[i];
    list.replace(i, i + 1, {});
    return item;
  });
  define_change("ffi.ListErase", 2, [](List &list, Args args) {
    const size_t i = index_in(list, args[1]);
    list.replace(i, i + 1, {});
  });
  const auto slice = [](List &list, Args args, Args items) {
    const size_t begin = index_in(list, args[1], true), end = index_in(list, args[2], true);
    if (begin > end)
      fail_as("IndexError", OPD_OUT_OF_RANGE, "Erase range [", begin, ", ", end, ") out of bounds ", list.count);
    list.replace(begin, end, items);
  };
  define_change("ffi.ListEraseRange", 3, [slice](List &list, Args args) { slice(list, args, {}); });
  define_change("ffi.ListReplaceSlice", 4,
                [slice](List &list, Args args) { slice(list, args, as_sequence(args[3], "the replacement").views()); });
  define_change("ffi.ListReverse", 1, [](List &list, Args) { std::reverse(list.items(), list.items() + list.size()); });
  define_change("ffi.ListClear", 1, [](List &list, Args) { list.replace(0, list.size(), {}); });
}

// Map and Dict have the same functions under different names.
void define_map(const std::string &prefix, Value (*make)(Args)) {
  define(prefix, -1, make);
  define(prefix + "Size", 1, [](Args args) { return Value(static_cast<int64_t>(map_at(args[0]).count)); });
  define(prefix + "GetItem", 2, [](Args args) {
    const Value *found = map_at(args[0]).find(args[1]);
    if (!found) fail_as("KeyError", OPD_NOT_FOUND, "key is not in Map");
    return *found;
  });
  define(prefix + "GetItemOrMissing", 2, [](Args args) {
    const Value *found = map_at(args[0]).find(args[1]);
    return found ? *found : Value(missing_object());
  });
  define(prefix + "Count", 2, [](Args args) { return Value(int64_t{map_at(args[0]).find(args[1]) != nullptr}); });
  define(prefix + "ForwardIterFunctor", 1, [](Args args) { return iterate(args[0]); });
}

}  // namespace

void define_containers() {
  define_sequences();
  define_list_changes();
  define_map("ffi.Map", make_map<Map>);
  define_map("ffi.Dict", make_map<Dict>);
  define("ffi.DictSetItem", 3, [](Args args) { return dict_at(args[0]).insert(args[1], args[2]), Value(); });
  define("ffi.DictErase", 2, [](Args args) { return dict_at(args[0]).erase(args[1]), Value(); });
  define("ffi.DictClear", 1, [](Args args) { return dict_at(args[0]).clear(), Value(); });
  define("ffi.ContainerFindFirstNonCPUDevice", 1, [](Args args) {
    const DLTensor *found = first_off_cpu(args[0], 0);
    return Value(found ? found->device : DLDevice{kDLCPU, 0});
  });
}

}  // namespace opd
