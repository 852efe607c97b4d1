// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>

#include <fmt/format.h>

#include <charconv>

namespace heddle::sim {

Schedule Schedule::parse(std::string_view text) {
  if (text == "rr") return round_robin();
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    throw InputError(fmt::format(
        "schedule '{}': expected 'rr' or a seed of 1 to 16 hexadecimal digits, such as 7f3a91c4", text));
  }
  return random(seed);
}

std::string Schedule::name() const { return kind == Kind::kRoundRobin ? "rr" : fmt::format("{:x}", seed); }

}  // namespace heddle::sim
