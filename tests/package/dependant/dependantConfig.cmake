# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(strata)
include(${CMAKE_CURRENT_LIST_DIR}/dependant-targets.cmake)
