# Sources of what HEDDLE_UNITY lists are compiled together: most of the compilation were the same headers and the same
# templates, again and again. The sanitizers' build does so with all, the build by g++ with programs and tests. The library
# it compiles file by file, as users do, and so says what is not included.
if(HEDDLE_UNITY STREQUAL "ON")
  set(HEDDLE_UNITY library programs tests)
endif()
foreach(part IN LISTS HEDDLE_UNITY)
  if(NOT part MATCHES "^(library|programs|tests|OFF)$")
    message(FATAL_ERROR "HEDDLE_UNITY has '${part}'; ON, OFF, or a list of library, programs and tests")
  endif()
endforeach()

# heddle_unity_groups(<variable> <part> <source>...): elements "<group> <source>", as unity_groups.py says, where
# HEDDLE_UNITY has the part.
function(heddle_unity_groups variable part)
  set(${variable} "" PARENT_SCOPE)
  if(NOT part IN_LIST HEDDLE_UNITY OR NOT ARGN)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/unity_groups.py" 100000 ${ARGN}
    OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" groups "${groups}")
  set(${variable} "${groups}" PARENT_SCOPE)
  # What one file has for itself may be called as a variable of another. Linked last, this comes after the warnings.
  if(NOT TARGET heddle_united)
    add_library(heddle_united INTERFACE)
    target_compile_options(heddle_united INTERFACE -Wno-shadow)
  endif()
endfunction()

# heddle_unite(<target> <part> <source>...): these sources of the target.
function(heddle_unite target part)
  heddle_unity_groups(groups ${part} ${ARGN})
  if(NOT groups)
    return()
  endif()
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([0-9]+) (.+)$" line "${line}")
    set_source_files_properties("${CMAKE_MATCH_2}" PROPERTIES UNITY_GROUP "${CMAKE_MATCH_1}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:heddle_united>)
endfunction()
