# SPDX-License-Identifier: Apache-2.0
# What strata's own programs are built with. Nothing here reaches a user: no exported target links it.
include_guard()

option(STRATA_WERROR "Warnings are errors in strata's own programs" OFF)
set(STRATA_SANITIZE "" CACHE STRING "Sanitizers of strata's own programs, for instance address,undefined")

find_program(STRATA_CCACHE ccache)
mark_as_advanced(STRATA_CCACHE)
if(STRATA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for when a precompiled header is used.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${STRATA_CCACHE}")
endif()

add_library(strata_dev_flags INTERFACE)
target_compile_options(
  strata_dev_flags
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow $<$<BOOL:${STRATA_WERROR}>:-Werror>
)
if(STRATA_SANITIZE)
  target_compile_options(
    strata_dev_flags INTERFACE -fsanitize=${STRATA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
  )
  target_link_options(strata_dev_flags INTERFACE -fsanitize=${STRATA_SANITIZE})
endif()

# The CUDA language, for programs with kernels; strata::cuda does without. Sanitizers and nvcc do not go together.
if(TARGET strata_cuda AND NOT STRATA_SANITIZE)
  find_package(CUDAToolkit QUIET)
  if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
  else()
    message(STATUS "strata: there is no CUDA compiler, what needs one is left out")
  endif()
endif()

# strata_cuda_flags(<target>): how strata's own .cu files are compiled. CMake 3.25 knows no cuda_std_20.
function(strata_cuda_flags target)
  target_compile_options(
    ${target} PRIVATE -std=c++20 $<$<BOOL:${STRATA_WERROR}>:--Werror=all-warnings> -Xcompiler=-Wall,-Wextra,-Wshadow
  )
endfunction()

# Links to `target` every component of strata but those that stand apart.
function(strata_link_all target)
  foreach(component IN LISTS STRATA_COMPONENTS)
    get_target_property(apart strata_${component} STRATA_APART)
    if(NOT apart)
      target_link_libraries(${target} PRIVATE strata_${component})
    endif()
  endforeach()
endfunction()
