# Everything opdyno needs from the distribution, and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)     # calls C symbols by written signatures; closures
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson) # reads JSON: reports, headers of parameter files
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)       # inflates entries of .npz and exported .tar files; checksums; compresses traces
