#include "module/image/library_cache.h"

#include <mutex>

#include "base/environment.h"
#include "base/fork_mutex.h"

namespace opd {
namespace {

using Images = std::vector<std::shared_ptr<LibraryImage>>;

constexpr size_t kMostImages = 8;  // each image holds a descriptor

size_t most_bytes() {
  static const size_t bytes = bytes_from_environment("OPDYNO_KEPT_LIBRARIES_MB", 32);
  return bytes;
}

struct Kept {
  ForkMutex guard{LockRank::kLibraryCache};
  Images images;  // ordered by last use, oldest first

  static Kept &get() {
    static auto *kept = new Kept;  // never destroyed: modules may be dropped while the process exits
    return *kept;
  }

  // Moves excess images to `dropped`, to be destroyed without the lock.
  void shrink(Images &dropped) {
    size_t bytes = 0, number = 0;
    auto first = images.end();
    while (first != images.begin() && number < kMostImages) {
      bytes += (*std::prev(first))->memory_bytes();
      if (bytes > most_bytes()) break;
      --first, ++number;
    }
    dropped.assign(std::make_move_iterator(images.begin()), std::make_move_iterator(first));
    images.erase(images.begin(), first);
  }
};
// Made at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Kept &kept_made_at_load = Kept::get();

}  // namespace

std::shared_ptr<LibraryImage> take_kept_image(const std::string &path, const FileState &state) {
  Kept &kept = Kept::get();
  Images outdated;
  std::scoped_lock lock(kept.guard);
  std::shared_ptr<LibraryImage> found;
  for (size_t i = kept.images.size(); i-- > 0;) {
    if (kept.images[i]->name() != path) continue;
    const bool current = kept.images[i]->is_of(path, state);
    if (current && found) continue;
    (current ? found : outdated.emplace_back()) = std::move(kept.images[i]);
    kept.images.erase(kept.images.begin() + static_cast<ptrdiff_t>(i));
  }
  return found;
}

void keep_image(std::shared_ptr<LibraryImage> image) noexcept {
  if (!image->may_serve_again() || image->memory_bytes() > most_bytes()) return;
  Kept &kept = Kept::get();
  Images dropped;
  try {
    std::scoped_lock lock(kept.guard);
    kept.images.push_back(std::move(image));
    kept.shrink(dropped);
  } catch (const std::bad_alloc &) {
    // the image is not kept
  }
}

void drop_kept_images() noexcept {
  Kept &kept = Kept::get();
  Images dropped;
  std::scoped_lock lock(kept.guard);
  dropped.swap(kept.images);
}

}  // namespace opd
