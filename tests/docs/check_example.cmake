# Code in documents is that of examples which are compiled and run.
cmake_minimum_required(VERSION 3.25)

# The part of `source` between two lines "// [marker]" stands in `document` as it is.
function(expect_same document source marker)
  file(READ "${ROOT}/${document}" text)
  file(READ "${ROOT}/${source}" example)
  string(REGEX MATCH "// \\[${marker}\\]\n(.*\n) *// \\[${marker}\\]" matched "${example}")
  set(part "${CMAKE_MATCH_1}")
  string(FIND "${text}" "```cpp\n${part}```" place)
  if(part STREQUAL "" OR place EQUAL -1)
    message(SEND_ERROR "the ${marker} in ${document} differs from the one in ${source}")
  endif()
endfunction()

expect_same(README.md examples/01_pipeline.cu kernel)
expect_same(docs/guide.md examples/own_payload.h payload)
expect_same(docs/guide.md tests/package/consumer/multiply.cpp multiply)
expect_same(docs/guide.md examples/hopper_tiles.h multiply)
