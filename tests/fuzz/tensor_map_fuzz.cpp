// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps: any 128 bytes are decoded or refused, and a specification that passes its check survives encoding.
#include <heddle/host/tensor_map.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle;
  TensorMap map = {};
  std::memcpy(&map, data, size < sizeof(map) ? size : sizeof(map));
  const isa::DecodedTensorMap decoded = isa::tensor_map_decode(map);
  if (decoded.state != isa::TensorMapState::kFine) return 0;
  for (const std::uint32_t sm : {90u, 100u}) {
    if (const TensorMapFault fault = check(decoded.spec, sm)) {
      (void)message(fault, decoded.spec);
      continue;
    }
    TensorMap again = {};
    isa::tensor_map_encode_tiled(again, decoded.spec);
    if (isa::tensor_map_decode(again).state != isa::TensorMapState::kFine) __builtin_trap();
  }
  return 0;
}
