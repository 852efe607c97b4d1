// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/guided.h"
#include "sim/frontend/executor.h"
#include "sim/frontend/ptx/instead.h"

#include <heddle/host/error.h>
#include <heddle/isa/cluster.h>
#include <heddle/sim/accept.h>
#include <heddle/sim/launch.h>
#include <heddle/sim/trace.h>

#include <fmt/format.h>

namespace heddle::sim {

void check_launch(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("launch of {}: {}", options.kernel, why));
  };
  const auto has_zero = [](const isa::Dim3& d) { return d.x == 0 || d.y == 0 || d.z == 0; };
  if (has_zero(shape.grid)) {
    refuse(fmt::format("a grid of {}x{}x{} CTAs; each extent is at least 1", shape.grid.x, shape.grid.y,
                       shape.grid.z));
  }
  if (has_zero(shape.cluster)) {
    refuse(fmt::format("a cluster of {}x{}x{} CTAs; each extent is at least 1", shape.cluster.x, shape.cluster.y,
                       shape.cluster.z));
  }
  if (shape.grid.x % shape.cluster.x != 0 || shape.grid.y % shape.cluster.y != 0 ||
      shape.grid.z % shape.cluster.z != 0) {
    refuse(fmt::format("a grid of {}x{}x{} CTAs does not divide into clusters of {}x{}x{}", shape.grid.x,
                       shape.grid.y, shape.grid.z, shape.cluster.x, shape.cluster.y, shape.cluster.z));
  }
  constexpr std::uint32_t kMaxGridX = 0x7fffffff;
  constexpr std::uint32_t kMaxGridYZ = 65535;
  if (shape.grid.x > kMaxGridX || shape.grid.y > kMaxGridYZ || shape.grid.z > kMaxGridYZ) {
    refuse(fmt::format("a grid of {}x{}x{} CTAs; at most {}x{}x{}", shape.grid.x, shape.grid.y, shape.grid.z,
                       kMaxGridX, kMaxGridYZ, kMaxGridYZ));
  }
  // A cluster is no larger than the grid, so the product fits.
  const std::uint64_t cluster = std::uint64_t{shape.cluster.x} * shape.cluster.y * shape.cluster.z;
  if (cluster > isa::kMaxCluster) {
    refuse(fmt::format("a cluster of {} CTAs; at most {} ({} on every card)", cluster, isa::kMaxCluster,
                       isa::kMaxPortableCluster));
  }
  if (entry.max_threads != 0 && entry.threads > entry.max_threads) {
    refuse(fmt::format("{} threads in a CTA; the kernel's kThreads is {}", entry.threads, entry.max_threads));
  }
  if (entry.threads == 0 || entry.threads > machine::kMaxThreads) {
    refuse(fmt::format("{} threads in a CTA; 1 to {}", entry.threads, machine::kMaxThreads));
  }
  if (const std::size_t most = max_shared_bytes(options.arch); entry.shared_bytes > most) {
    refuse(fmt::format("{} bytes of shared memory; a CTA has {}: {} too many", entry.shared_bytes, most,
                       entry.shared_bytes - most));
  }
  if (entry.shared_alignment > machine::kSharedBase) {
    refuse(fmt::format("shared memory aligned to {} bytes; at most {}", entry.shared_alignment,
                       machine::kSharedBase));
  }
  if (options.sms == 0) refuse("no SM to run on; sms is at least 1");
  if (options.stack_bytes != 0 &&
      (options.stack_bytes < frontend::kMinStackBytes || options.stack_bytes > frontend::kMaxStackBytes)) {
    refuse(fmt::format("stack_bytes of {}; {} to {}, or 0 for {}", options.stack_bytes, frontend::kMinStackBytes,
                       frontend::kMaxStackBytes, frontend::kStackBytes));
  }
  for (const std::string& text : options.accepted) {
    try {
      AcceptRule::parse(text);
    } catch (const InputError& error) {
      refuse(error.what());
    }
  }
}

Report launch_entry(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                    const void* params) {
  check_launch(options, shape, entry);
  if (ptx::instead != nullptr) return ptx::instead->launch(options, shape, entry, params);
  frontend::Executor executor(options, shape, entry, params);
  return executor.run();
}

void check_run(const RunOptions& options) {
  Schedule::parse(options.schedule);
  for (const std::string& text : options.accepted) AcceptRule::check(text);
}

RunOutcome run_entry(const RunOptions& options, const GlobalMemory& memory, const LaunchShape& shape,
                     const KernelEntry& entry, const void* params) {
  LaunchOptions how{.memory = &memory,
                    .schedule = Schedule::parse(options.schedule),
                    .arch = options.arch,
                    .sms = options.sms,
                    .kernel = options.kernel,
                    .again = options.again,
                    .check_races = options.check_races,
                    .strict = options.strict,
                    .accepted = options.accepted,
                    .trace = Tracing::current()};
  explore::Guided::guide(how);
  const Report report = launch_entry(how, shape, entry, params);
  explore::Guided::show(report);
  return {.report = report.text(),
          .remarks = report.remarks(),
          .thread_switches = report.stats.thread_switches,
          .instructions = report.stats.instructions,
          .copies = report.stats.copies,
          .copy_bytes = report.stats.copy_bytes,
          .steps = report.stats.steps,
          .warps = report.stats.ctas * ((entry.threads + 31) / 32)};
}

}  // namespace heddle::sim
