// The kinds of devices that the library has itself, and those that a program adds.
#pragma once
#include <opdyno/device_plugin.h>

#include <string_view>

namespace opd {

class DeviceBackend;

DeviceBackend &cpu_backend();        // the host as a device, kDLCPU
DeviceBackend &cuda_backend();       // CUDA devices, through NVIDIA's driver API, in the driver's order
DeviceBackend &cuda_host_backend();  // kind "cuda_host": pinned memory of the host
// OpenCL devices, through the loader of OpenCL's drivers (ICD). Numbers go through all platforms: first the GPUs and
// accelerators, then the processors.
DeviceBackend &opencl_backend();
// Vulkan devices, through the loader of Vulkan's drivers. They are numbered in this order: discrete GPUs, integrated
// GPUs, virtual GPUs, other devices, and drivers that run on processors.
DeviceBackend &vulkan_backend();

// Adds a kind of devices by a table of functions. Takes ownership of the table's user_data unless it throws. Returns
// the kind's number.
DLDeviceType register_plugin(std::string_view kind, const opd_device_table &table);

}  // namespace opd
