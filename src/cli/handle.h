// Owners of the library's handles: its C++ face, and aliases for what that has no class for.
#pragma once
#include <opdyno/opdyno.hpp>
#include <string_view>

namespace opd::cli {

using opdyno::Executable;
using opdyno::Function;
using opdyno::Handle;
using opdyno::Module;
using opdyno::Params;
using opdyno::Report;
using opdyno::Tensor;
using opdyno::Value;
using opdyno::Vm;
using Buffer = Handle<opd_buffer>;
using Cancel = Handle<opd_cancel>;
using Trace = Handle<opd_trace>;

inline std::string_view bytes_of(const Buffer &buffer) {
  return {opd_buffer_data(buffer.get()), opd_buffer_size(buffer.get())};
}

// A new reference to the object of a handle, as a value.
template <class T>
Value value_of(const Handle<T> &handle) {
  return Value::retain(opd_object_value(handle.get()));
}

// What an object value holds is the handle itself; borrowed.
template <class T>
T *handle_of(const opd_value &value) {
  return reinterpret_cast<T *>(value.u.object);
}
// The same as an owner.
template <class T>
T *retain(T *handle) {
  return static_cast<T *>(opd_object_retain(handle));
}

}  // namespace opd::cli
