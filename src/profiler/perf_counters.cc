// Uses the kernel's counters without a library: one group of events per thread, read by one system call. Also the
// energy of the processor packages, from the kernel's powercap interface.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/file.h"
#include "profiler/counter_collector.h"

namespace opd {

std::string paranoia_text() {
  const std::string path = "/proc/sys/kernel/perf_event_paranoid";
  try {
    const std::string level = read_file(path);
    return concat(path, " is ", std::string_view(level).substr(0, level.find('\n')));
  } catch (const Exception &) { return concat("the kernel has no ", path); }
}

std::string perf_hint(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "this machine has no such counter. A virtual machine has the processor's only if its hypervisor passes them "
           "on "
           "(QEMU/KVM: -cpu host,pmu=on; in a cloud: a bare-metal instance)";
  if (error == EACCES || error == EPERM)
    return concat("it is forbidden: ", paranoia_text(),
                  ". Users may count their own code up to 2, and the kernel's up to 1: ",
                  "sudo sysctl kernel.perf_event_paranoid=1. A container must be allowed perf_event_open as well: ",
                  "docker run --cap-add PERFMON, and a seccomp profile with that call");
  if (error == ENOSYS) return "the kernel was built without performance events, or the container hides them";
  if (error == EMFILE) return "too many files are open; raise the limit (ulimit -n)";
  if (error == EINVAL) return "the processor cannot count it together with the other events; count fewer at a time";
  return error_text(error);
}

namespace {

struct KnownEvent {
  std::string_view name;
  uint32_t type;
  uint64_t config;
  bool in_kernel;  // happens only in the kernel
};
constexpr KnownEvent known_events[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},
};
constexpr size_t kUsual = 5;
using Events = std::vector<const KnownEvent *>;

// Opens a counter of the calling thread; none, with errno, on failure.
Descriptor open_event(const KnownEvent &event, int leader) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.exclude_kernel = !event.in_kernel;
  attr.exclude_hv = 1;
  attr.disabled = leader < 0;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return Descriptor(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC)));
}

class PerfGroup final : public CounterReader {
 public:
  explicit PerfGroup(const Events &events) : raw_(events.size()), scaled_(events.size()) {
    for (const KnownEvent *event : events) {
      Descriptor fd = open_event(*event, fds_.empty() ? -1 : fds_.front().get());
      if (fd.get() < 0) fail(OPD_UNSUPPORTED, "event ", event->name, " cannot be counted: ", perf_hint(errno));
      fds_.push_back(std::move(fd));
    }
    ioctl(fds_.front().get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  }

  // Scales each interval between two reads separately, so that values never fall.
  void read(uint64_t *values) override {
    uint64_t words[3 + std::size(known_events)];
    const size_t size = (3 + fds_.size()) * sizeof *words;
    if (::read(fds_.front().get(), words, size) != static_cast<ssize_t>(size))
      fail(OPD_UNSUPPORTED, "the kernel's counters can no longer be read: ", error_text(errno));
    const uint64_t enabled = words[1] - enabled_, running = words[2] - running_;
    if (running < enabled) is_scaled_ = true;
    for (size_t i = 0; i < fds_.size(); ++i) {
      const uint64_t counted = words[3 + i] - raw_[i];
      raw_[i] = words[3 + i];
      scaled_[i] += running == enabled || running == 0
                        ? counted
                        : static_cast<uint64_t>(static_cast<double>(counted) * static_cast<double>(enabled) /
                                                static_cast<double>(running));
      values[i] = scaled_[i];
    }
    enabled_ = words[1];
    running_ = words[2];
  }
  bool is_estimated(size_t) const override { return is_scaled_; }

 private:
  std::vector<Descriptor> fds_;
  std::vector<uint64_t> raw_, scaled_;
  uint64_t enabled_ = 0, running_ = 0;
  bool is_scaled_ = false;
};

class PerfCollector final : public CounterCollector {
 public:
  PerfCollector(const CounterOptions &options, const std::vector<std::pair<const KnownEvent *, DLDevice>> &events)
      : CounterCollector("perf", options.per_thread) {
    for (const auto &[event, device] : events) {
      if (options.best_effort && open_event(*event, -1).get() < 0) {
        add_note(concat("event ", event->name, " is left out: ", perf_hint(errno)));
        continue;
      }
      Counter counter{std::string(event->name)};
      counter.device = device;
      events_.push_back(event);
      add_counter(std::move(counter));
    }
    open_thread();  // checks that the events can be counted
  }

 private:
  std::unique_ptr<CounterReader> open_thread() override {
    return events_.empty() ? nullptr : std::make_unique<PerfGroup>(events_);
  }
  Events events_;
};

const KnownEvent &known_event(std::string_view name) {
  std::string names;
  for (const KnownEvent &event : known_events) {
    if (event.name == name) return event;
    names += concat(names.empty() ? "" : ", ", event.name);
  }
  fail(OPD_NOT_FOUND, "unknown event ", name, "; the known events are ", names);
}

}  // namespace

std::vector<std::string> perf_events() {
  std::vector<std::string> names;
  for (const KnownEvent &event : known_events)
    if (open_event(event, -1).get() >= 0) names.emplace_back(event.name);
  return names;
}

Ref<Collector> make_perf_collector(const CounterOptions &options) {
  std::vector<std::pair<const KnownEvent *, DLDevice>> events;
  for (const auto &event : options.events) events.emplace_back(&known_event(event.name), event.device);
  if (events.empty())
    for (size_t i = 0; i < kUsual; ++i) events.emplace_back(&known_events[i], DLDevice{kDLCPU, -1});
  if (events.size() > std::size(known_events)) fail(OPD_INVALID_ARGUMENT, "an event is named more than once");
  return make_object<PerfCollector>(options, events);
}

// ---- energy

namespace {

class NumberFile {
 public:
  explicit NumberFile(const std::string &path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  std::string text() const {
    char bytes[64];
    ssize_t size = file_.get() < 0 ? 0 : pread(file_.get(), bytes, sizeof bytes, 0);
    while (size > 0 && bytes[size - 1] == '\n') --size;
    return {bytes, size > 0 ? static_cast<size_t>(size) : 0};
  }
  bool read(uint64_t &number) const {
    const std::string digits = text();
    return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
  }

 private:
  Descriptor file_;
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
