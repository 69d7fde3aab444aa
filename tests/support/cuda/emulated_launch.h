// How the recording driver calls a kernel that was compiled for the processor (support/cuda/emulation.h).
#pragma once

namespace cuda_driver {

struct EmulatedLaunch {
  unsigned grid[3], block[3];
  void **args;                                      // where the kernel's arguments lie
  void *(*translate)(void *driver, void *address);  // the processor's address for one of the device
  void *driver;
};

}  // namespace cuda_driver
