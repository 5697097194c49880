# SPDX-License-Identifier: Apache-2.0
# cmake -DPRESET=<name> -DGENERATOR=<generator> -DCORES=<n> -P build_preset.cmake, in the project's root
# A folder that is configured keeps its generator.
set(generator "")
if(NOT EXISTS build/${PRESET}/CMakeCache.txt)
  set(generator -G ${GENERATOR})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} ${generator} --preset ${PRESET} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build --preset ${PRESET} --parallel ${CORES} COMMAND_ERROR_IS_FATAL ANY)
