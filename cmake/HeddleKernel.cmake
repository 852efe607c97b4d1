# heddle_add_kernel(<name> <file.cu> [ARCHS <arch>...] [LIBRARIES <target>...])
#
# One source, two targets: <name>_sim is the file as plain C++ for the simulated SM; where the project has CUDA as a
# language, <name>_gpu is the same file compiled by nvcc. Both are object libraries: link the one you want, or both, into
# a program or a shared library.
# ARCHS narrows the architectures (HEDDLE_CUDA_ARCHS, or 90a and 100a) for a kernel that not all of them can run; where
# none is left, there is no <name>_gpu. What ptxas says about a kernel is kept in <object>.ptxas, and a test,
# device.<name>.has_no_spills, asks it for spills, local memory and serialised wgmmas (C75xx).
function(heddle_add_kernel name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ARCHS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_add_kernel(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  if(NOT EXISTS "${source}")
    message(FATAL_ERROR "heddle_add_kernel(${name}): there is no file ${source}")
  endif()

  # A source file has one language per directory, so the C++ compiler reads the kernel through a file of its
  # own that includes it.
  set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/${name}_sim.cpp")
  file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"@source@\"\n" @ONLY)
  add_library(${name}_sim OBJECT "${wrapper}")
  target_link_libraries(${name}_sim PUBLIC ${arg_LIBRARIES})
  heddle_set_simulated_target(${name}_sim)
  if(TARGET heddle_kernel_precompiled)  # in this project's own build
    heddle_reuse_precompiled(${name}_sim heddle_kernel_precompiled)
  endif()

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CUDA" IN_LIST languages OR (DEFINED HEDDLE_HAS_CUDA AND NOT HEDDLE_HAS_CUDA))
    return()
  endif()
  set(archs ${HEDDLE_CUDA_ARCHS})
  if(NOT archs)
    set(archs 90a 100a)
  endif()
  if(arg_ARCHS)
    list(JOIN arg_ARCHS "|" wanted)
    list(FILTER archs INCLUDE REGEX "^(${wanted})$")
  endif()
  if(NOT archs)
    return()
  endif()
  add_library(${name}_gpu OBJECT "${source}")
  set_target_properties(${name}_gpu PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name}_gpu PUBLIC heddle::heddle ${arg_LIBRARIES} PRIVATE ${heddle_kernel_cuda_options})
  # C++20 is spelt out because CMake before 3.26 does not know that nvcc has it.
  target_compile_options(${name}_gpu PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-Xptxas=-v>")
  heddle_set_device_target(${name}_gpu ARCHS ${archs})
  if(HEDDLE_TESTS OR NOT DEFINED HEDDLE_TESTS)
    add_test(NAME device.${name}.has_no_spills COMMAND ${CMAKE_COMMAND}
      "-DREPORTS=$<JOIN:$<TARGET_OBJECTS:${name}_gpu>,.ptxas$<SEMICOLON>>.ptxas"
      -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_ptxas.cmake")
    set_tests_properties(device.${name}.has_no_spills PROPERTIES LABELS device)
  endif()
endfunction()

# heddle_link_kernels(<program> <name>...)
#
# Links kernels into a C++ program: for the simulated SM always, for the GPU where they were built for it. Then
# HEDDLE_WITH_CUDA is 1 in the program's sources, otherwise 0.
function(heddle_link_kernels program)
  set(with_cuda 0)
  foreach(name IN LISTS ARGN)
    target_link_libraries(${program} PRIVATE ${name}_sim)
    if(TARGET ${name}_gpu)
      target_link_libraries(${program} PRIVATE ${name}_gpu)
      set(with_cuda 1)
    endif()
  endforeach()
  target_compile_definitions(${program} PRIVATE HEDDLE_WITH_CUDA=${with_cuda})
  if(with_cuda)
    set_target_properties(${program} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
  endif()
endfunction()

# The settings that every target with kernels for the simulated SM shares.
function(heddle_set_simulated_target target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PUBLIC heddle::sim PRIVATE ${heddle_kernel_cxx_options})
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # It spends its time in the simulated SM; optimising checked code takes four times as long as compiling it.
    target_compile_options(${target} PRIVATE -O0)
  elseif(HEDDLE_TESTS)
    target_compile_options(${target} PRIVATE "$<$<CONFIG:RelWithDebInfo>:-O1>")  # likewise: in two thirds
  endif()
endfunction()

# The settings that every target with device code shares.
function(heddle_set_device_target target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ARCHS")
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${HEDDLE_CUDA_ARCHS})
  endif()
  list(TRANSFORM arg_ARCHS APPEND "-real")
  set_target_properties(${target} PROPERTIES
    CUDA_ARCHITECTURES "${arg_ARCHS}"
    CUDA_RUNTIME_LIBRARY Static
    CUDA_COMPILER_LAUNCHER "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/keep_ptxas.sh")
endfunction()
