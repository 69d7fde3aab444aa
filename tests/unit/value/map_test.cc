// Maps as foreign code that was compiled with tvm-ffi's headers sees them.
#include "value/map.h"

#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <numeric>
#include <random>

#include "value/function.h"
#include "value/hash.h"
#include "value/type_table.h"

namespace opd {
namespace {

std::vector<int64_t> keys_of(const Map &map) {
  std::vector<int64_t> keys;
  for (uint64_t at = map.begin(); at != map.end(); at = map.next(at)) keys.push_back(map.at(at).key.view().u.int64);
  return keys;
}

// No item is read: the count alone is refused.
TEST(Containers, HaveAtMostAsManyItemsAsInt32Counts) {
  const View one = opd_int(1);
  const int64_t size = 1;
  constexpr size_t kTooMany = size_t{1} << 31;
  for (const auto &make : {std::function<void()>([&] {
                             Array::make({&one, kTooMany});
                           }),
                           std::function<void()>([&] {
                             Shape::make({&size, kTooMany});
                           })}) {
    try {
      make();
      ADD_FAILURE() << "was made";
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_OUT_OF_RANGE);
      EXPECT_EQ(e.error()->message, "a container can have at most 2147483647 items, but would have 2147483648");
    }
  }
}

TEST(Hash, AgreesWithForeignCode) {
  // Words of 8 bytes, little-endian: hash = (hash · 1099511628211 + word) mod 2⁶⁴ mod (2³¹ - 1).
  EXPECT_EQ(stable_hash(""), 0u);
  EXPECT_EQ(stable_hash("abc"), 0x636261u);
  const uint64_t first = 0x3837363534333231u % 2147483647u;
  EXPECT_EQ(stable_hash("123456789"), (first * 1099511628211u + 0x39) % 2147483647u);
  // combine(kind, x) = kind ^ (x + 9e3779b9h + 64 · kind + kind / 4); text hashes as ffi.String, wherever it lies.
  const uint64_t kind = OPD_STRING;
  EXPECT_EQ(hash_key(opd_cstring("abc")), kind ^ (0x636261 + 0x9e3779b9 + 64 * kind + kind / 4));
  EXPECT_EQ(hash_key(Value("abc")), hash_key(Value(String::make("abc"))));
  EXPECT_TRUE(equal_keys(Value("abc"), Value(String::make("abc"))));
  EXPECT_FALSE(equal_keys(Value("abc"), make_bytes("abc")));
  EXPECT_FALSE(equal_keys(Value(1), Value(true)));
}

TEST(Hash, AsksATypeThatHasOneOfItsOwn) {
  struct Named final : Object {
    static int32_t type() {
      static const int32_t index = register_type("test.Named");
      return index;
    }
    int64_t name = 0;
  };
  const auto make = [](int64_t name) {
    auto named = make_object<Named>();
    named->name = name;
    return Value(named);
  };
  const auto name_of = [](const View &v) { return as<Named>(v, "it").name; };
  EXPECT_FALSE(equal_keys(make(1), make(1)));
  set_attribute(Named::type(), "__any_hash__",
                Value(make_function([=](Args args) { return Value(name_of(args[0])); })));
  set_attribute(Named::type(), "__any_equal__",
                Value(make_function([=](Args args) { return Value(name_of(args[0]) == name_of(args[1])); })));
  EXPECT_TRUE(equal_keys(make(1), make(1)));
  EXPECT_FALSE(equal_keys(make(1), make(2)));
  auto map = make_object<Map>();
  for (int64_t i = 0; i < 100; ++i) map->insert(make(i % 50), Value(i));
  EXPECT_EQ(map->count, 50u);
  EXPECT_EQ(map->find(make(7))->view().u.int64, 57);
}

TEST(Map, IsATableFromFiveEntriesOn) {
  auto map = make_object<Map>();
  for (int64_t i = 0; i < 4; ++i) map->insert(Value(i), Value(i));
  EXPECT_EQ(map->slots, Map::kSmall | 4);
  map->insert(Value(4), Value(4));
  EXPECT_EQ(map->slots, 16u);
  EXPECT_EQ(keys_of(*map), (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(Map, HasASlotMoreThanEntries) {
  const auto slots_of = [](int64_t count) {
    std::vector<Value> pairs;
    for (int64_t i = 0; i < count; ++i) pairs.emplace_back(i), pairs.emplace_back(-i);
    const auto map = Map::make(views_of(pairs));
    EXPECT_EQ(map->count, static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(map->find(Value(i))->view().u.int64, -i);
    return map->slots;
  };
  // Made of many pairs, a table has a power of two of slots, at least two for each pair.
  EXPECT_EQ(slots_of(4), Map::kSmall | 4);
  EXPECT_EQ(slots_of(5), 16u);
  EXPECT_EQ(slots_of(8), 16u);
  EXPECT_EQ(slots_of(9), 32u);
  EXPECT_EQ(slots_of(33), 128u);
  // Filled one by one, it doubles when less than one slot in a hundred would be left.
  auto map = make_object<Map>();
  for (int64_t i = 0; i < 15; ++i) map->insert(Value(i), Value(i));
  EXPECT_EQ(map->slots, 16u);
  map->insert(Value(15), Value(15));
  EXPECT_EQ(map->slots, 32u);
  std::vector<int64_t> expected(16);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(keys_of(*map), expected);
}

// The same steps on a list of pairs.
TEST(Map, BehavesLikeAListOfPairs) {
  std::mt19937 random(1);
  for (const int64_t span : {3, 12, 300, 5000}) {
    auto map = make_object<Dict>();
    std::list<std::pair<int64_t, int64_t>> expected;
    const auto find = [&](int64_t key) {
      return std::find_if(expected.begin(), expected.end(), [&](const auto &e) { return e.first == key; });
    };
    for (int step = 0; step < 4000; ++step) {
      const int64_t key = static_cast<int64_t>(random() % static_cast<uint32_t>(span)) * 65536;  // many collide
      const auto found = find(key);
      if (random() % 3) {
        map->insert(Value(key), Value(step));
        if (found != expected.end()) found->second = step;
        else expected.emplace_back(key, step);
      } else {
        EXPECT_EQ(map->erase(Value(key)), found != expected.end());
        if (found != expected.end()) expected.erase(found);
      }
      ASSERT_EQ(map->count, expected.size());
    }
    auto at = map->begin();
    for (const auto &[key, value] : expected) {
      ASSERT_NE(at, map->end());
      EXPECT_EQ(map->at(at).key.view().u.int64, key);
      EXPECT_EQ(map->at(at).value.view().u.int64, value);
      ASSERT_NE(map->find(Value(key)), nullptr);
      at = map->next(at);
    }
    EXPECT_EQ(at, map->end());
    map->clear();
    EXPECT_EQ(map->count, 0u);
    EXPECT_EQ(map->find(Value(0)), nullptr);
    map->insert(Value(9), Value(9));
    EXPECT_EQ(keys_of(*map), std::vector<int64_t>{9});
  }
}

TEST(Map, ReleasesItsValues) {
  const auto shape = Shape::make({});
  const auto held = [&] { return static_cast<uint32_t>(shape->refs.load()) - 1; };
  for (const int64_t count : {2, 40}) {
    auto map = make_object<Dict>();
    for (int64_t i = 0; i < count; ++i) map->insert(Value(i), Value(shape));
    EXPECT_EQ(held(), count);
    map->insert(Value(0), Value());
    map->erase(Value(1));
    EXPECT_EQ(held(), count - 2);
    map = nullptr;
    EXPECT_EQ(held(), 0u);
  }
}

TEST(Map, IsUnchangedIfAKeyCannotBeHashed) {
  static bool refuses = false;
  struct Odd final : Object {
    static int32_t type() {
      static const int32_t index = register_type("test.Odd");
      return index;
    }
  };
  set_attribute(Odd::type(), "__any_hash__", Value(make_function([](Args) -> Value {
                  if (refuses) fail(OPD_INVALID_ARGUMENT, "no hash");
                  return 1;
                })));
  auto map = make_object<Map>();
  const Value odd(make_object<Odd>());
  map->insert(odd, Value(1));
  for (int64_t i = 0; i < 3; ++i) map->insert(Value(i), Value(i));
  refuses = true;
  EXPECT_THROW(map->insert(Value(3), Value(3)), Exception);  // it would become a table now
  EXPECT_EQ(map->count, 4u);
  refuses = false;
  map->insert(Value(3), Value(3));
  EXPECT_EQ(map->count, 5u);
  EXPECT_EQ(map->find(odd)->view().u.int64, 1);
}

}  // namespace
}  // namespace opd
