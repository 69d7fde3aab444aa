// Makes devices of sessions usable as devices of this process. Their memory has reserved local addresses that are never
// read (device/address_ranges.h), so views and copies work as on other devices.
#pragma once
#include <memory>

#include "rpc/client/client_session.h"

namespace opd::rpc {

void register_remote_devices();  // idempotent

// Makes a local tensor for a tensor on the server. `object`: number of the object that owns it there.
Ref<Tensor> tensor_here(const std::shared_ptr<ClientSession> &session, const RemoteTensor &there, uint64_t object);
// Returns the server's description of a compact tensor on a device of a session. Throws for other memory.
RemoteTensor remote_tensor(const DLTensor &tensor);

}  // namespace opd::rpc
