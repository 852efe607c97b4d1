# heddle_precompile(<target> [<header>...])
#
# With HEDDLE_PRECOMPILE, compiles for the target, once, the headers of others that most files include, and those that
# are named. Users build without.
function(heddle_precompile target)
  if(NOT HEDDLE_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <optional> <string>
    <unordered_map> <vector> <fmt/format.h> ${ARGN})
  heddle_show_precompiled(${target})
endfunction()

# heddle_reuse_precompiled(<target> <other>): the same with what was compiled for another target of the same options.
function(heddle_reuse_precompiled target other)
  if(NOT HEDDLE_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${other})
  heddle_show_precompiled(${target})
endfunction()

# Lets ccache, where it is installed, see what was precompiled. Where g++ optimises what was, it warns of the standard
# library's own strings (GCC bug 105651); without HEDDLE_PRECOMPILE these warnings stay.
function(heddle_show_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess
      -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()
