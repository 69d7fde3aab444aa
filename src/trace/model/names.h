// Names of events, and stacks of the host's functions. Each distinct name or stack has one number in the process, so
// events hold numbers, and traces of several programs in a process use the same numbers. Names are never removed: a
// process has as many as its recorded operators, functions and ranges.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
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

// ---- stacks of the host's functions. Like names, each distinct stack has one number in the process, so events hold
// numbers. Stacks are never removed.

using StackId = uint32_t;  // 0: no stack
inline constexpr StackId kMostStacks = StackId{1} << 18;

// A frame is one word. It is the return address of a native function. If the highest bit is set, it is a function's
// name, a file and a line, which the program's own language gave.
struct LanguageFrame {
  NameId function, file;
  uint32_t line;
};
constexpr bool is_language_frame(uint64_t word) { return word >> 63; }
uint64_t pack_frame(const LanguageFrame &frame) noexcept;
LanguageFrame unpack_frame(uint64_t word) noexcept;

// Returns the number of the stack; frames are given innermost first. Stacks beyond kMostStacks or 64 MiB share a
// number. Thread-safe. Cost: a lock and a hash.
StackId stack_id(std::span<const uint64_t> frames);
// The frames of the stack, which stay valid; empty for 0 and for unknown numbers. Thread-safe and lock-free.
std::span<const uint64_t> stack_frames(StackId id) noexcept;

// Returns the stack of the calling thread; 0 if there is no memory. Cost: that of walk_stack().
StackId capture_stack() noexcept;

// For languages without native frames: `frames` are the language's functions on the calling thread. Until they are
// popped, they replace the native frames that end further out than the stack address `place`.
void push_language_stack(std::span<const uint64_t> frames, uintptr_t place) noexcept;
void pop_language_stack() noexcept;

}  // namespace opd
