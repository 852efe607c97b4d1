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

# heddle_precompile_kernels(): compiles for all kernels in the simulated SM what each of them includes. nvcc, which compiles
# the same files without, asks for the includes that this would hide. To be called before the first heddle_add_kernel.
function(heddle_precompile_kernels)
  if(HEDDLE_PRECOMPILE)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/kernel_precompiled.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(heddle_kernel_precompiled OBJECT "${source}")
    heddle_set_simulated_target(heddle_kernel_precompiled)
    target_precompile_headers(heddle_kernel_precompiled PRIVATE <heddle/heddle.h> <heddle/host.h>)
    heddle_show_precompiled(heddle_kernel_precompiled)
  endif()
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
