# Everything opdyno needs from the distribution, and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)     # calls C symbols by written signatures; closures
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson) # reads JSON: reports, headers of parameter files
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)       # inflates entries of .npz and exported .tar files; checksums; compresses traces

# For natives that are given to others (tools/natives): Debian has no archive of cJSON.
set(OPDYNO_CJSON_SOURCE "" CACHE PATH
    "Directory of cJSON.c; libopdyno.a then holds cJSON, libffi and zlib, and needs the C++ library only")

# Only headers: the libraries are loaded at run time, and no program is linked with them. With Khronos's and OpenSSL's own
# declarations there are none to write, and to keep correct, here. Each build needs the packages, as it does those above;
# their sources of 20,000 lines are not in this tree.
foreach(each "VULKAN vulkan/vulkan_core.h libvulkan-dev" "OPENCL CL/cl.h opencl-c-headers" "OPENSSL openssl/ssl.h libssl-dev")
  string(REPLACE " " ";" each ${each})
  list(GET each 0 name)
  list(GET each 1 header)
  list(GET each 2 package)
  find_path(OPDYNO_${name}_INCLUDE ${header})
  mark_as_advanced(OPDYNO_${name}_INCLUDE)
  if(NOT OPDYNO_${name}_INCLUDE)
    message(FATAL_ERROR "${header} was not found: install it (Debian and Ubuntu: ${package}), or name its directory by "
      "-DOPDYNO_${name}_INCLUDE=DIRECTORY")
  endif()
  list(APPEND OPDYNO_HEADERS ${OPDYNO_${name}_INCLUDE})
endforeach()

# Loaded at run time: drivers of devices (src/device; CUDA's functions are declared there, because its headers come with
# NVIDIA's toolkit only), libdw, PAPI, and OpenSSL's libssl.so.3 for TLS (src/rpc/wire/openssl_api.h). Linked, libssl and
# libcrypto would make each program's start 0.7 ms and 0.7 MiB dearer, and a machine without them could not start one at
# all. TLS itself is nothing to write anew.
