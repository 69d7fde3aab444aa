// ffi.DeepCopy: copies an object with all its parts. A shared part is copied once. Cycles are copied, too.
#include <unordered_map>

#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"

namespace opd {
namespace {

class Copier {
 public:
  Value copy(const View &v) {
    if (!is_object(v) || !object_of(v) || is_leaf(v)) return Value(v);
    if (const auto found = done_.find(object_of(v)); found != done_.end()) return found->second;
    if (++depth_ > kMaxNesting)
      fail(OPD_INVALID_ARGUMENT, "DeepCopy: objects are nested more than ", kMaxNesting, " deep");
    Value made = copy_inside(v);
    --depth_;
    return made;
  }

  // If an immutable container contains itself, its copy did not exist when its parts were copied. So the parts still
  // contain the original, which is replaced here.
  void repair() {
    if (!has_gaps_) return;
    const auto done = done_;
    for (const auto &[from, to] : done) {
      if (auto *list = try_as<List>(to)) {
        for (size_t i = 0; i < list->size(); ++i) list->items()[i] = copy_of(list->items()[i]);
      } else if (auto *dict = try_as<Dict>(to)) {
        std::vector<Value> items;
        for (uint64_t at = dict->begin(); at != dict->end(); at = dict->next(at)) {
          items.push_back(copy_of(dict->at(at).key));
          items.push_back(copy_of(dict->at(at).value));
        }
        dict->clear();
        for (size_t i = 0; i < items.size(); i += 2) dict->insert(items[i], items[i + 1]);
      } else if (!try_sequence(to) && !try_map(to)) {
        for_each_field(type_at(to.type()), [&, &made = to](const FieldInfo &field) {
          const Value part = get_field(*object_of(made), field);
          if (const Value other = copy_of(part); other.view().u.int64 != part.view().u.int64)
            set_field(*object_of(made), field, other);
        });
      }
    }
  }

 private:
  static bool is_leaf(const View &v) {
    static const TypeInfo *const enums = find_type(get_or_make_type({.key = "ffi.Enum", .parent = -2}));
    return v.type == OPD_STRING || v.type == OPD_BYTES || v.type == OPD_SHAPE || v.type == kBigInt ||
           (enums && is_instance(type_at(v.type), enums->index));
  }

  Value copy_of(const Value &part) const {
    const auto found = is_object(part) ? done_.find(object_of(part)) : done_.end();
    return found == done_.end() ? part : found->second;
  }

  Value copy_inside(const View &v) {
    Object *const from = object_of(v);
    if (v.type == kList) {
      auto list = List::make({});
      done_.emplace(from, Value(list));
      const auto kept = Ref<Object>::share(from);
      for (size_t i = 0; i < static_cast<List *>(from)->size(); ++i) {
        const Value item = copy_part(static_cast<List *>(from)->items()[i]);
        list->replace(list->size(), list->size(), {&item.view(), 1});
      }
      return list;
    }
    if (v.type == OPD_ARRAY) {
      mark(v);
      std::vector<Value> items;
      for (const View &item : static_cast<Array *>(from)->views()) items.push_back(copy_part(item));
      return done_[from] = Array::make(views_of(items));
    }
    if (const Map *map = try_map(v)) return copy_map(*map, v);
    return copy_fields(v);
  }

  Value copy_map(const Map &from, const View &v) {
    const bool changeable = v.type == kDict;
    Ref<Map> made = changeable ? Ref<Map>(make_object<Dict>()) : make_object<Map>();
    if (changeable) done_.emplace(object_of(v), Value(made));
    else mark(v);
    for (uint64_t at = from.begin(); at != from.end(); at = from.next(at)) {
      const Value key = copy_part(from.at(at).key);
      made->insert(key, copy_part(from.at(at).value));
    }
    return done_[object_of(v)] = Value(made);
  }

  Value copy_fields(const View &v) {
    static const AttributeColumn *const copies = attribute_column("__ffi_shallow_copy__");
    auto *shallow = try_as<Function>(attribute_of(v.type, copies));
    if (!shallow)
      fail_as("RuntimeError", OPD_UNSUPPORTED, "Cannot deep copy object of type \"", type_key(v.type),
              "\" because it is not copy-constructible");
    Value made = call(*shallow, {&v, 1});
    done_.emplace(object_of(v), made);
    for_each_field(type_at(v.type), [&](const FieldInfo &field) {
      const Value part = get_field(*object_of(v), field);
      if (!is_object(part)) return;
      if (const Value copied = copy_part(part); object_of(copied) != object_of(part))
        set_field(*object_of(made), field, copied);
    });
    return made;
  }

  // While an immutable container is copied, the original takes the place of the copy.
  void mark(const View &v) { done_.emplace(object_of(v), Value(v)); }
  Value copy_part(const View &part) {
    Value made = copy(part);
    const auto found = is_object(part) ? done_.find(object_of(part)) : done_.end();
    has_gaps_ |= found != done_.end() && object_of(found->second) == object_of(part);
    return made;
  }

  size_t depth_ = 0;
  bool has_gaps_ = false;
  std::unordered_map<const Object *, Value> done_;
};

}  // namespace

void define_deep_copy() {
  define("ffi.DeepCopy", 1, [](Args args) {
    Copier copier;
    Value made = copier.copy(args[0]);
    copier.repair();
    return made;
  });
}

}  // namespace opd
