#include "base/loaded_objects.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/bytes.h"

namespace opd {
namespace {

std::string program_path() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// Finds the build ID among the notes in memory. A note has the sizes of its name and content, a type, then the padded
// name and content.
std::string build_id_in(const char *at, const char *end) {
  struct Note {
    uint32_t name_size, size, type;
  } note;
  constexpr uint32_t kBuildId = 3;
  const auto padded = [](uint32_t size) { return (size_t{size} + 3) & ~size_t{3}; };
  std::string text;
  while (static_cast<size_t>(end - at) >= sizeof note) {
    std::memcpy(&note, at, sizeof note);
    at += sizeof note;
    const auto left = static_cast<size_t>(end - at);
    if (padded(note.name_size) > left || note.size > left - padded(note.name_size)) break;
    const char *const content = at + padded(note.name_size);
    if (note.type == kBuildId && note.name_size == 4 && std::memcmp(at, "GNU", 4) == 0) {
      text = hex({reinterpret_cast<const uint8_t *>(content), note.size});
      break;
    }
    at = content + std::min(padded(note.size), static_cast<size_t>(end - content));
  }
  return text;
}

}  // namespace

std::vector<LoadedObject> loaded_objects() {
  std::vector<LoadedObject> objects;
  const auto visit = [](dl_phdr_info *info, size_t, void *given) {
    auto &found = *static_cast<std::vector<LoadedObject> *>(given);
    LoadedObject object{UINT64_MAX, 0, info->dlpi_addr, info->dlpi_name ? info->dlpi_name : "", {}};
    if (found.empty() && object.path.empty()) object.path = program_path();
    for (uint16_t i = 0; i < info->dlpi_phnum; ++i) {
      const auto &segment = info->dlpi_phdr[i];
      const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD) {
        object.begin = std::min(object.begin, begin);
        object.end = std::max(object.end, begin + segment.p_memsz);
      } else if (segment.p_type == PT_NOTE && object.build_id.empty()) {
        const auto *const notes = reinterpret_cast<const char *>(begin);
        object.build_id = build_id_in(notes, notes + segment.p_memsz);
      }
    }
    if (object.begin < object.end) found.push_back(std::move(object));
    return 0;
  };
  ::dl_iterate_phdr(visit, &objects);
  std::ranges::sort(objects, {}, &LoadedObject::begin);
  return objects;
}

}  // namespace opd
