# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build> -DSTAGE=<prefix> -DWANT=<headers> -P install.cmake
# Installs into an empty prefix and compares the headers there with those of the components that are built.
file(REMOVE_RECURSE ${STAGE})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${STAGE} COMMAND_ERROR_IS_FATAL ANY)
list(SORT WANT)
file(GLOB_RECURSE got RELATIVE ${STAGE} ${STAGE}/include/*)
list(SORT got)
if(NOT got STREQUAL WANT)
  message(FATAL_ERROR "installed headers\n  ${got}\nare not those of the components\n  ${WANT}")
endif()
