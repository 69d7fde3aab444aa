// A client of TVM's RPC that sends packets as they are, right or wrong. The packets are those that TVM 0.27's client
// sent to its own server.
#pragma once
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "support/opdyno_test.h"

namespace opdyno_test {

enum RpcCode : int32_t {
  kShutdown = 1,
  kInitServer,
  kCallFunc,
  kReturn,
  kException,
  kCopyFromRemote,
  kCopyToRemote,
  kCopyAck,
  kGetGlobalFunc,
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
  kDevGetCurrentStream
};

// Bytes of a packet.
class Packet {
 public:
  template <class T>
  Packet &raw(T number) {
    bytes_.append(reinterpret_cast<const char *>(&number), sizeof number);
    return *this;
  }
  Packet &text(std::string_view text) {  // with its size
    raw<uint64_t>(text.size());
    bytes_ += text;
    return *this;
  }
  Packet &plain(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  // Values, each with its type.
  Packet &none() { return raw<int32_t>(OPD_NONE); }
  Packet &integer(int64_t number) { return raw<int32_t>(OPD_INT).raw(number); }
  Packet &handle(uint64_t number) { return raw<int32_t>(OPD_POINTER).raw(number); }
  Packet &string(std::string_view value) { return raw<int32_t>(OPD_CSTRING).text(value); }
  Packet &bytes(std::string_view value) {
    return raw<int32_t>(value.size() < 8 ? OPD_SMALL_BYTES : OPD_BYTES).raw<int32_t>(OPD_BYTES).text(value);
  }
  Packet &object(int32_t type, uint64_t number) { return raw(type).raw(number); }
  Packet &device(DLDevice device = {kDLCPU, 0}) { return raw<int32_t>(OPD_DEVICE).raw(device); }
  Packet &tensor(uint64_t data, const std::vector<int64_t> &dims, uint64_t byte_offset = 0,
                 DLDataType dtype = {kDLFloat, 32, 1}, DLDevice device = {kDLCPU, 0}) {
    return raw<int32_t>(OPD_DLTENSOR).view(data, dims, byte_offset, dtype, device);
  }
  Packet &view(uint64_t data, const std::vector<int64_t> &dims, uint64_t byte_offset = 0,
               DLDataType dtype = {kDLFloat, 32, 1}, DLDevice device = {kDLCPU, 0}) {
    raw(data).raw(device).raw(static_cast<int32_t>(dims.size())).raw(dtype);
    for (const int64_t dim : dims) raw(dim);
    return raw(byte_offset);
  }
  const std::string &str() const { return bytes_; }

 private:
  std::string bytes_;
};

// What a server answered.
class Reply {
 public:
  explicit Reply(std::string bytes) : bytes_(std::move(bytes)) { code = take<int32_t>(); }
  template <class T>
  T take() {
    T number{};
    EXPECT_LE(at_ + sizeof number, bytes_.size()) << "the answer is too short";
    if (at_ + sizeof number <= bytes_.size()) std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  std::string take_text() {
    const auto size = take<uint64_t>();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::string rest() const { return bytes_.substr(at_); }
  bool at_end() const { return at_ == bytes_.size(); }

  // Of an exception.
  std::string message() {
    EXPECT_EQ(code, kException);
    if (code != kException) return "";
    EXPECT_EQ(take<int32_t>(), 1);
    EXPECT_EQ(take<int32_t>(), OPD_CSTRING);
    return take_text();
  }
  // Of a request that a server itself does.
  void expect_done() {
    EXPECT_EQ(code, kReturn) << rest();
    EXPECT_EQ(take<int32_t>(), 1);
    EXPECT_EQ(take<int32_t>(), OPD_NONE);
    EXPECT_TRUE(at_end());
  }
  uint64_t handle() {
    EXPECT_EQ(code, kReturn) << rest();
    EXPECT_EQ(take<int32_t>(), 1);
    EXPECT_EQ(take<int32_t>(), OPD_POINTER);
    return take<uint64_t>();
  }
  // Of a call: the type of the result; its value follows.
  int64_t type(int32_t count = 2) {
    EXPECT_EQ(code, kReturn) << rest();
    EXPECT_EQ(take<int32_t>(), count);
    EXPECT_EQ(take<int32_t>(), OPD_INT);
    return take<int64_t>();
  }
  uint64_t object(int64_t wanted_type) {
    EXPECT_EQ(type(), wanted_type);
    EXPECT_EQ(take<int32_t>(), OPD_POINTER);
    return take<uint64_t>();
  }

  int32_t code;

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// A session on a pair of sockets: a thread serves one end.
class RawSession {
 public:
  explicit RawSession(opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init)) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    server_ = std::thread([this, options] {
      error_ = opd_rpc_serve(ends_[1], &options);
      shutdown(ends_[1], SHUT_RDWR);
    });
  }
  ~RawSession() { opd_error_release(end()); }

  // Closes the client's end, and gives what the server says of the session.
  opd_error *end() {
    if (ends_[0] >= 0) close(std::exchange(ends_[0], -1));
    if (server_.joinable()) server_.join(), close(ends_[1]);
    return std::exchange(error_, nullptr);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(ends_[0], bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  std::string receive(size_t size) {  // less at the end
    std::string bytes(size, '\0');
    size_t have = 0;
    for (ssize_t found; have < size && (found = recv(ends_[0], bytes.data() + have, size - have, 0)) > 0;)
      have += static_cast<size_t>(found);
    bytes.resize(have);
    return bytes;
  }

  void greet(const std::string &said = "client:") {
    send(Packet().raw<int32_t>(0xFF271).raw(static_cast<int32_t>(said.size())).plain(said).str());
  }
  // Greets, and says the version of the protocol.
  void begin(const std::string &key = "") {
    greet("client:" + key);
    const std::string answer = receive(8);
    ASSERT_EQ(answer.substr(0, 4), Packet().raw<int32_t>(0xFF271).str());
    receive(static_cast<size_t>(answer[4]));
    ask(kInitServer, Packet().text("0.8.0").raw<int32_t>(0)).expect_done();
  }

  void send_packet(int32_t code, const Packet &body) {
    send(Packet().raw<uint64_t>(4 + body.str().size()).raw(code).plain(body.str()).str());
  }
  Reply next() {
    uint64_t size = 0;
    const std::string head = receive(sizeof size);
    EXPECT_EQ(head.size(), sizeof size) << "the server has closed the connection";
    if (head.size() == sizeof size) std::memcpy(&size, head.data(), sizeof size);
    return Reply(size ? receive(size) : std::string(4, '\0'));
  }
  Reply ask(int32_t code, const Packet &body) {
    send_packet(code, body);
    return next();
  }

  uint64_t function(const std::string &name) {
    return ask(kGetGlobalFunc, Packet().raw<int32_t>(1).string(name)).handle();
  }
  Reply call(uint64_t function, int32_t count = 0, const Packet &values = {}) {
    return ask(kCallFunc, Packet().raw(function).raw(count).plain(values.str()));
  }
  Reply call(const std::string &name, int32_t count = 0, const Packet &values = {}) {
    return call(function(name), count, values);
  }
  uint64_t allocate(const std::vector<int64_t> &dims) {
    return ask(kDevAllocDataWithScope, Packet().raw<int32_t>(2).tensor(0, dims).none()).handle();
  }
  uint64_t make(const std::vector<float> &values) {
    const std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
    const uint64_t data = allocate(dims);
    write(data, values).expect_done();
    return data;
  }
  Reply write(uint64_t data, const std::vector<float> &values) {
    const std::string bytes(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
    return ask(kCopyToRemote, Packet().view(data, {static_cast<int64_t>(values.size())}).text(bytes));
  }
  std::vector<float> read(uint64_t data, int64_t count) {
    Reply reply = ask(kCopyFromRemote, Packet().view(data, {count}).raw<uint64_t>(static_cast<uint64_t>(count) * 4));
    EXPECT_EQ(reply.code, kCopyAck) << reply.rest();
    std::vector<float> values(static_cast<size_t>(count));
    const std::string bytes = reply.rest();
    EXPECT_EQ(bytes.size(), values.size() * 4);
    if (bytes.size() == values.size() * 4) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  int ends_[2] = {-1, -1};
  opd_error *error_ = nullptr;
  std::thread server_;
};

}  // namespace opdyno_test
