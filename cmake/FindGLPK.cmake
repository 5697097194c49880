# SPDX-License-Identifier: Apache-2.0
# The GNU Linear Programming Kit, which ships no CMake config: target GLPK::GLPK, GLPK_FOUND, GLPK_VERSION.
find_path(GLPK_INCLUDE_DIR glpk.h PATH_SUFFIXES glpk)
find_library(GLPK_LIBRARY glpk)
mark_as_advanced(GLPK_INCLUDE_DIR GLPK_LIBRARY)

if(GLPK_INCLUDE_DIR)
  file(STRINGS ${GLPK_INCLUDE_DIR}/glpk.h GLPK_VERSION REGEX "^#define GLP_M[AJIN]+OR_VERSION +[0-9]+$")
  list(TRANSFORM GLPK_VERSION REPLACE "[^0-9]+" "")
  list(JOIN GLPK_VERSION "." GLPK_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GLPK REQUIRED_VARS GLPK_LIBRARY GLPK_INCLUDE_DIR VERSION_VAR GLPK_VERSION)

if(GLPK_FOUND AND NOT TARGET GLPK::GLPK)
  add_library(GLPK::GLPK UNKNOWN IMPORTED)
  set_target_properties(
    GLPK::GLPK PROPERTIES IMPORTED_LOCATION "${GLPK_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${GLPK_INCLUDE_DIR}"
  )
endif()
