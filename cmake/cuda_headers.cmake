# NVIDIA's headers, with which tests compare opdyno's own declarations. The library needs none of them. Not CMake's
# FindCUDAToolkit, which wants the compiler nvcc, and knows neither Debian's layout without it nor PyPI's wheels.

# opd_cuda_homes(OUT ROOT SITE…): the directories that may hold NVIDIA's include/, the preferred ones first: those of
# OPDYNO_CUDA_HOME and of NVIDIA's variables, then ROOT's packages, then Python's SITE directories.
function(opd_cuda_homes out root)
  set(homes ${OPDYNO_CUDA_HOME})
  foreach(name CUDA_HOME CUDA_PATH)
    if(NOT "$ENV{${name}}" STREQUAL "")
      list(APPEND homes "$ENV{${name}}")
    endif()
  endforeach()
  file(GLOB releases "${root}/usr/local/cuda-[0-9]*") # of NVIDIA's packages; /usr/local/cuda is the chosen one
  list(SORT releases COMPARE NATURAL ORDER DESCENDING)
  list(APPEND homes "${root}/usr/local/cuda" ${releases} "${root}/usr") # the last one is Debian's
  foreach(site ${ARGN})
    file(GLOB wheels "${site}/nvidia/cu[0-9]*") # CUDA 13 and newer: one directory for all
    list(SORT wheels COMPARE NATURAL ORDER DESCENDING)
    file(GLOB parts "${site}/nvidia/[a-z]*_*") # older ones: cuda_runtime, cuda_cupti, …
    list(APPEND homes ${wheels} ${parts})
  endforeach()
  set(${out} ${homes} PARENT_SCOPE)
endfunction()

# opd_find_cuda_header(OUT_DIRECTORY HEADER HOME…): the include directory of the first home that has it; "" if none has.
function(opd_find_cuda_header out header)
  set(${out} "" PARENT_SCOPE)
  foreach(home ${ARGN})
    foreach(include include extras/CUPTI/include)
      if(EXISTS "${home}/${include}/${header}")
        set(${out} "${home}/${include}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
endfunction()
