// Images of libraries that were unloaded, ready for the next load of the same file: it need not be read, checked and
// written anew. A loaded library's image is its own, so that no two modules share anything.
//
// They are few: together at most OPDYNO_KEPT_LIBRARIES_MB (32) and eight, the least recently used go first, and
// opd_memory_trim() of the host drops them all.
#pragma once
#include <memory>
#include <string>

#include "module/library_image.h"

namespace opd {

// The image of a file as `state` says it is, which is then the caller's alone; null if none is kept.
std::shared_ptr<LibraryImage> take_kept_image(const std::string &path, const FileState &state);
void keep_image(std::shared_ptr<LibraryImage> image) noexcept;  // it must not be mapped
void drop_kept_images() noexcept;

}  // namespace opd
