# SPDX-License-Identifier: Apache-2.0
# The headers <cuda/...> that come with the CUDA toolkit, in a folder of their own since CUDA 13, for compilers other than
# nvcc, which knows where they are: target CCCLHeaders::CCCLHeaders, CCCLHeaders_FOUND.
find_package(CUDAToolkit QUIET)
find_path(CCCLHeaders_INCLUDE_DIR cuda/memory_resource HINTS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl)
mark_as_advanced(CCCLHeaders_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CCCLHeaders REQUIRED_VARS CCCLHeaders_INCLUDE_DIR)

if(CCCLHeaders_FOUND AND NOT TARGET CCCLHeaders::CCCLHeaders)
  add_library(CCCLHeaders::CCCLHeaders INTERFACE IMPORTED)
  set_target_properties(CCCLHeaders::CCCLHeaders PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CCCLHeaders_INCLUDE_DIR}")
endif()
