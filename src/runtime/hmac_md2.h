// SPDX-License-Identifier: Apache-2.0
//
// HMAC (RFC 2104) over MD2 (RFC 1319): what a CUDA runtime asks of its driver at the start. Nothing is protected
// by it here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::runtime {

using Md2Digest = std::array<std::uint8_t, 16>;

Md2Digest md2(std::span<const std::uint8_t> message);

// The key is one block of MD2 long.
Md2Digest hmac_md2(const Md2Digest& key, std::span<const std::uint8_t> message);

}  // namespace heddle::runtime
