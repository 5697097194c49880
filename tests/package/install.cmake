# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build> -DSTAGE=<prefix> -DLISTED=<file> -DOFF=<components> -P install.cmake
# Installs into an empty prefix and compares the headers there with those that are listed.
file(REMOVE_RECURSE ${STAGE})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${STAGE} COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${LISTED} want)
foreach(component IN LISTS OFF)
  list(FILTER want EXCLUDE REGEX "^include/strata/${component}/")
endforeach()
list(SORT want)
file(GLOB_RECURSE got RELATIVE ${STAGE} ${STAGE}/include/*)
list(SORT got)
if(NOT got STREQUAL want)
  message(FATAL_ERROR "installed headers\n  ${got}\nare not the listed ones\n  ${want}")
endif()
