#include "value/map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "value/hash.h"

namespace opd {
namespace {

constexpr uint64_t kSmallSlots = 4;
constexpr uint64_t kBlockSlots = 16;
constexpr uint8_t kEmpty = 0xff, kReserved = 0xfe;  // kReserved: a slot for the key being inserted
constexpr uint8_t kBody = 0x80;                     // marks a slot that is not the head of its chain
constexpr uint8_t kJump = 0x7f;                     // mask: index of the distance to the chain's next slot; 0: none
constexpr int kNumDistances = 126;

// Possible distances to the next slot of a chain: all numbers up to 15, triangular numbers up to 72 · 73 / 2, and a few
// large ones that suffice for tables of any size.
// clang-format off
constexpr uint64_t kFarDistances[] = {
    8515, 19110, 42778, 96141, 216153, 486591, 1092981, 2458653, 5532801, 12442566, 27993903, 62983476, 141717030,
    318844378, 717352503, 1614057336, 3631522476, 8170957530, 18384510628, 41364789378, 93070452520, 209408356380,
    471168559170, 1060128894105, 2385289465695, 5366898840628, 12075518705635, 27169915244790, 61132312065111,
    137547689707000, 309482283181501, 696335127828753, 1566753995631385, 3525196511162271, 7931691992677701,
    17846306936293605, 40154190677507445, 90346928918121501, 203280589587557251, 457381325854679626,
    1029107982097042876, 2315492959180353330, 5209859154120846435,
};
// clang-format on
constexpr auto kDistances = [] {
  std::array<uint64_t, kNumDistances> distances{};
  size_t i = 0;
  for (; i < 16; ++i) distances[i] = i;
  for (uint64_t n = 6; n <= 72; ++n) distances[i++] = n * (n + 1) / 2;
  for (const uint64_t far : kFarDistances) distances[i++] = far;
  return distances;
}();

struct Item {
  Map::Entry entry;
  uint64_t before, after;  // neighbours in insertion order
};
struct Block {
  uint8_t marks[kBlockSlots];
  Item items[kBlockSlots];
};
static_assert(sizeof(Item) == 48 && sizeof(Block) == kBlockSlots * 49);

// The hash table of a large map. Keys with the same home slot form a chain that starts at the home slot.
class Table {
 public:
  explicit Table(Map &map) : map_(map) {}

  uint8_t &mark(uint64_t slot) const { return block(slot).marks[slot % kBlockSlots]; }
  Item &item(uint64_t slot) const { return block(slot).items[slot % kBlockSlots]; }
  uint64_t home(const View &key) const { return 11400714819323198485u * hash_key(key) >> map_.shift; }

  uint64_t find(const View &key) const {
    if (!map_.count) return Map::kNone;
    uint64_t slot = home(key);
    if (mark(slot) & kBody) return Map::kNone;  // empty slots have this bit, too
    for (; slot != Map::kNone; slot = follow(slot))
      if (equal_keys(item(slot).entry.key, key)) return slot;
    return Map::kNone;
  }

  // Inserts a key that is not in the map; false if the table must grow first.
  bool put(const View &key, const View &value) {
    if ((map_.count + 1) * 100 > map_.slots * 99) return false;
    const uint64_t slot = home(key);
    if (mark(slot) == kEmpty) {
      construct(slot, 0, key, value);
    } else if (mark(slot) & kBody) {  // the slot belongs to another chain, which is moved away
      if (!move_away(slot)) return false;
      construct(slot, 0, key, value);
    } else {
      uint64_t tail = slot;
      for (uint64_t next = slot; next != Map::kNone; next = follow(next)) tail = next;
      const int jump = free_jump(tail);
      if (!jump) return false;
      construct(reach(tail, jump), kBody, key, value);
      set_jump(tail, jump);
    }
    ++map_.count;
    return true;
  }

  void erase(uint64_t slot) {
    uint64_t last = slot, before = before_in_chain(slot);
    unlink(slot);
    for (uint64_t next = follow(slot); next != Map::kNone; next = follow(next)) before = last, last = next;
    const Map::Entry gone{std::move(item(slot).entry.key), std::move(item(slot).entry.value)};  // destroyed last
    if (last != slot) {  // the last slot of the chain replaces it
      item(slot).entry = std::move(item(last).entry);
      replace_in_order(last, slot);
    }
    item(last).~Item();
    mark(last) = kEmpty;
    if (before != Map::kNone) set_jump(before, 0);
    --map_.count;
  }

  void append(uint64_t slot) {
    item(slot).before = map_.last;
    item(slot).after = Map::kNone;
    (map_.last == Map::kNone ? map_.first : item(map_.last).after) = slot;
    map_.last = slot;
  }

  void unlink(uint64_t slot) {
    const Item &it = item(slot);
    (it.before == Map::kNone ? map_.first : item(it.before).after) = it.after;
    (it.after == Map::kNone ? map_.last : item(it.after).before) = it.before;
  }

 private:
  Block &block(uint64_t slot) const { return static_cast<Block *>(map_.data)[slot / kBlockSlots]; }
  uint64_t reach(uint64_t slot, int jump) const { return (slot + kDistances[static_cast<size_t>(jump)]) % map_.slots; }
  void set_jump(uint64_t slot, int jump) const { mark(slot) = static_cast<uint8_t>((mark(slot) & kBody) | jump); }

  uint64_t follow(uint64_t slot) const {
    const int jump = mark(slot) & kJump;
    return jump && jump < kNumDistances ? reach(slot, jump) : Map::kNone;
  }

  int free_jump(uint64_t slot) const {
    for (int jump = 1; jump < kNumDistances; ++jump)
      if (mark(reach(slot, jump)) == kEmpty) return jump;
    return 0;
  }

  // Returns the previous slot of the chain; kNone for its head.
  uint64_t before_in_chain(uint64_t slot) const {
    if (!(mark(slot) & kBody)) return Map::kNone;
    uint64_t at = home(item(slot).entry.key);
    while (follow(at) != slot) at = follow(at);
    return at;
  }

  void construct(uint64_t slot, uint8_t kind, const View &key, const View &value) {
    new (&item(slot)) Item{{Value(key), Value(value)}, 0, 0};
    mark(slot) = kind;
    append(slot);
  }

  // Moves the rest of another chain, from `slot` on, so that `slot` is free. Returns false if there is no room. Then
  // the chain is broken, but the insertion order is intact, and the caller rebuilds the table from it.
  bool move_away(uint64_t slot) {
    uint64_t tail = before_in_chain(slot);
    set_jump(tail, 0);
    bool first = true;
    for (uint64_t from = slot; from != Map::kNone; first = false) {
      const int jump = free_jump(tail);
      if (!jump) return false;
      const uint64_t to = reach(tail, jump), rest = follow(from);
      new (&item(to)) Item{{std::move(item(from).entry.key), std::move(item(from).entry.value)}, 0, 0};
      mark(to) = kBody;
      replace_in_order(from, to);
      item(from).~Item();
      mark(from) = first ? kReserved : kEmpty;
      set_jump(tail, jump);
      tail = to;
      from = rest;
    }
    return true;
  }

  void replace_in_order(uint64_t from, uint64_t to) {
    Item &it = item(to);
    it.before = item(from).before;
    it.after = item(from).after;
    (it.before == Map::kNone ? map_.first : item(it.before).after) = to;
    (it.after == Map::kNone ? map_.last : item(it.after).before) = to;
  }

  Map &map_;
};

void free_data(void *data) { ::operator delete(data); }

// Keys and values may themselves own maps, nested to any depth.
void end_entry(Map::Entry &entry) {
  for (Value *value : {&entry.key, &entry.value})
    if (const View old = value->detach(); is_object(old)) release_nested(object_of(old));
}

}  // namespace

Map::~Map() {
  clear();
  if (data_deleter) data_deleter(data);
}

Ref<Map> Map::make(Args pairs) {
  auto map = make_object<Map>();
  if (const uint64_t wanted = pairs.size() / 2; wanted > kSmallSlots) map->become_table(std::bit_ceil(2 * wanted));
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) map->insert(pairs[i], pairs[i + 1]);
  return map;
}

Map::Entry &Map::at(uint64_t place) const {
  return is_small() ? static_cast<Entry *>(data)[place] : Table(const_cast<Map &>(*this)).item(place).entry;
}

uint64_t Map::next(uint64_t place) const {
  if (!is_small()) return Table(const_cast<Map &>(*this)).item(place).after;
  return place + 1 < count ? place + 1 : kNone;
}

uint64_t Map::place_of(const View &key) const {
  if (!is_small()) return Table(const_cast<Map &>(*this)).find(key);
  for (uint64_t i = 0; i < count; ++i)
    if (equal_keys(at(i).key, key)) return i;
  return kNone;
}

const Value *Map::find(const View &key) const {
  const uint64_t place = place_of(key);
  return place == kNone ? nullptr : &at(place).value;
}

void Map::insert(const View &key, const View &value) {
  if (const uint64_t place = place_of(key); place != kNone) {
    at(place).value = Value(value);
    return;
  }
  if (is_small()) {
    if (slots == kSmall) {
      data = ::operator new(kSmallSlots * sizeof(Entry));
      data_deleter = free_data;
      slots = kSmall | kSmallSlots;
    }
    if (count < (slots & ~kSmall)) {
      new (static_cast<Entry *>(data) + count) Entry{Value(key), Value(value)};
      ++count;
      return;
    }
    become_table(kBlockSlots);
  }
  while (!Table(*this).put(key, value)) become_table(2 * slots);
}

bool Map::erase(const View &key) {
  const uint64_t place = place_of(key);
  if (place == kNone) return false;
  if (!is_small()) return Table(*this).erase(place), true;
  const Entry gone = std::move(at(place));  // destroyed when the map is consistent again
  std::move(&at(place) + 1, &at(0) + count, &at(place));
  at(--count).~Entry();
  return true;
}

// Takes each entry out of the map before destroying it, because destructors of its objects may use the map.
void Map::clear() {
  if (is_small()) {
    while (count) {
      Entry gone = std::move(at(count - 1));
      at(--count).~Entry();
      end_entry(gone);
    }
    return;
  }
  for (Table table(*this); count;) {
    const uint64_t slot = first;
    Entry gone = std::move(at(slot));
    table.unlink(slot);
    table.item(slot).~Item();
    table.mark(slot) = kEmpty;
    --count;
    end_entry(gone);
  }
  for (uint64_t slot = 0; slot < slots; ++slot) Table(*this).mark(slot) = kEmpty;  // also resets reserved slots
}

// Fills a new table with copies. If a key's own hash throws, the map has not changed.
void Map::become_table(uint64_t wanted_slots) {
  Map table;
  const uint64_t size = std::max(wanted_slots, kBlockSlots), blocks = size / kBlockSlots;
  table.data = ::operator new(blocks * sizeof(Block));
  table.data_deleter = free_data;
  table.slots = size;
  table.shift = static_cast<uint32_t>(64 - std::countr_zero(size));
  for (uint64_t i = 0; i < blocks; ++i) std::memset(static_cast<Block *>(table.data)[i].marks, kEmpty, kBlockSlots);
  for (uint64_t place = begin(); place != kNone; place = next(place))
    while (!Table(table).put(at(place).key, at(place).value)) table.become_table(2 * table.slots);
  std::swap(data, table.data);
  std::swap(count, table.count);
  std::swap(slots, table.slots);
  std::swap(data_deleter, table.data_deleter);
  std::swap(shift, table.shift);
  std::swap(first, table.first);
  std::swap(last, table.last);
}

}  // namespace opd
