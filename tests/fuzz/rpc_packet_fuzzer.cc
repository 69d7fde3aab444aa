// Packets of clients of RPC: values and tensors are read within the packet and within the session's objects.
#include "device/device.h"
#include "rpc/wire/packets.h"
#include "value/function.h"

using namespace opd;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static rpc::Objects &objects = *[] {
    auto *made = new rpc::Objects;  // numbers 1, 2, 3
    const int64_t dims[] = {4, 4};
    auto tensor = make_tensor(dims, {kDLFloat, 32, 1}, kHost);
    std::memset(tensor->dl.data, 0, 64);
    made->add(Value(std::move(tensor)));
    made->add(Value(make_function([](Args) { return Value(); })));
    made->add(make_bytes("some bytes that are an object"));
    return made;
  }();
  try {
    ByteReader body({data, size}, "the packet");
    const rpc::Arguments args(body, objects);
    for (size_t i = 0; i < args.size(); ++i) {
      if (const DLTensor *tensor = try_dltensor(args[i])) {  // all of its memory can be read
        std::string bytes(bytes_of(*tensor), '\0');
        copy_to_bytes(*tensor, bytes.data(), bytes.size());
      }
      rpc::Objects results;
      if (args[i].type != OPD_POINTER) rpc::result_of_call(Value(args[i]), results);
    }
  } catch (const Exception &) {}
  try {
    ByteReader body({data, size}, "the packet");
    rpc::RemoteTensor::read(body).in(objects);
  } catch (const Exception &) {}
  return 0;
}
