// The library cache: images of unloaded libraries, ready for the next load of the same file, which need not be read,
// checked and written again. While a library is loaded, its image is not in the cache, so two modules share nothing.
//
// It holds at most eight images and OPDYNO_KEPT_LIBRARIES_MB (32), and drops the least recently used first.
// opd_memory_trim() of the host drops all.
#pragma once
#include <memory>
#include <string>

#include "module/image/library_image.h"

namespace opd {

// Takes the image of a file in this state out of the cache; null if there is none.
std::shared_ptr<LibraryImage> take_kept_image(const std::string &path, const FileState &state);
void keep_image(std::shared_ptr<LibraryImage> image) noexcept;  // it must not be mapped
void drop_kept_images() noexcept;

}  // namespace opd
