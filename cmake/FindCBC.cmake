# SPDX-License-Identifier: Apache-2.0
# COIN-OR CBC with what it stands on (Cgl, Clp, Osi, CoinUtils), which ships no CMake config: target CBC::CBC, CBC_FOUND,
# CBC_VERSION. Its headers are included as <coin/...>.
find_path(CBC_INCLUDE_DIR coin/CbcModel.hpp)
mark_as_advanced(CBC_INCLUDE_DIR)
set(CBC_LIBRARIES "")
set(cbc_library_variables "")
foreach(library IN ITEMS CbcSolver Cbc Cgl OsiClp ClpSolver Clp Osi CoinUtils) # each needs those after it
  find_library(CBC_${library}_LIBRARY ${library})
  mark_as_advanced(CBC_${library}_LIBRARY)
  list(APPEND cbc_library_variables CBC_${library}_LIBRARY)
  list(APPEND CBC_LIBRARIES "${CBC_${library}_LIBRARY}")
endforeach()

if(CBC_INCLUDE_DIR AND EXISTS ${CBC_INCLUDE_DIR}/coin/CbcConfig.h)
  file(STRINGS ${CBC_INCLUDE_DIR}/coin/CbcConfig.h CBC_VERSION REGEX "^#define CBC_VERSION ")
  string(REGEX MATCH "[0-9.]+" CBC_VERSION "${CBC_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBC REQUIRED_VARS ${cbc_library_variables} CBC_INCLUDE_DIR VERSION_VAR CBC_VERSION)

if(CBC_FOUND AND NOT TARGET CBC::CBC)
  list(POP_FRONT CBC_LIBRARIES first_library)
  add_library(CBC::CBC UNKNOWN IMPORTED)
  set_target_properties(
    CBC::CBC
    PROPERTIES IMPORTED_LOCATION "${first_library}"
               INTERFACE_INCLUDE_DIRECTORIES "${CBC_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${CBC_LIBRARIES}"
  )
endif()
unset(cbc_library_variables)
