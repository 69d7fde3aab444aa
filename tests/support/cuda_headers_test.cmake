# cmake -DSCRATCH=DIRECTORY -P: where the search for NVIDIA's headers looks, in trees as their packages make them.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/cuda_headers.cmake)
foreach(name CUDA_HOME CUDA_PATH)
  unset(ENV{${name}})
endforeach()

# expect_found(HEADER DIRECTORY): in the tree ROOT, with Python's wheels in ROOT/site.
function(expect_found header expected)
  opd_cuda_homes(homes ${root} ${root}/site)
  opd_find_cuda_header(found ${header} ${homes})
  if(NOT found STREQUAL "${expected}")
    message(SEND_ERROR "${header}: found in '${found}', expected in '${expected}'")
  endif()
endfunction()
# new_tree(FILE…): ROOT becomes an empty directory with these files.
macro(new_tree)
  file(REMOVE_RECURSE ${SCRATCH})
  foreach(path ${ARGN})
    file(WRITE ${SCRATCH}/root/${path} "")
  endforeach()
endmacro()
set(root ${SCRATCH}/root)

new_tree(usr/include/stdio.h)
expect_found(cuda.h "")
new_tree(usr/include/cuda.h usr/include/crt/host_defines.h) # Debian
expect_found(cuda.h ${root}/usr/include)
expect_found(crt/host_defines.h ${root}/usr/include)
expect_found(nvml.h "")
new_tree(usr/include/cuda.h usr/local/cuda-9.2/include/cuda.h usr/local/cuda-12.4/include/cuda.h # NVIDIA, the newest
         usr/local/cuda-12.4/extras/CUPTI/include/cupti.h)
expect_found(cuda.h ${root}/usr/local/cuda-12.4/include)
expect_found(cupti.h ${root}/usr/local/cuda-12.4/extras/CUPTI/include)
file(WRITE ${root}/usr/local/cuda/include/cuda.h "") # the one that the administrator chose
expect_found(cuda.h ${root}/usr/local/cuda/include)
new_tree(site/nvidia/cu12/include/cuda.h site/nvidia/cu13/include/cuda.h site/nvidia/cuda_cupti/include/cupti.h) # PyPI
expect_found(cuda.h ${root}/site/nvidia/cu13/include)
expect_found(cupti.h ${root}/site/nvidia/cuda_cupti/include)
new_tree(site/nvidia/cuda_runtime/include/cuda.h site/nvidia/cuda_nvrtc/include/nvrtc.h)
expect_found(cuda.h ${root}/site/nvidia/cuda_runtime/include)
expect_found(nvrtc.h ${root}/site/nvidia/cuda_nvrtc/include)
# Variables come first, ours before NVIDIA's.
new_tree(usr/local/cuda/include/cuda.h mine/include/cuda.h theirs/include/cuda.h)
set(ENV{CUDA_HOME} ${root}/theirs)
expect_found(cuda.h ${root}/theirs/include)
set(OPDYNO_CUDA_HOME ${root}/mine)
expect_found(cuda.h ${root}/mine/include)
set(OPDYNO_CUDA_HOME ${root}/nothing)
expect_found(cuda.h ${root}/theirs/include)
file(REMOVE_RECURSE ${SCRATCH})
