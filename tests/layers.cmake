# SPDX-License-Identifier: Apache-2.0
# How each layer of tests becomes ctest entries. tests/CMakeLists.txt says which there are.
include_guard()

add_library(strata_catch_main STATIC ${CMAKE_CURRENT_LIST_DIR}/support/catch_main.cpp)
target_link_libraries(strata_catch_main PUBLIC Catch2::Catch2)
target_compile_features(strata_catch_main PRIVATE cxx_std_20)

# Flags with which a single file is handed to a compiler or to clang-tidy. Third parties come last in the search: many
# live in /usr/include, which must not move before the compiler's own folders.
set(STRATA_SINGLE_FILE_FLAGS -std=c++20 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR})
foreach(component IN LISTS STRATA_COMPONENTS)
  get_target_property(apart strata_${component} STRATA_APART)
  if(apart)
    continue()
  endif()
  set(folders "$<TARGET_PROPERTY:strata_${component},INTERFACE_INCLUDE_DIRECTORIES>")
  list(APPEND STRATA_SINGLE_FILE_FLAGS "-idirafter$<JOIN:${folders},$<SEMICOLON>-idirafter>")
endforeach()

# strata_catch_layer(<layer> [OPTIMISED]): program strata_<layer>, one ctest entry per test case, or per file where a
# sanitizer makes starting a program take longer than most test cases. OPTIMISED is for layers
# that run so long that optimising them even in debug builds saves time; all of a program, or the linker may keep the
# slow copy of an inline function.
function(strata_catch_layer layer)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${layer}/*.test.cpp)
  get_target_property(core_headers strata_core STRATA_HEADERS)
  foreach(component IN LISTS STRATA_COMPONENTS_OFF)
    # What the core has in a component's folder is tested with fakes.
    if(NOT core_headers MATCHES "/strata/${component}/")
      list(FILTER sources EXCLUDE REGEX "/${layer}/${component}/")
    endif()
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_executable(strata_${layer} ${sources})
  # The files of one folder instantiate the same templates, so together they compile in half the time.
  set_target_properties(strata_${layer} PROPERTIES UNITY_BUILD ${STRATA_UNITY_TESTS} UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder STEM folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  if("OPTIMISED" IN_LIST ARGN)
    target_compile_options(strata_${layer} PRIVATE -O1)
  endif()
  target_link_libraries(strata_${layer} PRIVATE strata_catch_main strata_dev_flags strata_zoo)
  target_compile_definitions(strata_${layer} PRIVATE STRATA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  strata_link_all(strata_${layer})
  if(STRATA_SANITIZE)
    foreach(source IN LISTS sources)
      cmake_path(GET source STEM LAST_ONLY file)
      list(APPEND files ${file})
    endforeach()
    list(REMOVE_DUPLICATES files)
    foreach(file IN LISTS files)
      add_test(NAME ${layer}.${file} COMMAND strata_${layer} --filenames-as-tags --warn NoTests "[#${file}]")
      set_tests_properties(${layer}.${file} PROPERTIES LABELS ${layer} TIMEOUT 600)
    endforeach()
    return()
  endif()
  # Without NoTests a name that Catch reads as a pattern would select nothing, and pass.
  catch_discover_tests(
    strata_${layer}
    TEST_PREFIX "${layer}."
    EXTRA_ARGS --warn NoTests
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    PROPERTIES LABELS ${layer} TIMEOUT 300
  )
endfunction()

# strata_build_test(<name> <label> <target>): building the target is the test.
function(strata_build_test name label target)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${target} --parallel ${STRATA_CORES})
  set_tests_properties(${name} PROPERTIES LABELS ${label} RESOURCE_LOCK build PROCESSORS ${STRATA_CORES})
endfunction()

# strata_script_test(<name> <label> <script> [<argument>...]): the script runs in the project's root.
function(strata_script_test name label script)
  add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND_EXPAND_LISTS)
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()

# strata_syntax_test(<name> <label> <file> [<option>...]): the file compiles without a warning.
function(strata_syntax_test name label file)
  add_test(NAME ${name} COMMAND ${CMAKE_CXX_COMPILER} -fsyntax-only -Wall -Wextra -Werror ${STRATA_SINGLE_FILE_FLAGS}
                                ${ARGN} ${file}
           COMMAND_EXPAND_LISTS)
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()

# Writes the list of public headers and the translation units that include them all, save those of components apart.
function(strata_write_all_headers)
  get_property(listed GLOBAL PROPERTY STRATA_LISTED_HEADERS)
  set(here ${CMAKE_CURRENT_BINARY_DIR}/generated)
  list(JOIN listed "\n" lines)
  file(CONFIGURE OUTPUT ${here}/listed_headers.txt CONTENT "${lines}\n" @ONLY)

  set(forward "")
  set(backward "")
  foreach(component IN LISTS STRATA_COMPONENTS)
    get_target_property(apart strata_${component} STRATA_APART)
    if(apart)
      continue()
    endif()
    get_target_property(headers strata_${component} STRATA_HEADERS)
    foreach(header IN LISTS headers)
      string(REGEX REPLACE "^include/" "" header ${header})
      string(APPEND forward "#include <${header}>\n")
      string(PREPEND backward "#include <${header}>\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${here}/all_forward.hpp CONTENT "${forward}" @ONLY)
  file(CONFIGURE OUTPUT ${here}/all_backward.hpp CONTENT "${backward}" @ONLY)
  file(CONFIGURE OUTPUT ${here}/all_headers.cpp CONTENT "#include \"all_forward.hpp\"\n" @ONLY)
  file(CONFIGURE OUTPUT ${here}/umbrella.cpp CONTENT "#include <strata/strata.hpp>\n" @ONLY)
  set(STRATA_LISTED_HEADERS_FILE ${here}/listed_headers.txt PARENT_SCOPE)
  set(STRATA_GENERATED_DIR ${here} PARENT_SCOPE)
  set(STRATA_ALL_HEADERS_TU ${here}/all_headers.cpp PARENT_SCOPE)
  set(STRATA_UMBRELLA_TU ${here}/umbrella.cpp PARENT_SCOPE)
endfunction()

# Target strata_<component>_headers: the headers of a component that stands apart, twice, in opposite orders.
function(strata_apart_headers component)
  get_target_property(headers strata_${component} STRATA_HEADERS)
  set(forward "")
  set(backward "")
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "^include/" "" header ${header})
    string(APPEND forward "#include <${header}>\n")
    string(PREPEND backward "#include <${header}>\n")
  endforeach()
  set(here ${STRATA_GENERATED_DIR}/${component})
  file(CONFIGURE OUTPUT ${here}/forward.cpp CONTENT "${forward}" @ONLY)
  file(CONFIGURE OUTPUT ${here}/backward.cpp CONTENT "${backward}" @ONLY)
  add_library(strata_${component}_headers OBJECT EXCLUDE_FROM_ALL ${here}/forward.cpp ${here}/backward.cpp)
  target_link_libraries(strata_${component}_headers PRIVATE strata_dev_flags strata_${component})
endfunction()

# Two translation units, each with every header, in opposite orders, are one program.
function(strata_odr_test)
  add_executable(strata_odr odr/a.cpp odr/b.cpp)
  target_link_libraries(strata_odr PRIVATE strata_dev_flags)
  target_include_directories(strata_odr PRIVATE ${STRATA_GENERATED_DIR})
  strata_link_all(strata_odr)
  add_test(NAME odr COMMAND strata_odr)
  set_tests_properties(odr PROPERTIES LABELS odr)
endfunction()

# nvcc compiles the headers that a .cu file includes, and nvcc/*.cu.
function(strata_nvcc_test)
  get_property(listed GLOBAL PROPERTY STRATA_LISTED_HEADERS)
  list(FILTER listed INCLUDE REGEX "/strata/(strata.hpp|hierarchy.hpp|execute|cuda/)")
  set(text "")
  foreach(header IN LISTS listed)
    string(REGEX REPLACE "^include/" "" header ${header})
    string(APPEND text "#include <${header}>\n")
  endforeach()
  file(CONFIGURE OUTPUT ${STRATA_GENERATED_DIR}/all_headers.cu CONTENT "${text}" @ONLY)
  file(GLOB sources CONFIGURE_DEPENDS nvcc/*.cu)
  add_library(strata_nvcc OBJECT EXCLUDE_FROM_ALL ${STRATA_GENERATED_DIR}/all_headers.cu ${sources})
  strata_cuda_flags(strata_nvcc)
  target_link_libraries(strata_nvcc PRIVATE strata_core strata_cuda)
  strata_build_test(headers.nvcc headers strata_nvcc)
endfunction()

# gpu/<what>.cu is a program that runs on a device, and returns 77 where there is none. Once more under compute-sanitizer,
# if there is one.
function(strata_gpu_tests)
  find_program(STRATA_COMPUTE_SANITIZER compute-sanitizer HINTS ${CUDAToolkit_BIN_DIR})
  mark_as_advanced(STRATA_COMPUTE_SANITIZER)
  add_custom_target(strata_gpu)
  set(targets "")
  file(GLOB sources CONFIGURE_DEPENDS gpu/*.cu)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_executable(gpu_${name} ${source})
    strata_cuda_flags(gpu_${name})
    target_include_directories(gpu_${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(gpu_${name} PRIVATE strata_core strata_cuda)
    list(APPEND targets gpu_${name})
  endforeach()
  get_property(examples GLOBAL PROPERTY STRATA_DEVICE_EXAMPLES)
  list(APPEND targets ${examples})
  foreach(target IN LISTS targets)
    add_dependencies(strata_gpu ${target})
    string(REGEX REPLACE "^gpu_" "" name ${target})
    add_test(NAME gpu.${name} COMMAND ${target})
    set(names gpu.${name})
    if(STRATA_COMPUTE_SANITIZER) # calls that are refused are part of the tests
      add_test(NAME gpu.${name}.memcheck
               COMMAND ${STRATA_COMPUTE_SANITIZER} --error-exitcode 1 --report-api-errors no $<TARGET_FILE:${target}>
                       memcheck)
      list(APPEND names gpu.${name}.memcheck)
    endif()
    set_tests_properties(${names} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu TIMEOUT 300)
  endforeach()
endfunction()

# compile_fail/<what>.cpp must be refused with the message of its first line, and compile with -DSTRATA_EXPECT_OK, so
# that it cannot be refused for another reason.
function(strata_compile_fail_tests)
  file(GLOB sources CONFIGURE_DEPENDS compile_fail/*.cpp)
  foreach(component IN LISTS STRATA_COMPONENTS_OFF)
    list(FILTER sources EXCLUDE REGEX "/compile_fail/${component}_")
  endforeach()
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    add_test(NAME compile_fail.${name}.refused
             COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/compile_fail.sh ${source} ${CMAKE_CXX_COMPILER}
                     ${STRATA_SINGLE_FILE_FLAGS}
             COMMAND_EXPAND_LISTS)
    strata_syntax_test(compile_fail.${name}.twin_compiles compile_fail ${source} -DSTRATA_EXPECT_OK)
    set_tests_properties(compile_fail.${name}.refused PROPERTIES LABELS compile_fail)
  endforeach()
endfunction()

# clang-tidy sees every header through one translation unit.
function(strata_tidy_test)
  find_program(STRATA_CLANG_TIDY NAMES clang-tidy-16)
  mark_as_advanced(STRATA_CLANG_TIDY)
  if(NOT STRATA_CLANG_TIDY)
    message(STATUS "strata: clang-tidy-16 was not found, the headers are not checked by it")
    return()
  endif()
  add_test(NAME tidy.headers
           COMMAND ${STRATA_CLANG_TIDY} --quiet --config-file=${PROJECT_SOURCE_DIR}/.clang-tidy
                   ${STRATA_ALL_HEADERS_TU} -- ${STRATA_SINGLE_FILE_FLAGS}
           COMMAND_EXPAND_LISTS)
  # First, since it keeps one core busy for as long as many others take together.
  set_tests_properties(tidy.headers PROPERTIES LABELS tidy COST 100)
endfunction()

# fuzz/<name>.cpp is the program fuzz_<name>; fuzz/corpus/<name>/ holds inputs that are replayed.
function(strata_fuzz_targets)
  if(NOT STRATA_BUILD_FUZZ)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS fuzz/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    add_executable(fuzz_${name} ${source})
    target_compile_options(fuzz_${name} PRIVATE ${flags})
    target_link_options(fuzz_${name} PRIVATE ${flags})
    target_link_libraries(fuzz_${name} PRIVATE strata_dev_flags strata_zoo)
    strata_link_all(fuzz_${name})
    add_test(NAME fuzz.${name}.replay COMMAND fuzz_${name} -runs=0 ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
    set_tests_properties(fuzz.${name}.replay PROPERTIES LABELS fuzz TIMEOUT 300)
  endforeach()
endfunction()

# strata_other_build(<preset> <label>...): builds the preset and runs its tests of these labels, as entries
# <preset>.build and <preset>.<label> of this build's ctest.
function(strata_other_build preset)
  if(NOT preset IN_LIST STRATA_TEST_BUILDS)
    return()
  endif()
  add_test(NAME ${preset}.build
           COMMAND ${CMAKE_COMMAND} -DPRESET=${preset} -DGENERATOR=${CMAKE_GENERATOR} -DCORES=${STRATA_CORES}
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/build_preset.cmake
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${preset}.build PROPERTIES LABELS ${preset} FIXTURES_SETUP ${preset} PROCESSORS ${STRATA_CORES})
  foreach(label IN LISTS ARGN)
    # A layer without files has no entries; any other must have some.
    file(GLOB_RECURSE sources ${label}/*.cpp)
    if(label STREQUAL "examples")
      file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${label}/*.cpp)
    endif()
    if(NOT sources)
      continue()
    endif()
    add_test(NAME ${preset}.${label}
             COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_SOURCE_DIR}/build/${preset} -L "^${label}$"
                     --output-on-failure --no-tests=error --parallel ${STRATA_CORES}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${preset}.${label} PROPERTIES LABELS ${preset} FIXTURES_REQUIRED ${preset}
                         PROCESSORS ${STRATA_CORES} TIMEOUT 900)
  endforeach()
endfunction()
