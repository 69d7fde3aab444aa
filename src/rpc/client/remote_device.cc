// Makes the devices of sessions usable as devices of this process: their backends, and tensors in the server's memory.
#include <charconv>
#include <map>
#include <mutex>

#include "device/address_ranges.h"
#include "device/device.h"
#include "rpc/client/client_session.h"

namespace opd::rpc {
namespace {

// Memory on the server. It is freed with this object.
struct RemoteBuffer {
  std::shared_ptr<ClientSession> session;
  DLDevice device;      // in the server's numbering
  uint64_t data;        // the server's handle of the memory
  uint64_t object = 0;  // number of the object that owns it; 0: it was allocated
  uint64_t byte_offset = 0;
  ~RemoteBuffer() {
    if (object) session->free_object(object);
    else session->free_data(device, data);
  }
};

// Parses a text like "[1024, 1024, 64]" from a server.
Value dimensions_in(std::string_view text) {
  std::vector<int64_t> sizes;
  for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
    int64_t size;
    const auto [rest, error] = std::from_chars(at, end, size);
    if (error == std::errc()) sizes.push_back(size), at = rest;
    else ++at;
  }
  return Shape::make(sizes);
}

// Backend of one device type. It serves one session after the other, because their indices are reused.
class RemoteBackend final : public DeviceBackend {
 public:
  RemoteBackend(int32_t number, int32_t kind)
      : number_(number),
        kind_(kind),
        name_(device_kind_name(kind + kDevicesOfSession * (number + 1))),
        ranges_(name_.c_str()) {}

  Value attr(int32_t id, opd_device_attr attr) override {
    const std::shared_ptr<ClientSession> session = ClientSession::at(number_);
    if (attr == OPD_ATTR_EXIST) return Value(session && exists(*session, id));
    if (!session) return {};
    Value found = session->attr(there(id), attr);
    if (attr == OPD_ATTR_MAX_THREAD_DIMENSIONS && is_text(found)) return dimensions_in(as_text(found, "dimensions"));
    return found;
  }

  std::string absence(int32_t id) override {
    const std::shared_ptr<ClientSession> session = ClientSession::at(number_);
    if (!session) return concat("there is no session with the number ", number_);
    if (std::string ended = session->absence(); !ended.empty()) return ended;
    return concat("the server at ", session->address(), " has no ", device_name(there(id)));
  }

  void *allocate(int32_t id, size_t bytes, size_t) override {
    const std::shared_ptr<ClientSession> session = require_session();
    const DLDevice device = there(id);
    const uint64_t data = session->allocate(device, bytes);
    return ranges_.add(std::shared_ptr<RemoteBuffer>(new RemoteBuffer{session, device, data}), bytes, id);
  }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override { ranges_.remove(data); }
  bool keeps(const void *) noexcept override { return false; }  // the server pools its memory itself

  void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *) override {
    const bool is_from_here = from_device.device_type >= kDevicesOfSession,
               is_to_here = to_device.device_type >= kDevicesOfSession;
    if (is_from_here && is_to_here) {
      const auto source = find(from, bytes, from_device.device_id), target = find(to, bytes, to_device.device_id);
      source.session->copy(source.bytes, target.bytes);
    } else if (is_from_here) {
      const auto source = find(from, bytes, from_device.device_id);
      source.session->read(source.bytes, to, bytes);
    } else {
      const auto target = find(to, bytes, to_device.device_id);
      target.session->write(target.bytes, from, bytes);
    }
  }
  void sync(int32_t id) override { require_session()->sync(there(id)); }

  struct Part {
    std::shared_ptr<ClientSession> session;
    RemoteTensor bytes;
  };
  Part find(const void *address, size_t bytes, int32_t id) const {
    const auto place = ranges_.find(address, bytes, id);
    const RemoteBuffer &buffer = *place.buffer;
    return {buffer.session,
            {buffer.data,
             buffer.device,
             {kDLUInt, 8, 1},
             {static_cast<int64_t>(bytes)},
             buffer.byte_offset + place.offset}};
  }

  // Makes a local tensor for a tensor on the server.
  Ref<Tensor> keep(const std::shared_ptr<ClientSession> &session, const RemoteTensor &tensor, uint64_t object) {
    struct Kept final : Object {
      static int32_t type() { return OPD_OBJECT; }
      Kept(RemoteBackend &its, void *where) : backend(its), address(where) {}
      ~Kept() { backend.ranges_.remove(address); }
      RemoteBackend &backend;
      void *const address;
    };
    std::shared_ptr<RemoteBuffer> buffer(
        new RemoteBuffer{session, tensor.device, tensor.data, object, tensor.byte_offset});
    constexpr uint64_t kLeast = kAlignment, kMost = uint64_t{1} << 46;  // reserved addresses, in bytes
    if (static_cast<int16_t>(tensor.dtype.lanes) <= 0 || tensor.dtype.bits == 0)
      fail(OPD_BAD_FORMAT, "the server at ", session->address(), " returned a tensor with dtype ",
           dtype_name(tensor.dtype), ", whose elements have no size");
    const uint64_t bytes = tensor.bytes();
    if (bytes > kMost)
      fail(OPD_BAD_FORMAT, "the server at ", session->address(), " returned a tensor of ", bytes, " bytes; at most ",
           kMost, " are possible");
    void *const address = ranges_.add(std::move(buffer), std::max(bytes, kLeast), tensor.device.device_id);
    if (!address) fail(OPD_OUT_OF_MEMORY, "there are no addresses for a tensor of ", bytes, " bytes");
    return Tensor::make(tensor.dims, tensor.dtype, session->here(tensor.device), address,
                        make_object<Kept>(*this, address));
  }

 private:
  DLDevice there(int32_t id) const { return {static_cast<DLDeviceType>(kind_), id}; }
  std::shared_ptr<ClientSession> require_session() const {
    std::shared_ptr<ClientSession> session = ClientSession::at(number_);
    if (!session) fail(OPD_UNSUPPORTED, "there is no session with the number ", number_);
    return session;
  }

  // Cached, because every function that takes a device checks whether it exists.
  bool exists(ClientSession &session, int32_t id) {
    if (!session.absence().empty()) return false;
    {
      const std::scoped_lock lock(guard_);
      if (session.serial() != serial_) existing_.clear(), serial_ = session.serial();
      if (const auto found = existing_.find(id); found != existing_.end()) return found->second;
    }
    const Value found = session.attr(there(id), OPD_ATTR_EXIST);
    const bool is_there = (found.type() == OPD_INT || found.type() == OPD_BOOL) && found.view().u.int64 != 0;
    const std::scoped_lock lock(guard_);
    if (session.serial() == serial_) existing_[id] = is_there;
    return is_there;
  }

  const int32_t number_, kind_;
  const std::string name_;
  AddressRanges<RemoteBuffer> ranges_;
  ForkMutex guard_{LockRank::kRemote};
  uint64_t serial_ = 0;  // serial number of the session whose devices `existing_` has
  std::map<int32_t, bool> existing_;
};

// Null: no session has devices of that type. Backends are never destroyed.
RemoteBackend *find_backend(int32_t device_type) {
  struct Table {
    ForkMutex guard{LockRank::kDeviceTables};
    std::map<int32_t, std::unique_ptr<RemoteBackend>> backends;
  };
  static auto *const table = new Table;
  const int32_t number = device_type / kDevicesOfSession - 1, kind = device_type % kDevicesOfSession;
  if (number < 0 || number >= kMostSessions || kind >= kMaxDeviceKinds) return nullptr;
  const std::scoped_lock lock(table->guard);
  auto &backend = table->backends[device_type];
  if (!backend) backend = std::make_unique<RemoteBackend>(number, kind);
  return backend.get();
}

RemoteBackend &backend_of(DLDevice device) {
  RemoteBackend *const backend = find_backend(device.device_type);
  if (!backend) fail(OPD_INVALID_ARGUMENT, device_name(device), " is not a device of a session");
  return *backend;
}

}  // namespace

void register_remote_devices() {
  register_further_kinds([](int32_t type) -> DeviceBackend * { return find_backend(type); });
}

Ref<Tensor> tensor_here(const std::shared_ptr<ClientSession> &session, const RemoteTensor &there, uint64_t object) {
  return backend_of(session->here(there.device)).keep(session, there, object);
}

RemoteTensor remote_tensor(const DLTensor &tensor) {
  const uint64_t bytes = bytes_of(tensor);
  RemoteTensor found = backend_of(tensor.device).find(data_of(tensor), bytes, tensor.device.device_id).bytes;
  found.dtype = tensor.dtype;
  found.dims.assign(tensor.shape, tensor.shape + tensor.ndim);
  return found;
}

}  // namespace opd::rpc
