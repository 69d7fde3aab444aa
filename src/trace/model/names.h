// Names of events. A distinct name has one number in the process, so events hold numbers, and traces of several
// programs agree on them. Names are never removed: a process has as many as its recorded operators, functions and
// ranges.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace opd {

using NameId = uint32_t;
inline constexpr NameId kNoName = UINT32_MAX;
// All numbers of names are below. Programs hand in numbers of ranges, so an event may have any other one.
inline constexpr NameId kMostNames = (NameId{1} << 20) + 1;

// The number of the name. Beyond 2^20 names, all further ones share a number. Thread-safe. Cost: a lock and a hash, so
// a hot caller keeps the number.
NameId name_id(std::string_view name);
// How many names there are: their numbers are below. Thread-safe.
NameId name_count() noexcept;
// Its text, which stays valid; "?" if there is no such name. Thread-safe and without a lock.
const std::string &name_text(NameId id) noexcept;

}  // namespace opd
