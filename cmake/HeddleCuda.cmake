# CUDA as an optional language. Sets HEDDLE_HAS_CUDA; everything that needs nvcc asks that variable.
#
# HEDDLE_CUDA says whether to use it: AUTO where nvcc is found, ON or stop, OFF. HEDDLE_CUDA_ARCHS lists the
# architectures that device code is compiled for.

set(HEDDLE_HAS_CUDA OFF)
if(NOT HEDDLE_CUDA)
  return()
endif()

# Asked before the language is enabled, because CMake stops at a compiler that does not work.
if(CMAKE_CUDA_COMPILER)
  set(nvcc "${CMAKE_CUDA_COMPILER}")
elseif(DEFINED ENV{CUDACXX})
  set(nvcc "$ENV{CUDACXX}")
else()
  find_program(HEDDLE_NVCC nvcc PATHS /usr/local/cuda/bin DOC "The CUDA compiler" NO_CMAKE_SYSTEM_PATH)
  mark_as_advanced(HEDDLE_NVCC)
  set(nvcc "${HEDDLE_NVCC}")
endif()
set(problem "there is no nvcc on PATH or in /usr/local/cuda/bin")
if(nvcc)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE nvcc_says RESULT_VARIABLE status ERROR_QUIET)
  set(problem "")
  if(NOT status EQUAL 0 OR NOT nvcc_says MATCHES "release ([0-9.]+)")
    set(problem "${nvcc} --version fails")
  elseif(CMAKE_MATCH_1 VERSION_LESS 13.0)
    set(problem "${nvcc} is version ${CMAKE_MATCH_1}, and device code needs 13.0 or later")
  endif()
endif()
if(problem AND HEDDLE_CUDA STREQUAL "AUTO")
  message(STATUS "heddle: no device code: ${problem}")
  return()
elseif(problem)
  message(FATAL_ERROR "HEDDLE_CUDA is ON, but ${problem}. Install the CUDA Toolkit 13 (NVIDIA's package "
    "cuda-toolkit-13-0), set CUDACXX to its nvcc, or set HEDDLE_CUDA to AUTO or OFF.")
endif()

# The default of older CMakes is an architecture that nvcc 13 has dropped.
list(TRANSFORM HEDDLE_CUDA_ARCHS APPEND "-real" OUTPUT_VARIABLE CMAKE_CUDA_ARCHITECTURES)
set(CMAKE_CUDA_COMPILER "${nvcc}")
enable_language(CUDA)
set(HEDDLE_HAS_CUDA ON)

# How every device translation unit is compiled. C++20 is spelt out because CMake before 3.26 does not know
# that nvcc has it.
add_library(heddle_device INTERFACE)
target_link_libraries(heddle_device INTERFACE heddle::heddle)
target_compile_options(heddle_device INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-Xptxas=-v;-Xcompiler=-Wall>")
if(HEDDLE_WERROR)
  target_compile_options(heddle_device INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()

list(JOIN HEDDLE_CUDA_ARCHS ", sm_" _heddle_archs)
message(STATUS "heddle: device code for sm_${_heddle_archs} with nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
unset(_heddle_archs)
