// Names of events. Each distinct name has one number in the process, so events hold numbers, and traces of several
// programs in a process use the same numbers. Names are never removed: a process has as many as its recorded operators,
// functions and ranges.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace opd {

using NameId = uint32_t;
inline constexpr NameId kNoName = UINT32_MAX;
// All numbers of names are below this. Programs pass numbers of ranges, so an event may have any other number.
inline constexpr NameId kMostNames = (NameId{1} << 20) + 1;

// Returns the number of the name. After 2^20 names, all further ones share a number. Thread-safe. Cost: a lock and a
// hash, so a hot caller keeps the number.
NameId name_id(std::string_view name);
// The number of names; all their numbers are below it. Thread-safe.
NameId name_count() noexcept;
// The text of the name, which stays valid; "?" if there is no such name. Thread-safe and lock-free.
const std::string &name_text(NameId id) noexcept;

}  // namespace opd
