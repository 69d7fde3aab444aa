// Collects the energy of the processor packages from the kernel's powercap interface.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "profiler/counter_collector.h"

namespace opd {
namespace {

class NumberFile {
 public:
  explicit NumberFile(const std::string &path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  NumberFile(NumberFile &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~NumberFile() {
    if (fd_ >= 0) close(fd_);
  }
  std::string text() const {
    char bytes[64];
    ssize_t size = fd_ < 0 ? 0 : pread(fd_, bytes, sizeof bytes, 0);
    while (size > 0 && bytes[size - 1] == '\n') --size;
    return {bytes, size > 0 ? static_cast<size_t>(size) : 0};
  }
  bool read(uint64_t &number) const {
    const std::string digits = text();
    return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
  }

 private:
  int fd_;
};

struct Domain {
  std::string name, path;
  uint64_t range = 0;
};

class DomainCounters final : public CounterReader {
 public:
  explicit DomainCounters(const std::vector<Domain> &domains) {
    for (const Domain &domain : domains) files_.emplace_back(domain.path + "/energy_uj");
  }
  void read(uint64_t *values) override {
    for (size_t i = 0; i < files_.size(); ++i)
      if (!files_[i].read(values[i])) fail(OPD_IO, "the energy counter can no longer be read");
  }

 private:
  std::vector<NumberFile> files_;
};

class EnergyCollector final : public CounterCollector {
 public:
  explicit EnergyCollector(std::vector<Domain> domains)
      : CounterCollector("energy", false), domains_(std::move(domains)) {
    for (const Domain &domain : domains_) {
      Counter counter{concat("Energy of ", domain.name, " (uJ)")};
      counter.of = Counter::Of::kProcess;
      counter.range = domain.range;
      add_counter(std::move(counter));
    }
  }

 private:
  std::unique_ptr<CounterReader> open_thread() override { return nullptr; }
  std::unique_ptr<CounterReader> open_rest() override { return std::make_unique<DomainCounters>(domains_); }
  std::string shared() override { return "of the whole processor"; }
  const std::vector<Domain> domains_;
};

}  // namespace

// Reads only whole packages: "intel-rapl:0", "intel-rapl:1" …; their parts are named "intel-rapl:0:1".
Ref<Collector> make_energy_collector(const std::string &powercap_dir) {
  std::vector<Domain> domains;
  std::string forbidden;
  for (int package = 0;; ++package) {
    Domain domain;
    domain.path = concat(powercap_dir, "/intel-rapl:", package);
    domain.name = NumberFile(domain.path + "/name").text();
    if (domain.name.empty()) break;
    uint64_t now;
    if (!NumberFile(domain.path + "/energy_uj").read(now)) forbidden = domain.path + "/energy_uj";
    else if (NumberFile(domain.path + "/max_energy_range_uj").read(domain.range)) domains.push_back(std::move(domain));
  }
  if (!domains.empty()) return make_object<EnergyCollector>(std::move(domains));
  if (!forbidden.empty())
    fail(OPD_UNSUPPORTED, "energy cannot be measured: ", forbidden,
         " may not be read; since Linux 5.10 it is for root ", "only, so an administrator must allow it (chmod a+r)");
  fail(OPD_UNSUPPORTED, "energy cannot be measured: ", powercap_dir,
       " has no intel-rapl counters; virtual machines and ",
       "containers have none, and else the kernel module intel_rapl_msr may not be loaded");
}

}  // namespace opd
