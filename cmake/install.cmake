# How others find us after `cmake --install`: headers, library, pkg-config, find_package(opdyno).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/opdyno)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/opdyno DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${CMAKE_BINARY_DIR}/include/opdyno/dlpack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/opdyno)
install(TARGETS opdyno opdyno_tvmffi EXPORT opdynoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET opdyno_static)
  install(FILES ${CMAKE_BINARY_DIR}/lib/libopdyno.a ${CMAKE_BINARY_DIR}/lib/libopdyno.a.needs DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT opdynoTargets NAMESPACE opdyno:: DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/pkgconfig/opdynoConfig.cmake.in ${CMAKE_BINARY_DIR}/opdynoConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what the last one offered.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/opdynoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/opdynoConfig.cmake ${CMAKE_BINARY_DIR}/opdynoConfigVersion.cmake DESTINATION ${package_dir})

# The .pc file says where it lies relative to the prefix, so that an installed tree may be moved.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
file(RELATIVE_PATH libdir_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH includedir_from_prefix ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/pkgconfig/opdyno.pc.in ${CMAKE_BINARY_DIR}/opdyno.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/pkgconfig/opdyno_tvmffi.pc.in ${CMAKE_BINARY_DIR}/opdyno_tvmffi.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/opdyno.pc ${CMAKE_BINARY_DIR}/opdyno_tvmffi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
