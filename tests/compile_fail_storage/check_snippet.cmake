# Judges what COMPILER, which is of a KIND (gcc, clang or nvcc), says of SNIPPET with its mistake: see CMakeLists.txt. The
# file SAID has what it said of the snippet among all others (batch.py). Where that is not enough the snippet is compiled
# alone.
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

# Sets `missing` to the first pattern that is not in the text.
function(find_missing text)
  set(missing "")
  foreach(pattern IN LISTS expected)
    if(NOT text MATCHES "${pattern}")
      set(missing "${pattern}")
      break()
    endif()
  endforeach()
  set(missing "${missing}" PARENT_SCOPE)
endfunction()

file(READ "${SAID}" output)
find_missing("${output}")
if(missing STREQUAL "")
  return()
endif()

execute_process(COMMAND "${COMPILER}" -std=c++20 "-I${INCLUDE}" ${options} -DMISUSE "${SNIPPET}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "the misuse builds with ${COMPILER}")
endif()
find_missing("${output}")
if(NOT missing STREQUAL "")
  message(FATAL_ERROR "the errors of ${COMPILER} do not match '${missing}':\n${output}")
endif()
