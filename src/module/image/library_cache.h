// The library cache: images of unloaded libraries. They save the next load of the same file from reading, checking and
// writing it again. While a library is loaded, its image is not in the cache, so two modules never share an image.
//
// The cache holds at most eight images and OPDYNO_KEPT_LIBRARIES_MB (32). It drops the least recently used images
// first. opd_memory_trim() of the host drops all images.
#pragma once
#include <memory>
#include <string>

#include "module/image/library_image.h"

namespace opd {

// Removes the image of a file in this state from the cache and returns it; null if there is none.
std::shared_ptr<LibraryImage> take_kept_image(const std::string &path, const FileState &state);
void keep_image(std::shared_ptr<LibraryImage> image) noexcept;  // the image must not be mapped
void drop_kept_images() noexcept;

}  // namespace opd
