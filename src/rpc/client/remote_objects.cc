// Functions, modules and other objects of a session, and the conversion of a call's arguments and result.
#include <algorithm>

#include "rpc/client/client_session.h"

namespace opd::rpc {
namespace {

int32_t read_result_type(ByteReader &body) {
  if (read_type(body) != OPD_INT) body.bad("type of a result", "is not a number");
  return static_cast<int32_t>(body.read<int64_t>("type of a result"));
}

uint64_t read_handle(ByteReader &body) {
  if (read_type(body) != OPD_POINTER) body.bad("result", "is not a handle");
  return body.read<uint64_t>("handle");
}

// Arrays stay on the server, so their items are fetched one by one.
Value items_of(const std::shared_ptr<ClientSession> &session, uint64_t array) {
  constexpr int64_t kMostItems = 1 << 20;
  constexpr int kMostTuples = 16;  // nested around an item; a limit, because a server could nest without end
  thread_local int depth = 0;
  struct Level {
    Level() { ++depth; }
    ~Level() { --depth; }
  } const level;
  if (depth > kMostTuples) fail(OPD_BAD_FORMAT, "arrays of the server are nested more than ", kMostTuples, " deep");
  const Value there(make_object<RemoteObject>(session, array));
  const int64_t count = as_int(session->call("ffi.ArraySize", {&there.view(), 1}), "the size of an array");
  if (count < 0 || count > kMostItems) fail(OPD_BAD_FORMAT, "an array of the server has ", count, " items");
  std::vector<Value> items;
  for (int64_t i = 0; i < count; ++i) {
    const View args[] = {there.view(), opd_int(i)};
    items.push_back(session->call("ffi.ArrayGetItem", args));
  }
  return Array::make(views_of(items));
}

}  // namespace

int RemoteFunction::run(void *self, const View *args, int32_t num_args, View *result) {
  return raising([&] {
    const auto &its = *static_cast<RemoteFunction *>(self);
    *result = its.session->call(its.number, its.name, {args, static_cast<size_t>(num_args)}).detach();
  });
}

Ref<RemoteFunction> try_remote(Function &function) {
  if (function.safe_call != &RemoteFunction::run) return nullptr;
  return Ref<RemoteFunction>::share(static_cast<RemoteFunction *>(&function));
}

Ref<RemoteModule> try_remote(Module &module) { return Ref<RemoteModule>::share(dynamic_cast<RemoteModule *>(&module)); }

Ref<Function> function_there(const std::shared_ptr<ClientSession> &session, const std::string &name) {
  const uint64_t number = session->find(name);
  if (!number) return nullptr;
  return make_object<RemoteFunction>(session, number, name);
}

Ref<Function> RemoteModule::find(std::string_view name) {
  const Value self = Value(Ref<RemoteModule>::share(this)), wanted(name);
  const View args[] = {self.view(), wanted.view(), opd_bool(1)};
  const Value found = session->call("tvm.rpc.server.ModuleGetFunction", args);
  if (found.type() == OPD_NONE) return nullptr;
  const Ref<RemoteFunction> function = try_remote(as<Function>(found, "the result of ModuleGetFunction"));
  if (!function) fail(OPD_BAD_FORMAT, "ModuleGetFunction returned no function");
  function->name = name;
  function->module = Ref<RemoteModule>::share(this);
  return function;
}

std::vector<std::string> RemoteModule::list() {
  if (session->version().empty())
    fail(OPD_UNSUPPORTED, "the server at ", session->address(), " is TVM's, which does not list functions");
  const Value self = Value(Ref<RemoteModule>::share(this));
  const Value names = session->call(kListFunction, {&self.view(), 1});
  std::vector<std::string> list;
  for (std::string_view rest = as_text(names, "names of functions"); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    list.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return list;
}

void RemoteModule::add_import(Ref<Module> module) {
  const Value self = Value(Ref<RemoteModule>::share(this)), imported(std::move(module));
  const View args[] = {self.view(), imported.view()};
  session->call("tvm.rpc.server.ImportModule", args);
}

void add_argument(PacketWriter &packet, const View &value, ClientSession &session, size_t place,
                  const std::string &function) {
  if (value.type == OPD_DEVICE) return void(packet.add_device(session.there(value.u.device)));
  if (packet.add_plain(value)) return;
  if (const DLTensor *tensor = try_dltensor(value)) {
    if (tensor->device.device_type / kDevicesOfSession != session.index() + 1)
      fail(OPD_INVALID_ARGUMENT, "argument ", place, " of ", function, " must lie on a device of the session with ",
           session.address(), ", but is ", describe(*tensor));
    require(is_contiguous(*tensor), "argument ", place, " of ", function,
            " is strided, which packets cannot tell: ", describe(*tensor));
    return void(packet.add_tensor(remote_tensor(*tensor)));
  }
  const auto add = [&](const auto *its, int32_t type, const char *problem) {
    require(its != nullptr, "argument ", place, " of ", function, problem);
    require(&session == its->session.get(), "argument ", place, " of ", function, " is of another session");
    packet.add_object(type, its->number);
  };
  if (value.type == OPD_FUNCTION)
    return add(try_remote(*static_cast<Function *>(object_of(value))).get(), OPD_FUNCTION,
               " is a function of this process, which the server cannot call");
  if (value.type == OPD_MODULE)
    return add(try_remote(*static_cast<Module *>(object_of(value))).get(), OPD_MODULE,
               " is a module of this process; upload its file and load it there");
  if (const auto *its = try_as<RemoteObject>(value)) return add(its, kObjectReference, "");
  fail(OPD_UNSUPPORTED, "argument ", place, " of ", function, " has the type ", type_key(value.type),
       ", which cannot be sent to another process");
}

Value result_in(std::string_view answer, const std::shared_ptr<ClientSession> &session) {
  ByteReader body = values_of(answer);
  const int32_t type = read_result_type(body);
  if (type == OPD_NONE) return {};
  if (type == OPD_TENSOR || type == OPD_DLTENSOR) {
    if (read_type(body) != OPD_DLTENSOR) body.bad("result", "is not a tensor");
    const RemoteTensor tensor = RemoteTensor::read(body);
    return tensor_here(session, tensor, read_handle(body));
  }
  if (type == OPD_FUNCTION) return make_object<RemoteFunction>(session, read_handle(body), "a function of the server");
  if (type == OPD_MODULE) return make_object<RemoteModule>(session, read_handle(body));
  if (type == OPD_ARRAY) return items_of(session, read_handle(body));
  const int32_t of_value = read_type(body);
  if (of_value == OPD_POINTER) {
    if (type == OPD_POINTER)
      fail(OPD_UNSUPPORTED, "the result is an address of the server, which means nothing in another process");
    return make_object<RemoteObject>(session, body.read<uint64_t>("handle"));
  }
  std::optional<Value> plain = read_plain(body, of_value);
  if (!plain) body.bad("type of a result", concat("is ", of_value, ", which has no form here"));
  if (plain->type() == OPD_DEVICE) return session->here(plain->view().u.device);
  return std::move(*plain);
}

uint64_t object_in(std::string_view answer) {
  ByteReader body = values_of(answer);
  if (body.at_end() || read_type(body) != OPD_INT) return 0;
  if (body.read<int64_t>("type of a result") < OPD_OBJECT) return 0;
  int32_t type = read_type(body);
  if (type == OPD_DLTENSOR) RemoteTensor::read(body), type = read_type(body);
  return type == OPD_POINTER ? body.read<uint64_t>("handle") : 0;
}

}  // namespace opd::rpc
