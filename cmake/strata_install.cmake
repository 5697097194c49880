# SPDX-License-Identifier: Apache-2.0
# Install rules. Each component has an export file of its own, so that a user's machine needs only the packages of the
# components it asks for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(STRATA_CMAKE_DIR ${CMAKE_INSTALL_DATADIR}/cmake/strata)
set(STRATA_DEPENDENCIES "")
foreach(component IN LISTS STRATA_COMPONENTS)
  install(TARGETS strata_${component} EXPORT strata-${component}
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT strata-${component} NAMESPACE strata:: FILE strata-${component}-targets.cmake
          DESTINATION ${STRATA_CMAKE_DIR})
  get_target_property(packages strata_${component} STRATA_PACKAGES)
  get_target_property(find_module strata_${component} STRATA_FIND_MODULE)
  string(APPEND STRATA_DEPENDENCIES "set(_strata_packages_${component} \"${packages}\")\n")
  if(find_module)
    install(FILES ${find_module} DESTINATION ${STRATA_CMAKE_DIR})
  endif()
endforeach()

configure_package_config_file(cmake/strataConfig.cmake.in strataConfig.cmake INSTALL_DESTINATION ${STRATA_CMAKE_DIR})
write_basic_package_version_file(strataConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/strataConfig.cmake ${PROJECT_BINARY_DIR}/strataConfigVersion.cmake
        DESTINATION ${STRATA_CMAKE_DIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/strata)
