// Random arguments, one class for each sort of parameter: mostly sound, often NULL, empty, negative or as large as can
// be. A pointer is never wild, and a size never more than what lies at a pointer that is not NULL.
#pragma once
#include <opdyno/arrow.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "driver.h"

namespace api_driver {

inline const DLDataType kDtypes[] = {{kDLFloat, 32, 1}, {kDLInt, 64, 1},  {kDLInt, 8, 1},
                                     {kDLUInt, 8, 4},   {kDLInt, 4, 1},   {kDLBool, 8, 1},
                                     {kDLFloat, 32, 0}, {99, 255, 65535}, {kDLOpaqueHandle, 0, 0}};
inline const DLDevice kDevices[] = {{kDLCPU, 0},  {kDLCPU, 0},  {kDLCPU, 1},
                                    {kDLCPU, 64}, {kDLCUDA, 0}, {static_cast<DLDeviceType>(-1), -1}};
inline const int64_t kNumbers[] = {0,  0,  1,         1,         2,         3,         4,         7,
                                   16, -1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, UINT32_MAX};

inline opd_value Driver::borrow_value() {
  switch (below(14)) {
    case 0:
      return opd_none();
    case 1:
      return opd_int(api_driver::kNumbers[below(std::size(kNumbers))]);
    case 2:
      return opd_bool(one_in(2));
    case 3:
      return opd_float(pick(std::array{0.0, 1.5, -1e308, static_cast<double>(INFINITY), static_cast<double>(NAN)}));
    case 4:
      return opd_cstring(one_in(6) ? nullptr : texts[below(texts.size())].c_str());
    case 5:
      return opd_dtype_value(pick(kDtypes));
    case 6:
      return opd_device_value(pick(kDevices));
    case 7:
      return opd_dltensor(opd_tensor_view(borrow<opd_tensor>()));
    case 8:
      return opd_pointer(nullptr);
    case 9:
    case 10:
      return opd_value_of_object(borrow<opd_tensor>());
    case 11:
      return opd_value_of_object(one_in(2) ? static_cast<void *>(borrow<opd_array>()) : borrow<opd_map>());
    case 12:
      return opd_value_of_object(borrow<opd_function>());
    default:
      return values_.empty() ? opd_none() : values_[below(values_.size())];
  }
}

template <class T>
struct In {
  T *handle;
  explicit In(Driver &d) : handle(d.borrow<T>()) {}
  T *get() const { return handle; }
};

// A module that may import others: not a system library, which the process keeps, with all that it imports.
struct Importer : In<opd_module> {
  explicit Importer(Driver &d) : In(d) {
    if (handle && std::strcmp(opd_module_kind(handle), "library") == 0) handle = nullptr;
  }
};

struct AnyHandle {
  void *handle;
  explicit AnyHandle(Driver &d) : handle(d.borrow_any()) {}
  void *get() const { return handle; }
};

template <class T>
struct Out {
  Driver &d;
  T *handle = nullptr;
  const bool is_null;
  explicit Out(Driver &driver) : d(driver), is_null(d.one_in(24)) {}
  ~Out() { d.keep(handle); }
  T **place() { return is_null ? nullptr : &handle; }
};

struct OutValue {
  Driver &d;
  opd_value value = opd_none();
  const bool is_null;
  explicit OutValue(Driver &driver) : d(driver), is_null(d.one_in(24)) {}
  ~OutValue() { d.keep(value); }
  opd_value *place() { return is_null ? nullptr : &value; }
};

template <class T>
struct OutPlain {
  T value{};
  const bool is_null;
  explicit OutPlain(Driver &d) : is_null(d.one_in(24)) {}
  T *place() { return is_null ? nullptr : &value; }
};

struct OneValue {
  opd_value value;
  const bool is_null;
  explicit OneValue(Driver &d) : value(d.borrow_value()), is_null(d.one_in(24)) {}
  const opd_value *get() const { return is_null ? nullptr : &value; }
};

// An array with its count; NULL with any count.
template <class T>
struct Counted {
  std::vector<T> items;
  int64_t number = 0;
  bool is_null = false;
  template <class Draw>
  Counted(Driver &d, size_t most, Draw draw) {
    is_null = d.one_in(16);
    number = is_null ? kNumbers[d.below(std::size(kNumbers))] : static_cast<int64_t>(d.below(most + 1));
    if (!is_null && d.one_in(32)) number = d.one_in(2) ? -1 : INT32_MIN;
    for (int64_t i = 0; !is_null && i < static_cast<int64_t>(most); ++i) items.push_back(draw());
  }
  T *data() { return is_null ? nullptr : items.data(); }
  int64_t count() const { return number; }
  size_t size() const {
    return is_null ? static_cast<size_t>(number) : static_cast<size_t>(std::max<int64_t>(number, 0));
  }
};

struct Values : Counted<opd_value> {
  explicit Values(Driver &d) : Counted(d, 5, [&] { return d.borrow_value(); }) {}
};
struct KeptValues : Counted<opd_value> {
  explicit KeptValues(Driver &d)
      : Counted(d, 3, [&] { return d.one_in(3) ? opd_int(1) : opd_value_of_object(d.borrow<opd_tensor>()); }) {}
};
struct Pairs : Counted<opd_value> {
  explicit Pairs(Driver &d) : Counted(d, 12, [&] { return d.borrow_value(); }) {
    number = number > 12 ? number : number / 2;
  }
};
template <class T>
struct Handles : Counted<T *> {
  explicit Handles(Driver &d) : Counted<T *>(d, 4, [&] { return d.borrow<T>(); }) {}
};
template <class T>
struct Numbers : Counted<T> {
  explicit Numbers(Driver &d)
      : Counted<T>(d, 4,
                   [&] { return static_cast<T>(d.one_in(8) ? kNumbers[d.below(std::size(kNumbers))] : d.below(8)); }) {}
};
struct Operands : Counted<opd_operand> {
  explicit Operands(Driver &d)
      : Counted(d, 5, [&] {
          return d.one_in(2) ? opd_operand_register(kNumbers[d.below(std::size(kNumbers))])
                             : opd_operand_immediate(kNumbers[d.below(std::size(kNumbers))]);
        }) {}
};
struct OneInstruction {
  Operands operands;
  opd_instruction made{};
  bool is_null;
  explicit OneInstruction(Driver &d) : operands(d), is_null(d.one_in(24)) {
    made.struct_size = d.one_in(12) ? 3 : static_cast<uint32_t>(sizeof made);
    made.opcode = static_cast<opd_opcode>(d.below(6));
    made.reg = static_cast<int64_t>(d.one_in(4) ? kNumbers[d.below(std::size(kNumbers))] : d.below(4));
    made.offset = d.pick(std::array<int64_t, 6>{0x7fff, 1, 2, 3, INT64_MAX, INT64_MIN});  // no loop, which may not end
    made.callee = d.one_in(20) ? nullptr : d.texts[d.below(d.texts.size())].c_str();
    made.args = operands.data();
    made.num_args = static_cast<int32_t>(operands.count());
  }
  const opd_instruction *get() const { return is_null ? nullptr : &made; }
};
struct Texts : Counted<const char *> {
  explicit Texts(Driver &d)
      : Counted(d, 4, [&] { return d.one_in(10) ? nullptr : d.texts[d.below(d.texts.size())].c_str(); }) {}
};

struct Text {
  const char *text;
  explicit Text(Driver &d) : text(d.one_in(20) ? nullptr : d.texts[d.below(d.texts.size())].c_str()) {}
  const char *get() const { return text; }
};

// A name that only the driver registers functions by: what the library registered itself stays.
struct OwnName {
  const char *text;
  explicit OwnName(Driver &d) : text(d.pick(std::array{"driver.f0", "driver.f1", "driver.f2", ""})) {}
  const char *get() const { return text; }
};

// A file of the scratch directory, one that is not there, or none.
struct Path {
  std::string text;
  const bool is_null;
  explicit Path(Driver &d) : is_null(d.one_in(20)) {
    text = d.scratch + "/" + (d.one_in(3) ? "new" + std::to_string(d.below(8)) : d.files[d.below(d.files.size())]);
    if (d.one_in(16)) text = d.scratch;
  }
  const char *get() const { return is_null ? nullptr : text.c_str(); }
};

struct Bytes {
  std::string bytes;
  const bool is_null;
  const size_t wrong_size;
  explicit Bytes(Driver &d)
      : bytes(d.texts[d.below(d.texts.size())]), is_null(d.one_in(12)), wrong_size(d.one_in(2) ? 0 : SIZE_MAX) {
    if (!bytes.empty() && d.one_in(4)) bytes[d.below(bytes.size())] ^= static_cast<char>(1 << d.below(8));
    if (d.one_in(8)) bytes.resize(d.below(bytes.size() + 1));
  }
  const void *data() const { return is_null ? nullptr : bytes.data(); }
  size_t size() const { return is_null ? wrong_size : bytes.size(); }
};

struct Room {
  std::vector<char> bytes;
  size_t given;
  explicit Room(Driver &d) : bytes(4096), given(d.pick(std::array<size_t, 6>{0, 1, 4, 16, 64, 4096})) {
    if (d.one_in(12)) bytes.clear(), given = d.one_in(2) ? 0 : SIZE_MAX;
  }
  void *data() { return bytes.empty() ? nullptr : bytes.data(); }
  size_t size() const { return given; }
};

template <class T>
struct Number {
  Driver &d;
  explicit Number(Driver &driver) : d(driver) {}
  T any() { return static_cast<T>(kNumbers[d.below(std::size(kNumbers))]); }
  T small() { return static_cast<T>(d.pick(std::array<int64_t, 6>{0, 1, 1, 2, 3, -1})); }
  T forward() { return static_cast<T>(d.pick(std::array<int64_t, 6>{0x7fff, 1, 2, 3, INT64_MAX, INT64_MIN})); }
};

// PAPI is left out: it takes long, and keeps memory of its own.
struct CollectorKind {
  const opd_collector_kind kind;
  explicit CollectorKind(Driver &d) : kind(static_cast<opd_collector_kind>(Number<int32_t>(d).any())) {}
  opd_collector_kind get() const { return kind == OPD_COLLECTOR_PAPI ? OPD_COLLECTOR_PERF : kind; }
};

template <class T>
struct Plain {
  T value;
  explicit Plain(Driver &d) {
    if constexpr (std::is_same_v<T, DLDataType>) value = d.pick(kDtypes);
    else if constexpr (std::is_same_v<T, DLDevice>) value = d.pick(kDevices);
    else value = opd_operand_register(static_cast<int64_t>(d.below(4)));
  }
  T get() const { return value; }
};

struct ViewOf {
  const DLTensor *view;
  explicit ViewOf(Driver &d) : view(opd_tensor_view(d.borrow<opd_tensor>())) {}
  const DLTensor *get() const { return view; }
};

template <class T>
void no_init(T *options) {
  std::memset(options, 0, sizeof *options);
  options->struct_size = sizeof *options;
}

// Options with room for sizes that this version does not know. Runs are kept short.
template <class T>
struct Options {
  alignas(16) unsigned char bytes[4096] = {};
  bool is_null;
  std::string path;  // that they have, always one of the scratch directory
  template <class Init>
  Options(Driver &d, Init init) : is_null(d.one_in(2)) {
    T *o = reinterpret_cast<T *>(bytes);
    init(o);
    if constexpr (requires { o->timeout_ns; }) o->timeout_ns = d.pick(std::array<int64_t, 4>{0, 0, 1'000'000'000, -1});
    if constexpr (requires { o->cancel = d.borrow<std::remove_pointer_t<decltype(o->cancel)>>(); })
      if (d.one_in(2)) o->cancel = d.borrow<std::remove_pointer_t<decltype(o->cancel)>>();
    if constexpr (requires { o->memory_limit_bytes; })
      o->memory_limit_bytes = d.pick(std::array<uint64_t, 3>{0, 64, 1 << 20});
    if constexpr (requires { o->max_depth; }) o->max_depth = static_cast<int32_t>(d.pick(std::array{-1, 0, 1, 50}));
    if constexpr (requires { o->max_records; }) o->max_records = d.pick(std::array<uint64_t, 3>{0, 1, 1000});
    if constexpr (requires { o->sample_interval; }) o->sample_interval = d.below(3);
    if constexpr (requires { o->min_repeat_ms; }) o->min_repeat_ms = 0;
    if constexpr (requires { o->number; }) o->number = 1;
    if constexpr (requires { o->repeat; }) o->repeat = static_cast<decltype(o->repeat)>(d.below(3));
    if constexpr (requires { o->keep_in_file; })
      if (d.one_in(4)) {
        o->file = (path = d.scratch + "/events" + std::to_string(d.below(4))).c_str();
        o->flush_interval_ns = d.pick(std::array<uint64_t, 4>{0, 0, 1'000'000, UINT64_MAX});
      }
    if constexpr (requires { o->min_interval_ns; }) {
      o->path = (path = d.scratch + "/dump-%n").c_str();
      o->slow_ns = d.pick(std::array<uint64_t, 3>{0, 1, 1'000'000});
      o->on_error = static_cast<int32_t>(d.below(2));
      o->max_dumps = d.below(3);
      o->signal = static_cast<int32_t>(d.pick(std::array{0, 0, 0, 10, 12, 9, -1}));
    }
    if (d.one_in(12))
      o->struct_size = static_cast<uint32_t>(d.pick(std::array<int64_t, 6>{0, 3, 4, 9, 4096, UINT32_MAX}));
    if (d.one_in(24)) bytes[sizeof(T) + d.below(64)] = 1;
  }
  T *get() { return is_null ? nullptr : reinterpret_cast<T *>(bytes); }
};

template <class T>
struct OutStruct {
  alignas(16) unsigned char bytes[4096] = {};
  bool is_null;
  explicit OutStruct(Driver &d) : is_null(d.one_in(24)) {
    const uint32_t size =
        d.one_in(4) ? d.pick(std::array<uint32_t, 4>{0, 3, 4, 4096}) : static_cast<uint32_t>(sizeof(T));
    std::memcpy(bytes, &size, sizeof size);
  }
  T *place() { return is_null ? nullptr : reinterpret_cast<T *>(bytes); }
};

struct OutStream {
  ArrowArrayStream stream{};
  bool is_null;
  explicit OutStream(Driver &d) : is_null(d.one_in(24)) {}
  ~OutStream() {
    if (stream.release) stream.release(&stream);
  }
  ArrowArrayStream *place() { return is_null ? nullptr : &stream; }
};

// A DLPack tensor that counts its end; the library takes it over only if it accepts it.
template <class T>
struct Lent {
  struct Owner {
    Probe *probe = new Probe;  // NULL once the deleter ran
    T managed{};
    alignas(64) float data[16] = {};
    int64_t dims[2] = {4, 4};
    bool taken = false;
  };
  Driver &driver;
  Owner *owner = new Owner;
  bool is_null;
  explicit Lent(Driver &d) : driver(d), is_null(d.one_in(24)) {
    owner->managed.dl_tensor = {owner->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, owner->dims, nullptr, 0};
    DLTensor &t = owner->managed.dl_tensor;
    if (d.one_in(8)) t.byte_offset = 3;
    if (const DLDataType dtype = d.pick(kDtypes); d.one_in(4) && dtype.bits * dtype.lanes <= 32) t.dtype = dtype;
    if (d.one_in(8)) t.data = nullptr;
    if (d.one_in(16)) t.ndim = -1;
    if constexpr (requires { owner->managed.version; }) {
      owner->managed.version = {static_cast<uint32_t>(d.one_in(8) ? 2 : 1), 0};
      owner->managed.flags = d.below(8);
    }
    owner->managed.manager_ctx = owner;
    owner->managed.deleter = [](T *self) {
      auto *ended = static_cast<Owner *>(self->manager_ctx);
      Probe::end(ended->probe);
      ended->probe = nullptr;
      if (ended->taken) delete ended;
    };
  }
  ~Lent() {
    if (!owner->probe) delete owner;  // taken over, and ended already
    else if (driver.was_accepted) owner->taken = true;
    else Probe::end(owner->probe), delete owner;
  }
  T *get() { return is_null ? nullptr : &owner->managed; }
};

template <class T>
struct OutLent {
  T *managed = nullptr;
  bool is_null;
  explicit OutLent(Driver &d) : is_null(d.one_in(24)) {}
  ~OutLent() {
    if (managed) managed->deleter(managed);
  }
  T **place() { return is_null ? nullptr : &managed; }
};

struct Callback {
  Driver &driver;
  Probe *probe;
  bool is_null;
  explicit Callback(Driver &d) : driver(d), probe(d.one_in(8) ? nullptr : new Probe), is_null(d.one_in(24)) {}
  void *user_data() const { return probe; }
  opd_deleter deleter() const { return probe ? &Probe::end : nullptr; }
};
struct PackedCallback : Callback {
  using Callback::Callback;
  ~PackedCallback() {
    if (probe && !driver.was_accepted) Probe::end(probe);
  }
  opd_packed_fn function() const {
    if (is_null) return nullptr;
    return [](void *self, const opd_value *args, int32_t num_args, opd_value *out) -> opd_error * {
      if (self && static_cast<Probe *>(self)->ended) std::abort();  // called after its end
      if (num_args == 3) return opd_error_create(OPD_CALL_FAILED, "RuntimeError", "a function of the driver fails");
      return num_args > 0 && args[0].type != OPD_DLTENSOR ? opd_value_retain(args, out) : nullptr;
    };
  }
};
// A function that nothing else knows.
struct FreshFunction {
  opd_function *made = nullptr;
  explicit FreshFunction(Driver &d) {
    PackedCallback callback(d);
    d.end(opd_function_create(callback.function(), callback.user_data(), callback.deleter(), &made));
  }
  ~FreshFunction() { opd_object_release(made); }
  opd_function *get() const { return made; }
};
struct LogCallback : Callback {  // taken over in any case
  using Callback::Callback;
  opd_log_fn function() const {
    const opd_log_fn drop = [](void *, opd_log_level, const char *) {};
    return is_null ? nullptr : drop;
  }
};

}  // namespace api_driver
