# Compiles SNIPPET with its mistake, with COMPILER, which is of a KIND (gcc, clang or nvcc): see CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

set(options -fsyntax-only)
if(KIND STREQUAL "nvcc")
  # Host code too: only in the pass for it does nvcc write members by name.
  set(options -x cu -arch=sm_90a -c -o /dev/null)
endif()

file(STRINGS "${SNIPPET}" expected REGEX "^// expect: ")
list(TRANSFORM expected REPLACE "^// expect: " "")
if(NOT expected)
  message(FATAL_ERROR "${SNIPPET} has no line that begins with '// expect: '")
endif()

execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${INCLUDE}" ${options} -DMISUSE "${SNIPPET}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "the misuse builds with ${COMPILER}")
endif()
foreach(pattern IN LISTS expected)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "the errors of ${COMPILER} do not match '${pattern}':\n${output}")
  endif()
endforeach()
