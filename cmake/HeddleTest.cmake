# heddle_add_test(<name> SOURCES <file>... [LABELS <label>...] [LIBRARIES <target>...] [TIMEOUT <seconds>] [NOTES_CALLS])
#
# A GoogleTest program that links the simulated SM; each of its TESTs becomes a test of its own. The first
# label says which kind it is (unit, explore, ...); `cmake --build <dir> --target <label>_tests` builds the
# programs of one kind. Tests may include the private headers of src/. With NOTES_CALLS it can say which functions each of
# its tests calls: tests/support/calls.cpp.
include(GoogleTest)
find_program(HEDDLE_LLD ld.lld DOC "A linker for tests: there are many, and it takes a third of the time")
mark_as_advanced(HEDDLE_LLD)

function(heddle_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOTES_CALLS" "TIMEOUT" "SOURCES;LABELS;LIBRARIES")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "heddle_add_test(${name}): wants SOURCES, and no unknown arguments; unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  heddle_test_options(${name})
  if(arg_LABELS MATCHES "explore|slow" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # Thousands of launches are worth optimising for; a share of them is not.
    target_compile_options(${name} PRIVATE -O2)
  elseif(arg_NOTES_CALLS)
    heddle_note_calls(${name})
    heddle_reuse_precompiled(${name} heddle_test_precompiled_noting)
    target_link_libraries(${name} PRIVATE heddle_test_calls)
  else()
    heddle_reuse_precompiled(${name} heddle_test_precompiled)
  endif()
  heddle_test_program(${name} ${arg_LABELS})
  # Long ones first, so that all cores are busy to the end.
  set(cost 1)
  if(arg_LABELS MATCHES "explore|slow")
    set(cost 100)
  elseif(arg_LABELS MATCHES "kernels")
    set(cost 50)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_LIST ${name}_names
    PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${cost})
  # A list does not survive as a value among PROPERTIES, so the labels are set once the tests are known.
  set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
  file(CONFIGURE OUTPUT "${labels_file}" @ONLY CONTENT
    "if(@name@_names)\n  set_tests_properties(\${@name@_names} PROPERTIES LABELS \"@arg_LABELS@\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
endfunction()

# heddle_add_united_tests(<label> <source>...): programs <label>_united_<number>, each of as many sources as can be compiled
# as one. The targets <label>_<source> build the program that has them.
function(heddle_add_united_tests label)
  heddle_unity_groups(groups tests ${ARGN})
  set(programs "")
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([0-9]+) (.+)$" line "${line}")
    set(program ${label}_united_${CMAKE_MATCH_1})
    list(APPEND programs ${program})
    list(APPEND sources_${program} "${CMAKE_MATCH_2}")
  endforeach()
  list(REMOVE_DUPLICATES programs)
  foreach(program IN LISTS programs)
    heddle_add_test(${program} SOURCES ${sources_${program}} LABELS ${label} TIMEOUT 1200)
    set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_link_libraries(${program} PRIVATE heddle_united)
    foreach(source IN LISTS sources_${program})
      cmake_path(GET source STEM name)
      add_custom_target(${label}_${name} DEPENDS ${program})
    endforeach()
  endforeach()
endfunction()

# What all tests are compiled and linked with. A test spends its time in the simulated SM, which is optimised; optimising
# the test too doubles its compilation, and line numbers (HEDDLE_TEST_LINES) take a sixth of it under the sanitizers.
function(heddle_test_options target)
  target_include_directories(${target} PRIVATE "${heddle_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE heddle::sim ${heddle_fmt} GTest::gtest_main heddle_warnings)
  target_compile_options(${target} PRIVATE -O0)
  if(TARGET heddle_without_lines)
    target_link_libraries(${target} PRIVATE heddle_without_lines)
  endif()
  if(HEDDLE_LLD)
    target_link_options(${target} PRIVATE -fuse-ld=lld)
  endif()
  # Tests of what is reported leave their arrays on purpose.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${target} PRIVATE -fno-sanitize=bounds)
  endif()
endfunction()

# Enters a target into those that build all tests of a kind: <label>_tests, and host_tests for all that need
# no nvcc.
add_custom_target(host_tests)
function(heddle_test_program name)
  foreach(label IN LISTS ARGN)
    if(NOT TARGET ${label}_tests)
      add_custom_target(${label}_tests)
    endif()
    add_dependencies(${label}_tests ${name})
  endforeach()
  if(NOT "${ARGN}" MATCHES "device|gpu")
    add_dependencies(host_tests ${name})
  endif()
endfunction()

# The compiler calls a function of tests/support/calls.cpp at the start of each of ours.
function(heddle_note_calls target)
  target_compile_options(${target} PRIVATE -finstrument-functions -finstrument-functions-exclude-file-list=/usr/)
endfunction()

# heddle_precompile_tests(): compiles the headers that most tests include, for all of them. To be called before the first
# heddle_add_test, where all that a test links is there.
function(heddle_precompile_tests)
  if(HEDDLE_PRECOMPILE)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp" "")
    add_library(heddle_test_precompiled OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
    heddle_test_options(heddle_test_precompiled)
    heddle_precompile(heddle_test_precompiled <gtest/gtest.h> <heddle/heddle.h> <heddle/host.h>)
    if(heddle_tests_that_note)
      add_library(heddle_test_precompiled_noting OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
      heddle_test_options(heddle_test_precompiled_noting)
      heddle_note_calls(heddle_test_precompiled_noting)
      heddle_precompile(heddle_test_precompiled_noting <gtest/gtest.h> <heddle/heddle.h> <heddle/host.h>)
    endif()
  endif()
endfunction()

# heddle_skip_test(<test> <label> <why>): a test that says why it does not run.
function(heddle_skip_test test labels why)
  add_test(NAME ${test} COMMAND sh -c "echo 'skipped: ${why}'; exit 77")
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77)
endfunction()

# heddle_test_nvcc(<variable> <test> <label>): the nvcc that makes PTX and CUDA programs for tests. Nothing else of CUDA is
# asked for, so HEDDLE_EXEC_NVCC may name one where all else is built without. Where there is none the variable is
# empty, and the test in the place of those that need it says so.
function(heddle_test_nvcc variable test label)
  set(nvcc "${HEDDLE_EXEC_NVCC}")
  if(HEDDLE_HAS_CUDA)
    set(nvcc "${CMAKE_CUDA_COMPILER}")
  endif()
  if(NOT nvcc)
    heddle_skip_test(${test} ${label} "built without nvcc, which makes the PTX")
  endif()
  set(${variable} "${nvcc}" PARENT_SCOPE)
endfunction()

# heddle_add_ptx(<output> <source> <arch> <nvcc>): PTX of a kernel of this repository.
function(heddle_add_ptx output source arch nvcc)
  add_custom_command(OUTPUT "${output}"
    COMMAND "${nvcc}" -std=c++20 --expt-relaxed-constexpr -arch=sm_${arch} -lineinfo -ptx
      "-I${heddle_SOURCE_DIR}/include" "-I${heddle_SOURCE_DIR}/kernels" "${source}" -o "${output}" -MD -MF "${output}.d"
    DEPENDS "${source}" DEPFILE "${output}.d" VERBATIM)
endfunction()
