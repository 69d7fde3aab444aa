// Parameter files: opening, copying everything, saving; beside what the system takes for the same bytes.
#include <fcntl.h>
#include <sys/mman.h>

#include <opdyno/opdyno.hpp>

#include "param_file.h"

namespace {

using bench::ParamFile;
using opdyno::check;
using opdyno::Params;

opd_params_options copying() {
  opd_params_options options;
  opd_params_options_init(&options);
  options.copy = 1;
  return options;
}

// A row whose operation takes milliseconds.
bench::AddRow row(const char *name, std::function<void()> (*set_up)()) {
  return {name, "ms", [set_up] {
            return bench::timed(1e6, [operation = set_up()](int64_t n) {
              for (int64_t i = 0; i < n; ++i) operation();
            });
          }};
}

const bench::AddRow opened =
    row("params_open", [] { return std::function<void()>([path = ParamFile::get().path] { Params::load(path); }); });

const bench::AddRow copied = row("params_copy", [] {
  return std::function<void()>([path = ParamFile::get().path] {
    const opd_params_options options = copying();
    Params::open(path, &options);
  });
});

// The same file into one block of fresh memory in huge pages.
const bench::AddRow bare_copied = row("params_copy_bare", [] {
  return std::function<void()>([path = ParamFile::get().path] {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto size = static_cast<size_t>(lseek(fd, 0, SEEK_END));
    constexpr size_t kHuge = size_t{2} << 20;
    void *block = mmap(nullptr, size + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fd < 0 || block == MAP_FAILED) throw std::runtime_error("cannot read " + path);
    auto *to = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(block) + kHuge - 1) & ~(kHuge - 1));
    madvise(to, size, MADV_HUGEPAGE);
    for (size_t done = 0; done < size;) {
      const ssize_t n = pread(fd, to + done, size - done, static_cast<off_t>(done));
      if (n <= 0) throw std::runtime_error("cannot read " + path);
      done += static_cast<size_t>(n);
    }
    munmap(block, size + kHuge);
    close(fd);
  });
});

const bench::AddRow loaded = row("params_load_bytes", [] {
  return std::function<void()>([bytes = bench::read_file(ParamFile::get().path)] {
    Params params;
    check(opd_params_load_bytes(bytes.data(), bytes.size(), params.out()));
  });
});

Params all_copied() {
  const opd_params_options options = copying();
  return Params::open(ParamFile::get().path, &options);
}

const bench::AddRow saved = row("params_save", [] {
  return std::function<void()>([params = all_copied(), path = ParamFile::get().saved()] { params.save(path); });
});

// The same bytes to a new file that replaces the last one.
const bench::AddRow bare_saved = row("params_save_bare", [] {
  return std::function<void()>([bytes = bench::read_file(ParamFile::get().path), path = ParamFile::get().saved()] {
    const std::string temporary = path + ".new";
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
      if (n <= 0) throw std::runtime_error("cannot write " + path);
      done += static_cast<size_t>(n);
    }
    close(fd);
    if (rename(temporary.c_str(), path.c_str())) throw std::runtime_error("cannot write " + path);
  });
});

const bench::AddRow saved_bytes = row("params_save_bytes", [] {
  return std::function<void()>([params = all_copied()] {
    opdyno::Handle<opd_buffer> bytes;
    check(opd_params_save_bytes(params.get(), bytes.out()));
  });
});

}  // namespace
