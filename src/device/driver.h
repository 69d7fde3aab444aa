// The common base of vendors' drivers: a driver's functions, found once, and its devices, listed once. Drivers do not
// survive fork(): a child must not call the parent's driver, whose locks may be held.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/signals.h"
#include "base/static_guard.h"

namespace opd {

// The base of a driver's table of functions. Table::open() finds the functions, or sets `absence`.
template <class Table>
struct Driver {
  std::string absence;  // reason why the driver cannot be used; "" if it can

  bool is_inherited() const { return fork_generation() != generation_; }  // true in a child of fork()
  // Opens the driver at the first call. The table is never destroyed: work may be submitted while the process exits.
  static const Table &get() {
    static const Table *const table = [] {
      const KeptSignalHandlers kept;
      auto *made = new Table;
      made->open();
      was_opened_.store(true, std::memory_order_release);
      return made;
    }();
    return *table;
  }
  static bool is_open() noexcept { return was_opened_.load(std::memory_order_acquire); }

 private:
  const uint32_t generation_ = fork_generation();
  static inline std::atomic<bool> was_opened_{false};
};

// Finds the functions of a table in a driver's library, which is never closed. Used under a LoaderCall.
struct DriverLibrary {
  const char *name;
  std::string &absence;  // set to the first thing that is missing
  void *handle;          // null: there is no library

  // `hint`: where the library comes from.
  static DriverLibrary open(const char *name, std::string &absence, const char *hint);
  template <class Function>
  void find(Function &function, const char *symbol) const {
    function = reinterpret_cast<Function>(find(symbol));
  }
  template <class Function>
  void require(Function &function, const char *symbol, const char *since = "") const {
    find(function, symbol);
    if (!function && absence.empty()) absence = concat(name, " has no ", symbol, since);
  }

 private:
  void *find(const char *symbol) const;
};

namespace detail {
[[noreturn]] void fail_without_device(const char *kind, int32_t id);
[[noreturn]] void fail_in_child(const char *kind, int32_t id);
std::string absence_among(const char *owner, size_t count, int32_t id);
}  // namespace detail

// The devices of a driver, indexed by number.
template <class Device>
struct DriverDevices {
  std::vector<std::unique_ptr<Device>> list;
  std::string failure;  // error that occurred when they were listed

  // `list` adds the devices. Call it once: the devices are never destroyed.
  template <class Table, class List>
  static const DriverDevices &make(const Driver<Table> &driver, const List &list) {
    auto *devices = new DriverDevices;
    if (!driver.absence.empty()) return *devices;
    const KeptSignalHandlers kept;
    try {
      list(*devices);
    } catch (const Exception &e) { devices->failure = e.error()->message; }
    return *devices;
  }

  Device *find(int32_t id) const {  // null if there is no such device
    return id >= 0 && static_cast<size_t>(id) < list.size() ? list[static_cast<size_t>(id)].get() : nullptr;
  }
  // Throws OPD_UNSUPPORTED if there is no such device, or in a child of fork().
  template <class Table>
  Device &get(const Driver<Table> &driver, const char *kind, int32_t id) const {
    Device *const device = find(id);
    if (!device) detail::fail_without_device(kind, id);
    if (driver.is_inherited()) [[unlikely]]
      detail::fail_in_child(kind, id);
    return *device;
  }
  // Reason why there is no such device: one clause. `none`: the reason if there are no devices at all. `owner`: for
  // example "OpenCL's drivers have".
  template <class Table>
  std::string absence(const Driver<Table> &driver, const std::string &none, const char *owner, int32_t id) const {
    if (!driver.absence.empty()) return driver.absence;
    if (!failure.empty()) return failure;
    return list.empty() ? none : detail::absence_among(owner, list.size(), id);
  }
};

// Throws OPD_UNSUPPORTED in a child of fork().
template <class Table>
void check_launch(const Driver<Table> &driver, const std::string &kernel) {
  if (driver.is_inherited()) [[unlikely]]
    fail(OPD_UNSUPPORTED, "kernel ", kernel,
         " cannot be launched in a child of fork(): its driver was started in the parent");
}

struct KnownStatus {
  int32_t status;
  const char *name;
};
std::string status_text(std::span<const KnownStatus> known, int32_t status);  // "CL_OUT_OF_RESOURCES (-5)"
std::string sizes_text(const std::array<uint32_t, 3> &sizes);                 // "8 x 1 x 1"

}  // namespace opd
