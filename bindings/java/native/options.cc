// Reads options from alternating names and values. Fields without a pair have their defaults.
#include <string>

#include "core.h"

namespace opdjava {
namespace {

using opdrules::Field;
using opdrules::store;

// Thrown if the value of an option is refused. In the message, `what` follows the option's name.
struct Refused {
  std::string what;
};
[[noreturn]] void refuse(const char *expected, const opd_value &given) {
  throw Refused{std::string(" must be ") + expected + ", not " + opd_type_key(given.type)};
}

int64_t whole(const opd_value &value, int64_t least, int64_t most) {
  if (value.type != OPD_INT && value.type != OPD_BOOL) refuse("a whole number", value);
  if (value.u.int64 >= least && value.u.int64 <= most) return value.u.int64;
  throw Refused{" must lie between " + std::to_string(least) + " and " + std::to_string(most) + ", but is " +
                std::to_string(value.u.int64)};
}
int32_t word(const opd_value &value) { return static_cast<int32_t>(whole(value, INT32_MIN, INT32_MAX)); }

double number(const opd_value &value) {
  if (value.type != OPD_FLOAT && value.type != OPD_INT) refuse("a number", value);
  return value.type == OPD_FLOAT ? value.u.float64 : static_cast<double>(value.u.int64);
}

DLDevice device(const opd_value &value) {
  if (value.type != OPD_DEVICE) refuse("a Device", value);
  return value.u.device;
}

// The object of a value, if its type key ends with the class name, as in "ffi.Tensor" or "opdyno.Collector".
void *handle(const opd_value &value, const char *class_name) {
  const std::string key = opd_type_key(value.type);
  if (value.type >= OPD_OBJECT && key.substr(key.rfind('.') + 1) == class_name) return value.u.object;
  refuse((std::string("a ") + class_name).c_str(), value);
}

// An item of a list. The list keeps the object alive.
struct Item {
  opd_value value = opd_none();
  Item(const opd_array *list, size_t place) {
    if (opd_error *error = opd_array_get(list, place, &value)) opd_error_release(error);
  }
  Item(const Item &) = delete;
  ~Item() { opd_value_release(&value); }
};

}  // namespace

const char *Options::text(const opd_value &value) {
  const char *data = nullptr;
  size_t size = 0;
  if (value.type != OPD_STRING && value.type != OPD_SMALL_STRING) refuse("a String", value);
  if (opd_error *error = opd_string_get(&value, &data, &size)) opd_error_release(error);
  const std::string &kept = texts_.emplace_front(data ? data : "", size);
  if (kept.find('\0') != std::string::npos) throw Refused{" must not have a NUL character"};
  return kept.c_str();
}

template <class T, class Read>
void Options::set_list(const Field &field, const opd_value &value, void *options, Read read) {
  if (value.type != OPD_ARRAY) refuse("a List", value);
  const auto *given = reinterpret_cast<const opd_array *>(value.u.object);
  auto &list = lists_.make<T>(static_cast<size_t>(opd_array_count(given)));
  for (size_t i = 0; i < list.size(); ++i) {
    const Item item(given, i);
    try {
      list[i] = read(item.value);
    } catch (const Refused &refused) { throw Refused{"[" + std::to_string(i) + "]" + refused.what}; }
  }
  lists_.store(options, field, list);
  if (field.like && !list.empty()) likes_.push_back({&field, list.size()});
}

void Options::set(const Field &field, const opd_value &value, void *options) {
  if (value.type == OPD_NONE) return;
  switch (field.kind) {
    case 'i':
      return store(options, field.place, word(value));
    case 'l':
      return store(options, field.place, whole(value, INT64_MIN, INT64_MAX));
    case 'L':
      return store(options, field.place, static_cast<uint64_t>(whole(value, 0, INT64_MAX)));
    case 'f':
      return store(options, field.place, number(value));
    case 's':
      return store(options, field.place, text(value));
    case 'd':
      return store(options, field.place, device(value));
    case 'h':
      return store(options, field.place, handle(value, field.handle));
    case 'D':
      return set_list<DLDevice>(field, value, options, device);
    case 'I':
      return set_list<int32_t>(field, value, options, word);
    case 'N':
      return set_list<int64_t>(field, value, options,
                               [](const opd_value &item) { return whole(item, INT64_MIN, INT64_MAX); });
    case 'S':
      return set_list<const char *>(field, value, options, [&](const opd_value &item) {
        return item.type == OPD_NONE && field.like ? nullptr : text(item);
      });
    default:
      return set_list<void *>(field, value, options, [&](const opd_value &item) { return handle(item, field.handle); });
  }
}

// Refuses a list that is shorter than the list to which it belongs, because the library would read beyond its end.
void Options::check_likes(const opdrules::Fields &fields, const void *options, int32_t num_args) const {
  for (const auto &[field, size] : likes_) {
    int32_t count = num_args;
    if (const Field *other = opdrules::find(fields, field->like))
      std::memcpy(&count, static_cast<const char *>(options) + other->count_place, sizeof count);
    if (count == 0) count = 1;  // the default
    if (size != static_cast<size_t>(count))
      throw Refused{std::string(field->name) + " must have as many items as " + field->like + ": " +
                    std::to_string(count) + ", not " + std::to_string(size)};
  }
}

bool Options::read(JNIEnv *env, jlongArray pairs, const opdrules::Fields &fields, const char *what, void *options,
                   int32_t num_args) {
  Words words;
  words.read(env, pairs);
  std::string place;
  try {
    for (jsize i = 0; i + 1 < words.count(); i += 2) {
      const char *name = text(words.values()[i]);
      const Field *field = opdrules::find(fields, name);
      if (!field) {
        std::string known;
        for (const Field &one : fields) known += (known.empty() ? " has " : ", ") + std::string(one.name);
        throw Refused{std::string("\"") + name + "\" is unknown: " + what + known};
      }
      place = name;
      set(*field, words.values()[i + 1], options);
      place.clear();
    }
    check_likes(fields, options, num_args);
    return true;
  } catch (const Refused &refused) {
    raise(env, opd_error_create(OPD_INVALID_ARGUMENT, nullptr, ("option " + place + refused.what).c_str()));
    return false;
  }
}

}  // namespace opdjava
