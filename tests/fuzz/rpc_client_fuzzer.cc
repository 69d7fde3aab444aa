// All that a server answers in a session, from the greeting on. The first byte says what the client does.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <opdyno/opdyno.hpp>
#include <string>
#include <thread>

using namespace opdyno;

namespace {

// Answers each connection with the bytes of the moment.
class Server {
 public:
  Server() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *const name = reinterpret_cast<sockaddr *>(&address);
    const timeval most{10, 0};  // for the client, which is there at once
    ::setsockopt(listener_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    if (::bind(listener_, name, size) || ::listen(listener_, 16) || ::getsockname(listener_, name, &size)) std::abort();
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  const std::string &address() const { return address_; }

  void answer(const std::string &bytes) const {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    size_t sent = 0;
    for (ssize_t done; sent < bytes.size(); sent += static_cast<size_t>(done))
      if ((done = ::send(client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL)) <= 0) break;
    ::shutdown(client, SHUT_WR);
    char requests[1 << 14];
    while (::recv(client, requests, sizeof requests, 0) > 0) continue;
    ::close(client);
  }

 private:
  const int listener_;
  std::string address_;
};

void use(const Value &value) {
  value.to_string();
  if (value.type() != OPD_TENSOR) return;
  const Tensor tensor = Tensor::of(value.view());
  std::string bytes(std::min<uint64_t>(tensor.bytes(), 1 << 16), '\0');
  tensor.copy_to_bytes(bytes.data(), bytes.size());
}

void use_tensors(const RpcSession &session) {
  const DLDevice device = session.device();
  opd_value value = opd_none();
  for (const opd_device_attr attr : {OPD_ATTR_EXIST, OPD_ATTR_DEVICE_NAME, OPD_ATTR_TOTAL_GLOBAL_MEMORY}) {
    check(opd_device_get_attr(device, attr, &value));
    opd_value_release(&value);
  }
  const Tensor here({4}, "float32"), there({4}, "float32", device);
  there.copy_from(here);
  here.copy_from(there);
}

void use_functions(const RpcSession &session) {
  const Function function = session.function("f");
  const Value first = function(1, "text");
  use(first);
  use(function(first));
}

void use_module(const RpcSession &session) {
  session.upload("m", "content");
  session.download("m");
  const Module module = session.load_module("m");
  module.functions();
  const Function main = module.function("main");
  use(main(2));
}

void use_vm(const RpcSession &session, bool profiles) {
  const DLDevice device = session.device();
  opd_vm_options options = defaults(opd_vm_options_init);
  options.devices = &device, options.num_devices = 1;
  const Vm vm(session.load_module("m"), &options);
  if (profiles) {
    vm.profile("main", {});
    return;
  }
  vm.functions();
  vm.params("main");
  use(vm.call("main"));
}

void use_evaluator(const RpcSession &session) {
  const Function function = session.load_module("m").function("main");
  opd_evaluator_options options = defaults(opd_evaluator_options_init);
  options.device = session.device();
  Handle<opd_evaluator> evaluator;
  check(opd_evaluator_create(function.get(), &options, evaluator.out()));
  Handle<opd_benchmark> benchmark;
  check(opd_evaluator_call(evaluator.get(), nullptr, 0, benchmark.out()));
}

void use_session(const RpcSession &session, int what) {
  switch (what) {
    case 0:
      return use_tensors(session);
    case 1:
      return use_functions(session);
    case 2:
      return use_module(session);
    case 3:
      return use_vm(session, false);
    case 4:
      return use_vm(session, true);
    default:
      return use_evaluator(session);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Server server;
  constexpr int kUses = 6;
  if (size == 0) return 0;
  const std::string answers(reinterpret_cast<const char *>(data) + 1, size - 1);
  std::thread answering([&] { server.answer(answers); });
  try {
    const RpcSession session = RpcSession::connect(server.address());
    use_session(session, data[0] % kUses);
  } catch (const Error &) {}
  answering.join();
  return 0;
}
