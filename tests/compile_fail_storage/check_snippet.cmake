# Compiles SNIPPET twice with COMPILER, which is of a KIND (gcc, clang or nvcc): see CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

if(KIND STREQUAL "nvcc")
  # For the error host code too: only in the pass for it does nvcc write members by name.
  set(correct_options -x cu -arch=sm_90a -cubin -o /dev/null)
  set(misuse_options -x cu -arch=sm_90a -c -o /dev/null)
else()
  set(correct_options -fsyntax-only -Wall -Wextra -Werror)
  set(misuse_options -fsyntax-only)
endif()

file(STRINGS "${SNIPPET}" expected REGEX "^// expect: ")
list(TRANSFORM expected REPLACE "^// expect: " "")
if(NOT expected)
  message(FATAL_ERROR "${SNIPPET} has no line that begins with '// expect: '")
endif()

execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${INCLUDE}" ${correct_options} "${SNIPPET}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the correct version does not build with ${COMPILER}:\n${output}")
endif()

execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${INCLUDE}" ${misuse_options} -DMISUSE "${SNIPPET}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "the misuse builds with ${COMPILER}")
endif()
foreach(pattern IN LISTS expected)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "the errors of ${COMPILER} do not match '${pattern}':\n${output}")
  endif()
endforeach()
