# Cross-builds for aarch64 on x86-64 with Debian's compiler, and runs what it built by QEMU. OPDYNO_AARCH64_LIBRARIES is a
# directory with arm64 packages unpacked, which tools/aarch64 makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

set(libraries ${OPDYNO_AARCH64_LIBRARIES})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OPDYNO_AARCH64_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH ${libraries})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${libraries})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig)
# A native compiler looks there by itself, and so no .pc file names it.
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${libraries}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${libraries}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
