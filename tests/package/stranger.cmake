# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<folder> -DBINARY=<folder> -DGENERATOR=<g> -DCOMPILER=<c++> [options] -P stranger.cmake
#   PREFIX       prefixes to find packages in, by comma
#   WANT, COMPONENTS, STRATA_ROOT   handed on to the project
#   WITHOUT      a package the project must not find
#   REFUSED      regular expression: configuring must fail with it
#   INSTALL_TO   install instead of running the program `consumer`
file(REMOVE_RECURSE ${BINARY})
string(REPLACE "," ";" PREFIX "${PREFIX}")
set(without "")
if(WITHOUT)
  set(without -DCMAKE_DISABLE_FIND_PACKAGE_${WITHOUT}=ON)
endif()
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${BINARY} -DCMAKE_CXX_COMPILER=${COMPILER}
          "-DCMAKE_PREFIX_PATH=${PREFIX}" -DWANT=${WANT} -DCOMPONENTS=${COMPONENTS} -DSTRATA_ROOT=${STRATA_ROOT} ${without}
          --no-warn-unused-cli
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
)
if(REFUSED)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "${REFUSED}")
    message(FATAL_ERROR "must be refused with '${REFUSED}', but status ${status}:\n${output}")
  endif()
  return()
endif()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "does not configure:\n${output}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
if(INSTALL_TO)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BINARY} --prefix ${INSTALL_TO} COMMAND_ERROR_IS_FATAL ANY)
else()
  execute_process(COMMAND ${BINARY}/consumer COMMAND_ERROR_IS_FATAL ANY)
endif()
