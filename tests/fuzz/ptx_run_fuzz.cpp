// SPDX-License-Identifier: Apache-2.0
//
// PTX text that can be loaded is run, too: each of its first entries, a few instructions of two small CTAs. It
// ends well, with a report, or is refused with InputError.
#include <heddle/host/error.h>
#include <heddle/sim/ptx.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle;
  // Parameters are addresses of this, whatever a kernel takes them for.
  alignas(128) static std::byte bytes[4096];
  static sim::GlobalMemory memory = [] {
    sim::GlobalMemory all;
    all.add("bytes", bytes, sizeof(bytes));
    return all;
  }();
  try {
    const auto module = sim::PtxModule::load(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
    std::size_t run = 0;
    for (const sim::PtxEntry& entry : module.entries()) {
      if (++run > 3 || entry.parameter_bytes > 4096) break;
      std::vector<std::byte*> parameters(entry.parameter_bytes / sizeof(std::byte*) + 1, bytes);
      const bool is_sm100 = module.target().starts_with("sm_10");
      const sim::LaunchOptions options{
          .memory = &memory, .arch = is_sm100 ? Arch::kSm100 : Arch::kSm90, .max_steps = 2000};
      try {
        const sim::Report report = module.launch(
            entry.name, options,
            {.grid = {2}, .block = {64}, .dynamic_shared_bytes = 2048, .print = [](std::string_view) {}},
            parameters.data(), entry.parameter_bytes);
        (void)report.text();
      } catch (const InputError&) {
      }
    }
  } catch (const InputError&) {
  }
  return 0;
}
