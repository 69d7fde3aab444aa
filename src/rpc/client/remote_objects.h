// Client side of a session's functions, modules and other objects. Each has the object's number on the server and frees
// it there at its end.
#pragma once
#include <memory>

#include "module/module.h"
#include "rpc/client/client_session.h"

namespace opd::rpc {

// Functions that only opdyno's servers have. The client detects such a server by the first one.
inline constexpr const char *kVersionFunction = "opdyno.rpc.version", *kHostFunction = "opdyno.rpc.host",
                            *kListFunction = "opdyno.rpc.list_functions";
// Takes the value of a header `traceparent`, or "": the trace context of the client's next calls. Servers have this
// function if they make spans.
inline constexpr const char *kTraceParentFunction = "opdyno.rpc.traceparent";

struct RemoteModule final : Module {
  RemoteModule(std::shared_ptr<ClientSession> its_session, uint64_t its_number)
      : session(std::move(its_session)), number(its_number) {}
  ~RemoteModule() { session->free_object(number); }

  const char *kind() const override { return "rpc"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  Ref<Function> find(std::string_view name) override;  // also searches imported modules
  bool names_known() const override { return !session->version().empty(); }
  std::vector<std::string> list() override;      // throws with TVM's servers, which cannot list functions
  void add_import(Ref<Module> module) override;  // `module`: of the same session

  const std::shared_ptr<ClientSession> session;
  const uint64_t number;
};

struct RemoteFunction final : Function {
  RemoteFunction(std::shared_ptr<ClientSession> its_session, uint64_t its_number, std::string its_name)
      : Function(&run), session(std::move(its_session)), number(its_number), name(std::move(its_name)) {}
  ~RemoteFunction() { session->free_object(number); }
  static int run(void *self, const View *args, int32_t num_args, View *result);

  const std::shared_ptr<ClientSession> session;
  const uint64_t number;
  // Set before other threads get the function.
  std::string name;
  Ref<RemoteModule> module;  // module that has the function; null: a global function or a result
};

// An object of another type, such as a map. It can be passed to functions of its session.
struct RemoteObject final : Object {
  static int32_t type();  // "opdyno.RemoteObject"
  RemoteObject(std::shared_ptr<ClientSession> its_session, uint64_t its_number)
      : session(std::move(its_session)), number(its_number) {}
  ~RemoteObject() { session->free_object(number); }

  const std::shared_ptr<ClientSession> session;
  const uint64_t number;
};

struct SessionHandle final : Object {  // the user's handle of a session
  static int32_t type();               // "opdyno.RpcSession"
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

}  // namespace opd::rpc
