# Judges what a compiler says of one snippet, correct and misused. Called as
#   cmake -DKIND=<clang|nvcc> -DSNIPPET=<file> -DSAID=<path> -P check_snippet.cmake
# where <path>.correct and <path>.misuse hold what it said, or, to compile the snippet alone, as
#   cmake -DKIND=<clang|nvcc> -DSNIPPET=<file> -P check_snippet.cmake -- <compiler> <option>...
#
# As it stands the snippet must compile without a word. With MISUSE defined it must not compile; every
# `// expect-<kind>:` line of the snippet must appear in what the compiler says, and every error must be one of
# those: a snippet that fails for another reason has not been caught. A snippet with a `// clang-cannot-tell:`
# line is one whose misuse clang is known to accept; when clang does see it, the line has to go.
set(command "")
set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()

# Reads the texts after `// <word>: `. Semicolons would split them as list elements.
function(read_words word out)
  file(STRINGS "${SNIPPET}" lines REGEX "^// ${word}: ")
  list(TRANSFORM lines REPLACE "^// ${word}: " "")
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()
read_words("expect-${KIND}" expected)
read_words("${KIND}-cannot-tell" cannot_tell)
if(NOT expected AND NOT cannot_tell)
  message(FATAL_ERROR "${SNIPPET} does not say what ${KIND} must print: add a line `// expect-${KIND}: <text>`")
endif()

# Sets `status` and `said`. Indented, because CMake reflows messages that are not.
macro(compile version)
  if(SAID)
    if(NOT EXISTS "${SAID}.${version}")
      message(FATAL_ERROR "${SAID}.${version} is missing: the batch has not been compiled")
    endif()
    file(READ "${SAID}.${version}" said)
    set(status 0)
    if(said MATCHES "error")
      set(status 1)
    endif()
  else()
    execute_process(COMMAND ${command} ${ARGN} "${SNIPPET}" RESULT_VARIABLE status
      OUTPUT_VARIABLE said ERROR_VARIABLE said)
  endif()
  string(REPLACE "\n" "\n  " said "${said}")
endmacro()

compile(correct)
if(NOT status EQUAL 0 OR NOT said STREQUAL "")
  message(FATAL_ERROR "the correct version must compile without a warning, but ${KIND} says:\n  ${said}")
endif()

compile(misuse -DMISUSE)
if(cannot_tell)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${KIND} is listed as unable to see this misuse (${cannot_tell}), but it says:\n  ${said}")
  endif()
  return()
endif()
if(status EQUAL 0)
  message(FATAL_ERROR "the misuse compiles; ${KIND} must refuse it with: ${expected}")
endif()
foreach(text IN LISTS expected)
  string(FIND "${said}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the misuse does not compile, but nothing says\n  ${text}\n${KIND} says:\n  ${said}")
  endif()
endforeach()

string(REGEX REPLACE "[][;]" " " lines "${said}")
string(REPLACE "\n" ";" lines "${lines}")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "error *(#[0-9]+-D)?:")
    continue()
  endif()
  set(is_expected FALSE)
  foreach(text IN LISTS expected)
    string(FIND "${line}" "${text}" at)
    if(NOT at EQUAL -1)
      set(is_expected TRUE)
    endif()
  endforeach()
  if(NOT is_expected)
    message(FATAL_ERROR "the misuse is refused for another reason too:\n  ${line}\n${KIND} says:\n  ${said}")
  endif()
endforeach()
