// TVM's RPC protocol "0.8.0", as TVM 0.21 and newer speak it. A packet is a u64 with its size, an i32 code, and what
// the code demands, mostly a sequence of values. All numbers are little-endian. Objects stay where they are: the other
// side has numbers of them. Bytes from outside are checked while they are read.
#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "rpc/wire/objects.h"
#include "value/tensor.h"

namespace opd::rpc {

inline constexpr std::string_view kProtocolVersion = "0.8.0";
inline constexpr int32_t kMostKey = 4096;
inline constexpr int32_t kMagic = 0xFF271, kMismatch = kMagic + 2;  // the answer if the key is another one
inline constexpr int32_t kWantsTls =
    kMagic + 3;  // opdyno's answer; TVM's clients then say that there is no server of TVM's
inline constexpr int32_t kObjectReference = 115;  // the type of an object that stays where it is

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
  kGetGlobalFunc,  // from here on, done by the server itself
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

// A tensor of the sender's view: its data is a number in the receiver's table.
struct RemoteTensor {
  uint64_t data = 0;
  DLDevice device{};
  DLDataType dtype{};
  std::vector<int64_t> dims;
  uint64_t byte_offset = 0;

  static RemoteTensor read(ByteReader &from);
  void write(ByteWriter &to) const;
  uint64_t bytes() const;  // throws if 64 bits do not count them
  // The tensor in the table, as this view shows it. Throws unless all of the view lies in that tensor's memory.
  Ref<Tensor> in(const Objects &objects) const;
};

// A sequence of values from a packet; tensors and other objects are those of the table.
class Arguments {
 public:
  Arguments(ByteReader &from, const Objects &objects);

  // As arguments of a function. Throws for what only requests have: a handle, and a tensor without data.
  Args for_call() const;
  size_t size() const { return values_.size(); }
  // Throws unless there are so many.
  void require_size(size_t size, const char *request) const;
  const View &operator[](size_t i) const { return values_[i].view(); }
  // Of a kOpaquePtr: not a value for functions, but the number of something.
  uint64_t handle(size_t i, const char *request) const;
  // Of a tensor without data, which a request for memory has.
  const RemoteTensor &description(size_t i, const char *request) const;

 private:
  struct Handle {
    size_t place;
    uint64_t number;
  };
  void read_value(ByteReader &from, const Objects &objects);

  std::vector<Value> values_;
  std::vector<Handle> handles_;
  std::deque<std::pair<size_t, RemoteTensor>> descriptions_;
};

// A number, text or bytes whose type was read before. None: values of that type are no such ones.
std::optional<Value> read_plain(ByteReader &from, int32_t type);
int32_t read_type(ByteReader &from);  // of the value that follows
// Reads the values of an answer, whose code and number of values are behind it then.
ByteReader values_of(std::string_view answer);

// Writes a packet: the fields of its code, then the values.
class PacketWriter {
 public:
  explicit PacketWriter(Code code) { head_.write(code); }
  template <class T>
  void write(T number) {
    head_.write(number);
  }
  void write_text(std::string_view text) { head_.write_string(text); }

  bool add_plain(const View &value);  // a number or a text; false: it is none, and nothing was written
  void add_int(int64_t number) { add_plain(opd_int(number)); }
  void add_text(std::string_view text);
  void add_bytes(std::string_view bytes);
  void add_bytes_that_follow(uint64_t size);  // the last value, whose content is sent behind the packet
  void add_handle(uint64_t number);
  void add_tensor(const RemoteTensor &tensor);
  void add_object(int32_t type, uint64_t number);
  std::string take();

 private:
  void begin(int32_t type);

  ByteWriter head_, values_;
  int32_t count_ = 0;
};

// Writers of answers. Objects of a result enter the table.
std::string result_of_call(const Value &value, Objects &objects);
std::string result_of_request(const View &value);  // of what a server itself does
std::string handle_result(uint64_t handle);
std::string exception(std::string_view message);

}  // namespace opd::rpc
