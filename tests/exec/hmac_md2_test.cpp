// SPDX-License-Identifier: Apache-2.0
#include "runtime/hmac_md2.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace heddle::runtime {
namespace {

std::span<const std::uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string hex(const Md2Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

// RFC 1319, A.5.
TEST(HmacMd2, DigestsAreThoseOfTheRfc) {
  EXPECT_EQ(hex(md2(bytes(""))), "8350e5a3e24c153df2275c9f80692773");
  EXPECT_EQ(hex(md2(bytes("abc"))), "da853b0d3f88d99b30283a69e6ded6bb");
  EXPECT_EQ(hex(md2(bytes("message digest"))), "ab4f496bfb2a530b219ff33031fe06b0");
  EXPECT_EQ(hex(md2(bytes("abcdefghijklmnopqrstuvwxyz"))), "4e8ddff3650292ab5a4108c3aa47940b");
}

// RFC 2104: the digest of the outer key and the digest of the inner key and the message.
TEST(HmacMd2, KeyIsMixedInTwice) {
  Md2Digest key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  std::string inner;
  std::string outer;
  for (const std::uint8_t byte : key) inner += static_cast<char>(byte ^ 0x36);
  for (const std::uint8_t byte : key) outer += static_cast<char>(byte ^ 0x5C);
  const Md2Digest first = md2(bytes(inner + "message"));
  outer.append(first.begin(), first.end());
  EXPECT_EQ(hmac_md2(key, bytes("message")), md2(bytes(outer)));
  EXPECT_NE(hmac_md2(key, bytes("message")), hmac_md2(key, bytes("massage")));
}

}  // namespace
}  // namespace heddle::runtime
