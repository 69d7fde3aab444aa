# Everything opdyno needs from the distribution, and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)     # calls C symbols by written signatures; closures
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson) # reads JSON: reports, headers of parameter files
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)       # inflates entries of .npz and exported .tar files; checksums; compresses traces

# For natives that are given to others (tools/natives): Debian has no archive of cJSON.
set(OPDYNO_CJSON_SOURCE "" CACHE PATH
    "Directory of cJSON.c; libopdyno.a then holds cJSON, libffi and zlib, and needs the C++ library only")

# Loaded at run time, so not needed to build: drivers of devices (src/device), libdw, PAPI, and OpenSSL's libssl.so.3 for
# TLS (src/rpc/wire/openssl_api.h). Linked, libssl and libcrypto would make each program's start 0.7 ms and 0.7 MiB dearer, and a
# machine without them could not start one at all. TLS itself is nothing to write anew.
