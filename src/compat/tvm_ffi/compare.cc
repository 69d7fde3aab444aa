// ffi.RecursiveEq, Lt, Le, Gt, Ge and ffi.RecursiveHash. They compare and hash by content, through containers and
// registered fields, unless a type has registered its own functions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <unordered_map>

#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"
#include "value/hash.h"

namespace opd {
namespace {

template <class T>
int order(const T &a, const T &b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Returns a nonzero value if two values differ. For an ordering, it is negative or positive.
class Comparer {
 public:
  explicit Comparer(bool only_equality) : equality_(only_equality) {}

  int compare(const View &a, const View &b) {
    if (a.type == OPD_NONE || b.type == OPD_NONE) return order(a.type != OPD_NONE, b.type != OPD_NONE);
    if ((is_text(a) && is_text(b)) || (is_bytes(a) && is_bytes(b))) return order(as_text(a, ""), as_text(b, ""));
    if (a.type != b.type) {
      const bool numbers = (a.type == OPD_INT || a.type == kBigInt) && (b.type == OPD_INT || b.type == kBigInt);
      if (numbers && !equality_) return compare_big_ints(a, b);
      return no_order("Cannot compare values of different types: ", type_key(a.type), " vs ", type_key(b.type));
    }
    if (a.type < OPD_OBJECT) return compare_plain(a, b);
    return compare_objects(a, b);
  }

 private:
  template <class... Parts>
  int no_order(const Parts &...parts) const {
    if (equality_) return 1;
    fail_as("TypeError", OPD_INVALID_ARGUMENT, parts...);
  }

  int compare_plain(const View &a, const View &b) const {
    switch (a.type) {
      case OPD_BOOL:
        return order(a.u.int64 != 0, b.u.int64 != 0);
      case OPD_INT:
        return order(a.u.int64, b.u.int64);
      case OPD_FLOAT:
        if (std::isnan(a.u.float64) || std::isnan(b.u.float64))
          return equality_ && std::isnan(a.u.float64) && std::isnan(b.u.float64) ? 0
                                                                                 : no_order("Cannot order NaN values");
        return order(a.u.float64, b.u.float64);
      case OPD_DTYPE: {
        const DLDataType x = a.u.dtype, y = b.u.dtype;
        return order(std::tuple(x.code, x.bits, x.lanes), std::tuple(y.code, y.bits, y.lanes));
      }
      case OPD_DEVICE: {
        const DLDevice x = a.u.device, y = b.u.device;
        return order(std::pair(x.device_type, x.device_id), std::pair(y.device_type, y.device_id));
      }
      default:
        return a.u.int64 == b.u.int64 ? 0 : no_order("Cannot order values of type ", type_key(a.type));
    }
  }

  int compare_objects(const View &a, const View &b) {
    if (a.type == kBigInt) return compare_big_ints(a, b);
    const Object *x = object_of(a), *y = object_of(b);
    if (x == y || !x || !y) return order(x != nullptr, y != nullptr) * (x != y);
    if (const auto *shape = try_as<Shape>(a)) {
      const auto p = shape->dims(), q = try_as<Shape>(b)->dims();
      if (std::ranges::equal(p, q)) return 0;
      return std::lexicographical_compare(p.begin(), p.end(), q.begin(), q.end()) ? -1 : 1;
    }
    if (!open_.emplace(x, y).second) {
      if (equality_) return 0;  // in a cycle, the values compared so far are equal
      fail(OPD_INVALID_ARGUMENT, "RecursiveCompare: cyclic reference detected in ordering");
    }
    if (open_.size() > kMaxNesting)
      fail(OPD_INVALID_ARGUMENT, "RecursiveCompare: objects are nested more than ", kMaxNesting, " deep");
    const int result = compare_inside(a, b);
    open_.erase({x, y});
    return result;
  }

  int compare_inside(const View &a, const View &b) {
    static const AttributeColumn *const equals = attribute_column("__ffi_eq__");
    static const AttributeColumn *const compares = attribute_column("__ffi_compare__");
    if (auto *hook = try_as<Function>(attribute_of(a.type, equals)); hook && equality_) return !ask(*hook, a, b, true);
    if (auto *hook = try_as<Function>(attribute_of(a.type, compares))) return static_cast<int>(ask(*hook, a, b, false));
    if (const Array *x = try_sequence(a)) {
      const Array *y = try_sequence(b);
      for (size_t i = 0; i < std::min(x->size(), y->size()); ++i)
        if (const int result = compare(x->items()[i], y->items()[i])) return result;
      return order(x->size(), y->size());
    }
    if (const Map *x = try_map(a)) return compare_maps(*x, *try_map(b));
    const TypeInfo &type = type_at(a.type);
    int result = 0;
    for_each_field(type, [&](const FieldInfo &field) {
      if (result || field.flags & kFieldCompareOff) return;
      result = compare(get_field(*object_of(a), field), get_field(*object_of(b), field));
    });
    return result;
  }

  int compare_maps(const Map &a, const Map &b) {
    if (a.count != b.count) return no_order("Cannot order Map/Dict values");
    for (uint64_t at = a.begin(); at != a.end(); at = a.next(at)) {
      const Value *other = b.find(a.at(at).key);
      if (!other || compare(a.at(at).value, *other)) return no_order("Cannot order Map/Dict values");
    }
    return 0;
  }

  int64_t ask(Function &hook, const View &a, const View &b, bool whether_equal) {
    const Value inner(checked_function("the comparison of parts", 2, [this, whether_equal](Args args) {
      const int result = compare(args[0], args[1]);
      return whether_equal ? Value(result == 0) : Value(result);
    }));
    const View args[] = {a, b, inner};
    return as_int(call(hook, args), "the result of a comparison");
  }

  bool equality_;
  std::set<std::pair<const Object *, const Object *>> open_;  // pairs whose comparison is not finished
};

uint64_t mix(uint64_t hash, uint64_t more) { return hash ^ (more + 0x9e3779b97f4a7c15 + (hash << 12) + (hash >> 4)); }

// Equal values have equal hashes.
class Hasher {
 public:
  uint64_t hash(const View &v) {
    if (is_text(v) || is_bytes(v)) return mix(is_text(v) ? OPD_STRING : OPD_BYTES, stable_hash(as_text(v, "")));
    const auto kind = static_cast<uint64_t>(v.type);
    if (v.type == OPD_FLOAT) {
      const double number = std::isnan(v.u.float64) ? NAN : v.u.float64 == 0 ? 0 : v.u.float64;
      return mix(kind, std::bit_cast<uint64_t>(number));
    }
    if (v.type == OPD_BOOL) return mix(kind, v.u.int64 != 0);
    if (v.type < OPD_OBJECT || !object_of(v)) return mix(kind, static_cast<uint64_t>(v.u.int64));
    const auto [place, fresh] = done_.try_emplace(object_of(v), 0);
    if (!fresh) return place->second;  // 0 for an object within itself
    if (++depth_ > kMaxNesting)
      fail(OPD_INVALID_ARGUMENT, "RecursiveHash: objects are nested more than ", kMaxNesting, " deep");
    const uint64_t result = hash_inside(v);
    --depth_;
    return done_[object_of(v)] = result;
  }

 private:
  uint64_t hash_inside(const View &v) {
    static const AttributeColumn *const hooks = attribute_column("__ffi_hash__");
    if (auto *hook = try_as<Function>(attribute_of(v.type, hooks))) {
      const Value inner(checked_function("the hash of a part", 1,
                                         [this](Args args) { return Value(static_cast<int64_t>(hash(args[0]))); }));
      const View args[] = {v, inner};
      return static_cast<uint64_t>(as_int(call(*hook, args), "the result of __ffi_hash__"));
    }
    const TypeInfo &type = type_at(v.type);
    uint64_t result = type.key_hash;
    if (const auto *shape = try_as<Shape>(v)) {
      for (const int64_t size : shape->dims()) result = mix(result, static_cast<uint64_t>(size));
    } else if (const Array *sequence = try_sequence(v)) {
      for (const View &item : sequence->views()) result = mix(result, hash(item));
    } else if (const Map *map = try_map(v)) {  // the hash must not depend on the order
      uint64_t sum = map->count;
      for (uint64_t at = map->begin(); at != map->end(); at = map->next(at))
        sum += mix(mix(1, hash(map->at(at).key)), hash(map->at(at).value));
      result = mix(result, sum);
    } else {
      for (const char *name : {"__ffi_eq__", "__ffi_compare__"})
        if (attribute_of(v.type, attribute_column(name)).type != OPD_NONE)
          fail(OPD_INVALID_ARGUMENT, "RecursiveHash: type '", text_of(type.key),
               "' defines __ffi_eq__ or __ffi_compare__ but not __ffi_hash__. Add a __ffi_hash__ hook: what is equal "
               "must have equal hashes");
      for_each_field(type, [&](const FieldInfo &field) {
        if (!(field.flags & (kFieldHashOff | kFieldCompareOff)))
          result = mix(result, hash(get_field(*object_of(v), field)));
      });
    }
    return result;
  }

  size_t depth_ = 0;
  std::unordered_map<const Object *, uint64_t> done_;
};

template <bool only_equality, class F>
void define_comparison(const char *name, F holds) {
  define(name, 2, [holds](Args args) { return Value(bool{holds(Comparer(only_equality).compare(args[0], args[1]))}); });
}

}  // namespace

void define_comparisons() {
  define_comparison<true>("ffi.RecursiveEq", [](int order) { return order == 0; });
  define_comparison<false>("ffi.RecursiveLt", [](int order) { return order < 0; });
  define_comparison<false>("ffi.RecursiveLe", [](int order) { return order <= 0; });
  define_comparison<false>("ffi.RecursiveGt", [](int order) { return order > 0; });
  define_comparison<false>("ffi.RecursiveGe", [](int order) { return order >= 0; });
  define("ffi.RecursiveHash", 1, [](Args args) { return Value(static_cast<int64_t>(Hasher().hash(args[0]))); });
}

}  // namespace opd
