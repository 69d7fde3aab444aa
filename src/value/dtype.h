// DLPack element types and devices: conversion from and to text, sizes.
#pragma once
#include <opdyno/dlpack.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace opd {

inline bool same(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
inline bool same(DLDevice a, DLDevice b) { return a.device_type == b.device_type && a.device_id == b.device_id; }

DLDataType parse_dtype(std::string_view text);  // throws OPD_INVALID_ARGUMENT
std::string dtype_name(DLDataType dtype);
inline void append(std::string &out, DLDataType dtype) { out += dtype_name(dtype); }

inline uint64_t element_bits(DLDataType dtype) { return uint64_t{dtype.bits} * dtype.lanes; }
// Computes the bytes of `count` compact elements. Sub-byte elements are packed. Returns false on overflow.
bool data_bytes(uint64_t count, DLDataType dtype, uint64_t &out_bytes);

// Computes the product of the sizes. Returns false if a size is negative or the product exceeds int64.
bool element_count(const int64_t *dims, int64_t ndim, uint64_t &out_count);
// Returns the number of elements of a valid shape.
inline uint64_t count_of(std::span<const int64_t> dims) {
  uint64_t count = 0;
  element_count(dims.data(), static_cast<int64_t>(dims.size()), count);
  return count;
}
// Computes the bytes of a compact tensor. Returns false if a size is negative, or the bytes exceed 64 bits.
inline bool compact_bytes(std::span<const int64_t> dims, DLDataType dtype, uint64_t &out_bytes) {
  uint64_t count;
  return element_count(dims.data(), static_cast<int64_t>(dims.size()), count) && data_bytes(count, dtype, out_bytes);
}

DLDevice parse_device(std::string_view text);  // throws OPD_INVALID_ARGUMENT
std::string device_name(DLDevice device);      // "cpu:0"
// Device types of session i: (i + 1) * kDevicesOfSession + DLPack's device type. Source: TVM.
inline constexpr int32_t kDevicesOfSession = 128;
std::string device_kind_name(int32_t device_type);  // "cpu", "remote[0]:cpu"
std::optional<DLDeviceType> device_kind_of(std::string_view name);
// Returns the number of a kind. If no kind has the name, it gets a new number. Throws if the name is invalid or too
// many kinds are added.
DLDeviceType add_device_kind(std::string_view name);
inline void append(std::string &out, DLDevice device) { out += device_name(device); }

}  // namespace opd
