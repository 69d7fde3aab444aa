// TVM's RPC protocol "0.8.0", used by TVM 0.21 and newer. A packet is a u64 with its size, an i32 code and the fields
// of that code, mostly a sequence of values. All numbers are little-endian. Objects are not sent; the other side refers
// to them by number. Bytes from outside are checked while they are read.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "value/tensor.h"

namespace opd::rpc {

inline constexpr std::string_view kProtocolVersion = "0.8.0";
inline constexpr int32_t kMostKey = 4096;
inline constexpr int32_t kMagic = 0xFF271, kMismatch = kMagic + 2;  // the answer to a wrong key
inline constexpr int32_t kWantsTls =
    kMagic + 3;  // opdyno's answer; TVM's clients then report that there is no TVM server
inline constexpr int32_t kObjectReference = 115;  // the type of an object that is sent as a number

enum class Code : int32_t {
  kNone,
  kShutdown,
  kInitServer,
  kCallFunc,
  kReturn,
  kException,
  kCopyFromRemote,
  kCopyToRemote,
  kCopyAck,
  kGetGlobalFunc,  // from here on: handled by the server itself
  kFreeHandle,
  kDevSetDevice,
  kDevGetAttr,
  kDevAllocData,
  kDevFreeData,
  kDevStreamSync,
  kCopyAmongRemote,
  kDevAllocDataWithScope,
  kDevCreateStream,
  kDevFreeStream,
  kDevSetStream,
  kDevGetCurrentStream,
};

// The table of a session's objects that the other side refers to by number. A number is not an address, so memory
// outside the table cannot be reached. Used by one thread.
class Objects {
 public:
  // returns a number from 1 on, which is never reused
  uint64_t add(Value value) {
    if (values_.size() >= kMostObjects)
      fail(OPD_OUT_OF_MEMORY, "a session keeps at most ", kMostObjects, " objects; the client frees too few");
    values_.emplace(++last_, std::move(value));
    return last_;
  }

  // throws OPD_INVALID_ARGUMENT
  const Value &find(uint64_t number) const {
    const auto found = values_.find(number);
    if (found == values_.end()) fail_number(number);
    return found->second;
  }

  // throws likewise
  void remove(uint64_t number) {
    if (!values_.erase(number)) fail_number(number);
  }

  size_t size() const { return values_.size(); }
  uint64_t last() const { return last_; }  // the number that add() gave last

 private:
  [[noreturn]] static void fail_number(uint64_t number) {
    fail(OPD_INVALID_ARGUMENT, "the session has no object number ", number, ", or the client has freed it");
  }

  static constexpr size_t kMostObjects = 1 << 20;
  std::unordered_map<uint64_t, Value> values_;
  uint64_t last_ = 0;
};
// A tensor as the sender describes it. `data` is a number in the receiver's table.
struct RemoteTensor {
  uint64_t data = 0;
  DLDevice device{};
  DLDataType dtype{};
  std::vector<int64_t> dims;
  uint64_t byte_offset = 0;

  static RemoteTensor read(ByteReader &from);
  void write(ByteWriter &to) const;
  uint64_t bytes() const;  // throws if they do not fit 64 bits
  // A view of the tensor in the table. Throws unless the view lies within that tensor's memory.
  Ref<Tensor> in(const Objects &objects) const;
};

// A sequence of values from a packet. Tensors and other objects come from the table.
class Arguments {
 public:
  Arguments(ByteReader &from, const Objects &objects);

  // The values as arguments of a function. Throws for values that only requests have: a handle, or a tensor without
  // data.
  Args for_call() const;
  size_t size() const { return values_.size(); }
  // Throws unless there are `size` values.
  void require_size(size_t size, const char *request) const;
  const View &operator[](size_t i) const { return values_[i].view(); }
  // The number in a kOpaquePtr. It is not a value for functions.
  uint64_t handle(size_t i, const char *request) const;
  // The description of a tensor without data, which is in requests for memory.
  const RemoteTensor &description(size_t i, const char *request) const;

 private:
  void read_value(ByteReader &from, const Objects &objects);

  std::vector<Value> values_;
  std::vector<std::pair<size_t, uint64_t>> handles_;  // places and numbers
  std::deque<std::pair<size_t, RemoteTensor>> descriptions_;
};

// Reads a number, text or bytes after its type. None: the type is another one.
std::optional<Value> read_plain(ByteReader &from, int32_t type);
int32_t read_type(ByteReader &from);  // type of the next value
// Reads the code and the number of values of an answer. Returns a reader at the first value.
ByteReader values_of(std::string_view answer);

// Writes a packet: the fields of its code, then the values.
class PacketWriter {
 public:
  explicit PacketWriter(Code code) { head_.write(code); }
  PacketWriter(Code code, uint64_t function) : PacketWriter(code) { head_.write(function); }
  void write_text(std::string_view text) { head_.write_string(text); }

  bool add_plain(const View &value);  // a number or a text; false: it is not, and nothing was written
  PacketWriter &add_int(int64_t number) { return add(OPD_INT, number); }
  PacketWriter &add_device(DLDevice device) { return add(OPD_DEVICE, device); }
  PacketWriter &add_text(std::string_view text) { return add_string(OPD_CSTRING, text); }
  PacketWriter &add_bytes(std::string_view bytes) { return add_string(OPD_BYTES_VIEW, bytes); }
  // The last value; its content is sent after the packet.
  PacketWriter &add_bytes_that_follow(uint64_t size) { return add(OPD_BYTES_VIEW, size); }
  PacketWriter &add_handle(uint64_t number) { return add(OPD_POINTER, number); }
  PacketWriter &add_tensor(const RemoteTensor &tensor) { return begin(OPD_DLTENSOR), tensor.write(values_), *this; }
  PacketWriter &add_object(int32_t type, uint64_t number) { return add(type, number); }
  std::string take() { return head_.write(count_), head_.take() + values_.take(); }

 private:
  void begin(int32_t type);
  template <class T>
  PacketWriter &add(int32_t type, T content) {
    begin(type);
    values_.write(content);
    return *this;
  }
  PacketWriter &add_string(int32_t type, std::string_view content) {
    begin(type);
    values_.write_string(content);
    return *this;
  }

  ByteWriter head_, values_;
  int32_t count_ = 0;
};

// These functions write answers. Objects of a result are added to the table.
std::string result_of_call(const Value &value, Objects &objects);
std::string result_of_request(const View &value);  // result of a request that the server handles itself
inline std::string handle_result(uint64_t handle) { return PacketWriter(Code::kReturn).add_handle(handle).take(); }
inline std::string exception(std::string_view text) { return PacketWriter(Code::kException).add_text(text).take(); }

}  // namespace opd::rpc
