# SPDX-License-Identifier: Apache-2.0
include_guard()

# Names of the components that are built, in the order they were declared.
set(STRATA_COMPONENTS "")
# Names of those that are not, by choice or for want of a package.
set(STRATA_COMPONENTS_OFF "")

# strata_component(<name> [REQUIRED] [APART] [PACKAGES "<package> <version>"...] [FIND_MODULE <file>]
#                  [LINK <targets>...] HEADERS <files>...)
#
# Makes the INTERFACE target strata_<name>, known to users as strata::<name> (the core: strata::strata), which carries
# its own headers and its own third-party targets. Every component but a REQUIRED one has a switch STRATA_WITH_<NAME>:
# ON fails when a package is missing, AUTO leaves the component out and says so in one line, OFF does not look.
# APART: no test or example links it but those that are about it, since it takes long to compile with or to load.
# FIND_MODULE is a Find<package>.cmake of ours, for a package that ships no CMake config; it is installed with strata.
function(strata_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "REQUIRED;APART" "FIND_MODULE" "PACKAGES;LINK;HEADERS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_HEADERS)
    message(FATAL_ERROR "strata_component(${name}): HEADERS missing, or not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  # Also of components that stay off: the test for unlisted headers needs them all.
  set_property(GLOBAL APPEND PROPERTY STRATA_LISTED_HEADERS ${arg_HEADERS})

  if(NOT arg_REQUIRED)
    string(TOUPPER "STRATA_WITH_${name}" switch)
    set(${switch} AUTO CACHE STRING "Component strata::${name}: ON, OFF, or AUTO (when its packages are found)")
    set_property(CACHE ${switch} PROPERTY STRINGS AUTO ON OFF)
    if(${switch} STREQUAL "AUTO")
      set(how QUIET)
    elseif(${switch})
      set(how REQUIRED)
    else()
      set(STRATA_COMPONENTS_OFF ${STRATA_COMPONENTS_OFF} ${name} PARENT_SCOPE)
      return()
    endif()
  else()
    set(how REQUIRED)
  endif()

  if(arg_FIND_MODULE)
    cmake_path(GET arg_FIND_MODULE PARENT_PATH module_dir)
    list(PREPEND CMAKE_MODULE_PATH "${PROJECT_SOURCE_DIR}/${module_dir}")
  endif()
  foreach(package IN LISTS arg_PACKAGES)
    separate_arguments(package)
    # GLOBAL: whoever vendors strata links these targets too, from another directory.
    find_package(${package} ${how} GLOBAL)
    list(GET package 0 package_name)
    if(NOT ${package_name}_FOUND)
      message(STATUS "strata: component '${name}' is off, ${package_name} was not found")
      set(STRATA_COMPONENTS_OFF ${STRATA_COMPONENTS_OFF} ${name} PARENT_SCOPE)
      return()
    endif()
  endforeach()

  add_library(strata_${name} INTERFACE)
  if(name STREQUAL "core")
    set(public strata)
  else()
    set(public ${name})
    target_link_libraries(strata_${name} INTERFACE strata_core)
  endif()
  add_library(strata::${public} ALIAS strata_${name})
  # One by one, headers that take long to compile would hold up every run of the tests.
  set(verify ${PROJECT_IS_TOP_LEVEL})
  if(arg_APART)
    set(verify OFF)
  endif()
  set_target_properties(
    strata_${name} PROPERTIES
    EXPORT_NAME ${public}
    VERIFY_INTERFACE_HEADER_SETS ${verify}
    STRATA_PACKAGES "${arg_PACKAGES}"
    STRATA_FIND_MODULE "${arg_FIND_MODULE}"
    STRATA_HEADERS "${arg_HEADERS}"
    STRATA_APART "${arg_APART}"
  )
  target_sources(strata_${name} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  target_compile_features(strata_${name} INTERFACE cxx_std_20)
  target_link_libraries(strata_${name} INTERFACE ${arg_LINK})
  set(STRATA_COMPONENTS ${STRATA_COMPONENTS} ${name} PARENT_SCOPE)
endfunction()
