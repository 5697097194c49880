# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=<program> -DEXPECTED=<file> -P run_expected.cmake
# Fails unless the program succeeds and prints exactly the text of the file.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE got ERROR_VARIABLE errors RESULT_VARIABLE status)
file(READ ${EXPECTED} want)
if(NOT status EQUAL 0 OR NOT got STREQUAL want)
  message(FATAL_ERROR "exit status ${status}\n${errors}--- expected\n${want}--- got\n${got}")
endif()
