// Functions, modules and other objects of a session, as the client has them: numbers that are freed with their owner.
#pragma once
#include <memory>

#include "module/module.h"
#include "rpc/client/client_session.h"

namespace opd::rpc {

// Offered by opdyno's servers beside what TVM's have; a client sees by the first which it has.
inline constexpr const char *kVersionFunction = "opdyno.rpc.version", *kHostFunction = "opdyno.rpc.host",
                            *kListFunction = "opdyno.rpc.list_functions";
// (the value of a header `traceparent`, or ""), offered if the server makes spans: what the client works for from now
// on.
inline constexpr const char *kTraceParentFunction = "opdyno.rpc.traceparent";

struct RemoteModule final : Module {
  RemoteModule(std::shared_ptr<ClientSession> its_session, uint64_t its_number)
      : session(std::move(its_session)), number(its_number) {}
  ~RemoteModule() { session->free_object(number); }

  const char *kind() const override { return "rpc"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  Ref<Function> find(std::string_view name) override;  // also of what it imports
  bool names_known() const override { return !session->version().empty(); }
  std::vector<std::string> list() override;      // throws with a server of TVM's, which does not tell
  void add_import(Ref<Module> module) override;  // of the same session

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
  // Set before others have the function.
  std::string name;
  Ref<RemoteModule> module;  // that it was found in; null: a global one, or a result
};

// Of another kind, as a map: it can be given back to functions of its session.
struct RemoteObject final : Object {
  static int32_t type();  // "opdyno.RemoteObject"
  RemoteObject(std::shared_ptr<ClientSession> its_session, uint64_t its_number)
      : session(std::move(its_session)), number(its_number) {}
  ~RemoteObject() { session->free_object(number); }

  const std::shared_ptr<ClientSession> session;
  const uint64_t number;
};

struct SessionHandle final : Object {  // the handle that users have
  static int32_t type();               // "opdyno.RpcSession"
  explicit SessionHandle(std::shared_ptr<ClientSession> its_session) : session(std::move(its_session)) {}
  const std::shared_ptr<ClientSession> session;
};

Ref<RemoteFunction> try_remote(Function &function);  // null: it runs in this process
Ref<RemoteModule> try_remote(Module &module);        // likewise
Ref<Function> function_there(const std::shared_ptr<ClientSession> &session,
                             const std::string &name);  // null: there is none

// Adds an argument of a call. Throws for what the other side cannot have; `place` and `function` are for messages.
void add_argument(PacketWriter &packet, const View &value, ClientSession &session, size_t place,
                  const std::string &function);
// The result of a call, from its answer.
Value result_in(std::string_view answer, const std::shared_ptr<ClientSession> &session);
uint64_t object_in(std::string_view answer);  // the number of a result that is an object; 0: it is none

}  // namespace opd::rpc
