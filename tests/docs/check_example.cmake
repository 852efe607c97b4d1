# The kernel in the README is the one in examples/01_pipeline.cu, which is compiled and run.
cmake_minimum_required(VERSION 3.25)
file(READ "${ROOT}/README.md" readme)
file(READ "${ROOT}/examples/01_pipeline.cu" example)
string(REGEX MATCH "// \\[kernel\\]\n(.*)// \\[kernel\\]" matched "${example}")
string(FIND "${readme}" "```cpp\n${CMAKE_MATCH_1}```" place)
if(CMAKE_MATCH_1 STREQUAL "" OR place EQUAL -1)
  message(FATAL_ERROR "the kernel in README.md differs from the one in examples/01_pipeline.cu")
endif()
