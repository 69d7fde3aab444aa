# One object library per folder of src/, all with the same settings.
add_library(opd_settings INTERFACE)
target_include_directories(opd_settings INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(opd_settings INTERFACE -Wall -Wextra -Wpedantic
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-invalid-offsetof>  # layouts are asserted on types with bases
  -ffunction-sections -fdata-sections)
if(OPDYNO_WERROR)
  target_compile_options(opd_settings INTERFACE -Werror)
endif()
# Everything that is built here, the tests and examples too, links this.
add_library(opd_sanitizers INTERFACE)
if(OPDYNO_SANITIZE)
  target_compile_options(opd_sanitizers INTERFACE -fsanitize=${OPDYNO_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g)
  target_link_options(opd_sanitizers INTERFACE -fsanitize=${OPDYNO_SANITIZE})
endif()
target_link_libraries(opd_settings INTERFACE opd_sanitizers)

# opd_component(NAME source… [SMALL] [LIBRARIES target…]). SMALL: not on any hot path, so size counts for more than speed.
function(opd_component name)
  cmake_parse_arguments(arg "SMALL" "" "LIBRARIES" ${ARGN})
  add_library(opd_${name} OBJECT ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(opd_${name} PUBLIC opd_settings Threads::Threads ${CMAKE_DL_LIBS} ${arg_LIBRARIES})
  if(arg_SMALL)
    target_compile_options(opd_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  set_property(GLOBAL APPEND PROPERTY OPD_COMPONENTS opd_${name})
endfunction()

# opd_small(source…): those files of a component are on no hot path.
function(opd_small)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
endfunction()
