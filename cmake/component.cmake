# One object library per directory of src/, all with the same settings.
add_library(opd_settings INTERFACE)
target_include_directories(opd_settings INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_include_directories(opd_settings SYSTEM INTERFACE ${OPDYNO_HEADERS})
target_compile_options(opd_settings INTERFACE -Wall -Wextra -Wpedantic
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-invalid-offsetof>  # layouts are asserted on types with bases
  -ffunction-sections -fdata-sections)
if(OPDYNO_WERROR)
  target_compile_options(opd_settings INTERFACE -Werror)
endif()
# Everything that is built here, the tests and examples too, links this.
add_library(opd_sanitizers INTERFACE)
if(OPDYNO_SANITIZE)
  set(OPDYNO_SANITIZER_FLAGS -fsanitize=${OPDYNO_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    list(APPEND OPDYNO_SANITIZER_FLAGS -fsanitize-link-c++-runtime -lstdc++)  # the library needs both also in programs in C
  endif()
  # UBSan takes much of clang's time for a test. A test's own code (the target property OPDYNO_IS_TEST) is without it: it has
  # only what a sanitizer must have in the whole program.
  string(REGEX MATCH "address|thread" in_tests "${OPDYNO_SANITIZE}")
  target_compile_options(opd_sanitizers INTERFACE
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:OPDYNO_IS_TEST>>>:-fsanitize=${OPDYNO_SANITIZE}>"
    "$<$<AND:$<BOOL:$<TARGET_PROPERTY:OPDYNO_IS_TEST>>,$<BOOL:${in_tests}>>:-fsanitize=${in_tests}>" -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  target_link_options(opd_sanitizers INTERFACE ${OPDYNO_SANITIZER_FLAGS})
endif()
target_link_libraries(opd_settings INTERFACE opd_sanitizers)

# In Release, gcc optimises the files where size counts once more, as one program, when a library is linked: the library is
# a tenth smaller. Objects also hold ordinary code ("fat"), which the unit tests link: they would repeat the work each.
if(OPDYNO_SANITIZE)
  set(OPDYNO_LTO 0)
else()
  set(OPDYNO_LTO $<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>)
endif()

# opd_component(NAME source… [LIBRARIES target…])
function(opd_component name)
  cmake_parse_arguments(arg "" "" "LIBRARIES" ${ARGN})
  add_library(opd_${name} OBJECT ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(opd_${name} PUBLIC opd_settings Threads::Threads ${CMAKE_DL_LIBS} ${arg_LIBRARIES})
  # Threads of the library, and of the program, run while the process exits: nothing that they use may be destroyed then.
  target_compile_options(opd_${name} PRIVATE "$<${OPDYNO_LTO}:-flto;-ffat-lto-objects>"
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Werror=exit-time-destructors>")
  # Fuzzers find their way by counters, which take a third of clang's time: only what reads bytes from outside has them.
  if(OPDYNO_BUILD_FUZZERS AND name MATCHES "^(base|value|params|program|module|vm|report|trace|replay|rpc)$")
    target_compile_options(opd_${name} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls)
  endif()
  opd_precompile(opd_${name} opd_base)
  opd_compile_together(opd_${name})
  set_property(GLOBAL APPEND PROPERTY OPD_COMPONENTS opd_${name})
endfunction()

# opd_precompile(TARGET OWNER): the standard library's headers as a precompiled header, which `owner` compiles for all of
# its kind. Only sanitized builds have it, so that another build notices a source file that lacks an #include.
function(opd_precompile target owner)
  if(NOT OPDYNO_SANITIZE)
    return()
  elseif(target STREQUAL owner)
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")  # for ccache
    target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <cmath> <cstring> <functional> <map> <memory> <mutex>
      <optional> <span> <string> <string_view> <unordered_map> <vector>)
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# opd_compile_together(TARGET): compiles eight files as one, in half to two thirds of the time. So no two files of a
# component or of a test program may give different things one name. Files with options of their own, and those that say
# so by CMake's property SKIP_UNITY_BUILD_INCLUSION, are compiled alone. The preset dev compiles each file alone: it
# notices that a file lacks an #include. CMake's own UNITY_BUILD writes other files in each release of CMake, and ccache
# would not know the objects of the Python package, which a newer CMake builds.
function(opd_compile_together target)
  if(OPDYNO_COMPILE_TOGETHER)
    # Once the properties of all its files are set. DEFER alone would look at the variable then.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL opd_join_sources ${target})")
  endif()
endfunction()

function(opd_join_sources target)
  set(sources "")
  set(alone "")
  get_target_property(all ${target} SOURCES)
  foreach(source ${all})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(is_alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(options OR is_alone OR NOT source MATCHES "[.]cc$")
      list(APPEND alone ${source})
    else()
      if(IS_ABSOLUTE ${source})  # as file(GLOB) gives them; ccache would not know the file of another checkout
        file(RELATIVE_PATH source ${CMAKE_CURRENT_SOURCE_DIR} ${source})
      endif()
      list(APPEND sources ${source})
    endif()
  endforeach()
  set(joined "")
  while(sources)
    list(SUBLIST sources 0 8 part)
    list(REMOVE_ITEM sources ${part})
    list(LENGTH joined number)
    set(file ${CMAKE_BINARY_DIR}/joined/${target}_${number}.cc)  # one path in all builds, for ccache
    list(TRANSFORM part REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN part "" includes)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes}" @ONLY)
    list(APPEND joined ${file})
  endwhile()
  set_property(TARGET ${target} PROPERTY SOURCES ${joined} ${alone})
  target_compile_options(${target} PRIVATE "-iquote${CMAKE_CURRENT_SOURCE_DIR}")  # where the files are
endfunction()

# opd_fast(source…): files of a component that calls pass through; in the others size counts for more than speed.
function(opd_fast)
  if(OPDYNO_SANITIZE)  # files with options of their own are compiled alone
    return()
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>;$<${OPDYNO_LTO}:-fno-lto>")
endfunction()
