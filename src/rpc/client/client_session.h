// A session on another machine, as its client has it: one connection, whose requests wait for their answers in turn.
// Objects of the session keep it open. Thread-safe. A child of fork() must leave the parent's connection alone, so all
// requests fail there.
#pragma once
#include <opdyno/device.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/fork_mutex.h"
#include "base/static_guard.h"
#include "rpc/client/connect.h"
#include "rpc/wire/frames.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/tls.h"
#include "trace/model/trace_context.h"

namespace opd::rpc {

inline constexpr int32_t kMostSessions = 256;  // of a process at once

struct ClientOptions {
  std::string key, secret;
  Socket::Time connect_limit = std::chrono::seconds(10);
  Socket::Time session_limit{0};  // the server ends the session then; 0: never
  Socket::Time answer_limit{0};   // of each request; 0: none
  TlsClientOptions tls;
};

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  static std::shared_ptr<ClientSession> connect(const HostPort &server, const ClientOptions &options);
  static std::shared_ptr<ClientSession> at(int32_t index);  // null: there is no such session

  ~ClientSession();
  void close() noexcept;  // all later requests fail, and so does one that waits

  int32_t index() const { return index_; }
  uint64_t serial() const { return serial_; }  // of no other session of the process
  const std::string &address() const { return address_; }
  const std::string &key() const { return key_; }          // the server's
  const std::string &version() const { return version_; }  // opdyno's there; "" if the server is TVM's
  const std::string &host() const { return host_; }        // the other machine's own name; "": not known
  // Why there can be no more requests; "" if there can.
  std::string absence() const;

  // The devices of the other side have a kind of their own here.
  DLDevice here(DLDevice device) const;   // throws for a device that is of a session there
  DLDevice there(DLDevice device) const;  // throws unless it is one of this session

  uint64_t find(std::string_view name);  // a global function; 0: there is none
  // `name`: for messages. The results' objects are this process's stand-ins.
  Value call(uint64_t function, const std::string &name, Args args, const Patience &patience = {});
  Value call(const char *name, Args args);  // a function of the server's own, which is looked up once
  void upload(std::string_view name, std::string_view content);  // to the session's files
  Value attr(DLDevice device, opd_device_attr attr);
  uint64_t allocate(DLDevice device, size_t bytes);
  void write(const RemoteTensor &to, const void *from, size_t size);
  void read(const RemoteTensor &from, void *to, size_t size);
  void copy(const RemoteTensor &from, const RemoteTensor &to);
  void sync(DLDevice device);

  // These do not wait, also if the server does not answer: if a number cannot be sent then, it goes with a later
  // request. After the end of the session they do nothing, for the server has freed all.
  void free_object(uint64_t number) noexcept;
  void free_data(DLDevice device, uint64_t number) noexcept;

 private:
  class Turn;
  struct Answer {
    Code code = Code::kNone;
    std::string body;
  };
  struct Request {
    std::string_view packet, rest = {};  // `rest` follows it from where it lies
    std::string_view place;              // for messages: "in f"
    const char *what = nullptr;          // for recordings, before the name; null: nothing that is worth a range
    std::string_view name = {};
    Patience patience = {};
    bool is_call = false;  // of a function, which the server is told the reason for
    void *into = nullptr;  // where the bytes of a copy go
    size_t size = 0;       // their number
  };

  ClientSession(const HostPort &server, const ClientOptions &options);
  void begin(const ClientOptions &options);
  std::string told(const char *name);
  void ask_for_checksums();
  Answer ask(const Request &request);                  // takes a turn; throws what the server answers, too
  Answer exchange(const Request &request);             // in a turn
  std::string context_packet(const Request &request);  // in a turn; "": the server knows
  Answer receive(const Request &request);
  void receive_end(const Request &request);
  void await_answer(const Request &request);
  void settle(const Request &request);  // gets all answers that are owed, and sends what is to be freed
  void skip_answer(std::string_view place);
  template <class Add>
  void free_later(Code code, const Add &add) noexcept;
  void end_turn() noexcept;
  bool send_frees();  // some of them; whether there was any
  void require_open(std::string_view place) const;
  void note_end(std::string reason);
  [[noreturn]] void end(std::string_view place, const std::string &reason);
  uint64_t own_function(const char *name);

  const std::string address_;
  const Socket::Time answer_limit_;
  const Descriptor descriptor_;
  Socket socket_;
  Frames frames_{socket_};
  std::string key_, version_, host_;
  int32_t index_ = -1;
  const uint64_t serial_;
  const uint32_t generation_ = fork_generation();

  // One request at a time; no lock, because a child of fork() never waits for it.
  std::atomic<bool> is_busy_{false};
  size_t owed_ = 0;                           // answers that the server has still to send, and that no call waits for
  const TraceContext usual_context_;          // of the environment
  TraceContext told_context_{};               // the one that the server was told last
  std::optional<uint64_t> context_function_;  // of the server; 0: it has none
  std::atomic<bool> is_open_{true};

  mutable ForkMutex guard_{LockRank::kRemote};
  std::deque<std::string> frees_;          // packets that are sent at the end of a turn
  std::string reason_;                     // why the session ended
  std::map<std::string, uint64_t> known_;  // the server's own functions
};

}  // namespace opd::rpc
