# Everything opdyno needs from the distribution, and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)     # calls C symbols by written signatures; closures
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson) # reads JSON reports
pkg_check_modules(MINIZIP REQUIRED IMPORTED_TARGET minizip) # reads and writes .npz, which are zip archives
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)       # unpacks exported .tar files, which are gzip archives
