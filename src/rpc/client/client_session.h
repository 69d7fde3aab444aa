// Client side of a session on another machine: one connection, with one request at a time. Objects of the session keep
// it open. Thread-safe. A child of fork() must leave the parent's connection alone, so all requests fail there.
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
#include "module/module.h"
#include "rpc/client/connect.h"
#include "rpc/wire/frames.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/tls.h"
#include "trace/model/trace_context.h"
#include "vm/any_vm.h"

namespace opd::rpc {

inline constexpr int32_t kMostSessions = 256;  // open at once in a process

struct ClientOptions {
  std::string key, secret;
  Socket::Time connect_limit = std::chrono::seconds(10);
  Socket::Time session_limit{0};  // time after which the server ends the session; 0: never
  Socket::Time answer_limit{0};   // limit of each request; 0: none
  TlsClientOptions tls;
};

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  static std::shared_ptr<ClientSession> connect(const HostPort &server, const ClientOptions &options);
  static std::shared_ptr<ClientSession> at(int32_t index);  // null: there is no such session

  ~ClientSession();
  void close() noexcept;  // later and waiting requests fail

  int32_t index() const { return index_; }
  uint64_t serial() const { return serial_; }  // unique in the process
  const std::string &address() const { return address_; }
  const std::string &key() const { return key_; }          // the server's key
  const std::string &version() const { return version_; }  // the server's version of opdyno; "": a TVM server
  const std::string &host() const { return host_; }        // host name of the other machine; "": unknown
  // The reason why no more requests are possible; "" if they are.
  std::string absence() const;

  // These functions convert devices. In this process, the server's devices have device types of their own.
  DLDevice here(DLDevice device) const;   // throws if the device belongs to a session on the server
  DLDevice there(DLDevice device) const;  // throws unless the device belongs to this session

  uint64_t find(std::string_view name);  // a global function; 0: there is none
  // `name`: for messages. Objects in the result are local stand-ins.
  Value call(uint64_t function, const std::string &name, Args args, const Patience &patience = {});
  Value call(const char *name, Args args);                       // a built-in function of the server, looked up once
  void upload(std::string_view name, std::string_view content);  // adds a file to the session's folder
  Value attr(DLDevice device, opd_device_attr attr);
  uint64_t allocate(DLDevice device, size_t bytes);
  void write(const RemoteTensor &to, const void *from, size_t size);
  void read(const RemoteTensor &from, void *to, size_t size);
  void copy(const RemoteTensor &from, const RemoteTensor &to);
  void sync(DLDevice device);

  // These never wait for the server. If a number cannot be sent now, a later request sends it. After the end of the
  // session they do nothing, because the server has freed everything.
  void free_object(uint64_t number) noexcept;
  void free_data(DLDevice device, uint64_t number) noexcept;

 private:
  class Turn;
  struct Answer {
    Code code = Code::kNone;
    std::string body;
  };
  struct Request {
    std::string_view packet, rest = {};  // `rest` is sent after `packet`, without a copy
    std::string_view place;              // for messages: "in f"
    const char *what = nullptr;          // name of the range in recordings, before `name`; null: no range
    std::string_view name = {};
    Patience patience = {};
    bool is_call = false;  // a function call: its trace context is sent, too
    void *into = nullptr;  // destination of a copy
    size_t size = 0;       // bytes of the copy
  };

  ClientSession(const HostPort &server, const ClientOptions &options);
  void begin(const ClientOptions &options);
  std::string told(const char *name);
  void ask_for_checksums();
  Answer ask(const Request &request);                  // takes a turn; also throws the server's errors
  Answer exchange(const Request &request);             // during a turn
  std::string context_packet(const Request &request);  // during a turn; "": nothing has changed
  Answer receive(const Request &request);
  void receive_end(const Request &request);
  void await_answer(const Request &request);
  void settle(const Request &request);  // reads all owed answers and sends the queued packets
  void skip_answer(std::string_view place);
  template <class Add>
  void free_later(Code code, const Add &add) noexcept;
  void end_turn() noexcept;
  bool send_frees();  // sends some of the queued packets; false: there are none
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

  // Set during a request, so that there is one at a time. It is not a lock, because a child of fork() never waits for
  // it.
  std::atomic<bool> is_busy_{false};
  size_t owed_ = 0;                           // number of pending answers that no call waits for
  const TraceContext usual_context_;          // trace context in the environment
  TraceContext told_context_{};               // last context sent to the server
  std::optional<uint64_t> context_function_;  // the server's function; 0: it has none
  std::atomic<bool> is_open_{true};

  mutable ForkMutex guard_{LockRank::kRemote};
  std::deque<std::string> frees_;          // packets that are sent at the end of a turn
  std::string reason_;                     // why the session ended
  std::map<std::string, uint64_t> known_;  // numbers of the server's built-in functions
};

// ---- remote_objects.cc: functions, modules and other objects of a session. Each has the object's number on the server
// and frees it there at its end.

// Functions that only opdyno's servers have. The client detects such a server by the first one.
inline constexpr const char *kVersionFunction = "opdyno.rpc.version", *kHostFunction = "opdyno.rpc.host",
                            *kListFunction = "opdyno.rpc.list_functions";
// Takes the value of a header `traceparent`, or "": the trace context of the client's next calls. Servers have this
// function if they make spans.
inline constexpr const char *kTraceParentFunction = "opdyno.rpc.traceparent";

// The place of an object on its server.
struct ObjectThere {
  ObjectThere(std::shared_ptr<ClientSession> its_session, uint64_t its_number)
      : session(std::move(its_session)), number(its_number) {}
  ~ObjectThere() { session->free_object(number); }

  const std::shared_ptr<ClientSession> session;
  const uint64_t number;
};

struct RemoteModule final : Module, ObjectThere {
  using ObjectThere::ObjectThere;
  const char *kind() const override { return "rpc"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  Ref<Function> find(std::string_view name) override;  // searches the imported modules, too
  bool names_known() const override { return !session->version().empty(); }
  std::vector<std::string> list() override;      // throws with TVM's servers, which cannot list functions
  void add_import(Ref<Module> module) override;  // `module`: of the same session
};

struct RemoteFunction final : Function, ObjectThere {
  RemoteFunction(std::shared_ptr<ClientSession> its_session, uint64_t its_number, std::string its_name)
      : Function(&run), ObjectThere(std::move(its_session), its_number), name(std::move(its_name)) {}
  static int run(void *self, const View *args, int32_t num_args, View *result);

  // The name is set before other threads get the function.
  std::string name;
  Ref<RemoteModule> module;  // module that has the function; null: a global function or a result
};

// An object of another type, such as a map. It can be passed to functions of its session.
struct RemoteObject final : Object, ObjectThere {
  static int32_t type() { return registered_type<"opdyno.RemoteObject">(); }
  using ObjectThere::ObjectThere;
};

struct SessionHandle final : Object {  // the user's handle of a session
  static int32_t type() { return registered_type<"opdyno.RpcSession">(); }
  explicit SessionHandle(std::shared_ptr<ClientSession> its_session) : session(std::move(its_session)) {}
  const std::shared_ptr<ClientSession> session;
};

Ref<RemoteFunction> try_remote(Function &function);  // null: it runs in this process
Ref<RemoteModule> try_remote(Module &module);        // likewise
Ref<Function> function_there(const std::shared_ptr<ClientSession> &session,
                             const std::string &name);  // null: there is none

// Adds an argument of a call. Throws if the value cannot be sent to the other side. `place` and `function` are for
// messages.
void add_argument(PacketWriter &packet, const View &value, ClientSession &session, size_t place,
                  const std::string &function);
// Reads the result of a call from its answer.
Value result_in(std::string_view answer, const std::shared_ptr<ClientSession> &session);
uint64_t object_in(std::string_view answer);  // number of the object in a result; 0: it is not an object

// ---- remote_device.cc: makes devices of sessions usable as devices of this process. Their memory has reserved local
// addresses that are never read (device/address_ranges.h), so views and copies work as on other devices.

void register_remote_devices();  // idempotent

// Makes a local tensor for a tensor on the server. `object`: number of the object that owns it there.
Ref<Tensor> tensor_here(const std::shared_ptr<ClientSession> &session, const RemoteTensor &there, uint64_t object);
// Returns the server's description of a compact tensor on a device of a session. Throws for other memory.
RemoteTensor remote_tensor(const DLTensor &tensor);

// ---- remote_vm.cc: VMs of a session. The program and its state are on the server.

// Throws for settings that servers do not support, and for devices outside the module's session.
Ref<AnyVm> make_vm(Ref<RemoteModule> program, const VmSettings &settings);

}  // namespace opd::rpc
