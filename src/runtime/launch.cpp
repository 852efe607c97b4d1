// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.h"

#include "runtime/device.h"
#include "runtime/options.h"
#include "runtime/report_code.h"
#include "runtime/reports.h"
#include "runtime/trace.h"
#include "runtime/version.h"

#include "sim/explore/repeat.h"
#include "sim/machine/volume.h"

#include <heddle/host/error.h>
#include <heddle/isa/cluster.h>
#include <heddle/sim/history.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>

namespace heddle::runtime {

namespace {

using sim::volume;

bool has_zero(const isa::Dim3& dims) { return dims.x == 0 || dims.y == 0 || dims.z == 0; }

std::string text_of(const isa::Dim3& dims) { return fmt::format("{}x{}x{}", dims.x, dims.y, dims.z); }

struct Refusal {
  Error error = Error::kSuccess;
  std::string why;
};

// A kernel may print without end: what is not shown by then is shown before the host waits.
constexpr std::size_t kMostPrinted = std::size_t{1} << 20;

// What hardware refuses before anything runs, and with which code.
Refusal check_shape(const Kernel& kernel, const sim::PtxEntry& entry, const LaunchRequest& request,
                    const isa::Dim3& cluster) {
  const auto& [grid, block] = std::pair(request.grid, request.block);
  // What CUDA 13 gave for all of these on an H200; CUDA 12 documents a code of its own.
  const Error bad_shape = cudart_major() >= 13 ? Error::kInvalidValue : Error::kInvalidConfiguration;
  if (has_zero(grid) || grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) {
    return {bad_shape, fmt::format("a grid of {} CTAs; 1x1x1 to {}x{}x{}", text_of(grid), kMaxGridX, kMaxGridYZ,
                                   kMaxGridYZ)};
  }
  if (has_zero(block) || block.x > kMaxBlockXY || block.y > kMaxBlockXY || block.z > kMaxBlockZ ||
      volume(block) > kMaxThreads) {
    return {bad_shape, fmt::format("a block of {} threads; at most {} in all and {} in z", text_of(block),
                                   kMaxThreads, kMaxBlockZ)};
  }
  if (entry.max_threads != 0 && volume(block) > entry.max_threads) {
    return {Error::kInvalidValue,
            fmt::format("{} threads in a CTA; its launch bounds allow {}", volume(block), entry.max_threads)};
  }
  if (!has_zero(entry.required_block) && block != entry.required_block) {
    return {Error::kInvalidValue,
            fmt::format("a block of {} threads; it requires {}", text_of(block), text_of(entry.required_block))};
  }
  if (const std::size_t most = max_dynamic_shared(kernel, entry); request.dynamic_shared > most) {
    return {Error::kInvalidValue,
            fmt::format("{} bytes of dynamic shared memory; {} are allowed beside {} static ones. "
                        "cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize allows up to {}",
                        request.dynamic_shared, most, entry.static_shared_bytes,
                        max_shared_bytes(options().arch) - entry.static_shared_bytes)};
  }
  if (has_zero(cluster)) {
    return {Error::kInvalidClusterSize, fmt::format("a cluster of {} CTAs; at least 1x1x1", text_of(cluster))};
  }
  const std::uint32_t most = kernel.allows_nonportable_cluster ? isa::kMaxCluster : isa::kMaxPortableCluster;
  if (volume(cluster) > most) {
    return {Error::kInvalidClusterSize,
            fmt::format("a cluster of {} CTAs; at most {}, or {} with "
                        "cudaFuncAttributeNonPortableClusterSizeAllowed",
                        text_of(cluster), isa::kMaxPortableCluster, isa::kMaxCluster)};
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return {Error::kInvalidClusterSize, fmt::format("a grid of {} CTAs does not divide into clusters of {}",
                                                    text_of(grid), text_of(cluster))};
  }
  if (!has_zero(entry.required_cluster) && cluster != entry.required_cluster) {
    return {Error::kInvalidClusterSize, fmt::format("a cluster of {} CTAs; it requires {}", text_of(cluster),
                                                    text_of(entry.required_cluster))};
  }
  if (request.is_cooperative) {
    const auto room =
        static_cast<std::uint64_t>(resident_ctas(entry, volume(block), request.dynamic_shared)) * options().sms;
    if (volume(grid) > room) {
      return {Error::kCooperativeLaunchTooLarge,
              fmt::format("{} CTAs that wait for one another; {} SMs have room for {}", volume(grid),
                          options().sms, room)};
    }
  }
  return {};
}

std::vector<std::byte> gather(const sim::PtxEntry& entry, const LaunchRequest& request) {
  std::vector<std::byte> bytes(entry.parameter_bytes);
  if (request.buffer != nullptr) {
    if (request.buffer_bytes != bytes.size()) {
      throw InputError(fmt::format("launch of {}: {} bytes of parameters; it takes {}", readable(entry.name),
                                   request.buffer_bytes, bytes.size()));
    }
    std::memcpy(bytes.data(), request.buffer, bytes.size());
    return bytes;
  }
  if (request.arguments == nullptr && !bytes.empty()) {
    throw InputError(fmt::format("launch of {}: no parameters; it takes {}", readable(entry.name),
                                 entry.parameter_offsets.size()));
  }
  for (std::size_t p = 0; p < entry.parameter_offsets.size(); ++p) {
    if (request.arguments[p] == nullptr) {
      throw InputError(fmt::format("launch of {}: parameter {} of {} is a null pointer", readable(entry.name), p,
                                   entry.parameter_offsets.size()));
    }
    std::memcpy(bytes.data() + entry.parameter_offsets[p], request.arguments[p], entry.parameter_sizes[p]);
  }
  return bytes;
}

// With the token's program in it, and the launch if each has a schedule of its own.
std::string again_of(const Options& asked, std::uint64_t launch) {
  const std::size_t slot = asked.again.find("{}");
  if (slot == std::string::npos || asked.program.empty()) return asked.again;
  const bool is_one = asked.schedules != 0 || asked.exhaust != 0 || asked.replay.launch != 0;
  return std::string(asked.again)
      .replace(slot, 2, fmt::format("{{}}@{}{}", asked.program, is_one ? fmt::format("#{}", launch) : ""));
}

}  // namespace

const sim::PtxEntry* load_entry(State& card, const Kernel& kernel, Error& error) {
  error = kernel.module->load(card.memory);
  if (error != Error::kSuccess) return nullptr;
  const sim::PtxEntry* entry = kernel.module->entry(kernel);
  if (entry == nullptr) {
    say(fmt::format("the PTX for sm_{} has no kernel {}", options().sm(), readable(kernel.name)));
    error = Error::kInvalidDeviceFunction;
  }
  return entry;
}

std::size_t max_dynamic_shared(const Kernel& kernel, const sim::PtxEntry& entry) {
  if (kernel.max_dynamic_shared) return *kernel.max_dynamic_shared;
  return kDefaultShared - std::min(kDefaultShared, entry.static_shared_bytes);
}

int resident_ctas(const sim::PtxEntry& entry, std::uint64_t threads, std::size_t dynamic_shared) {
  if (threads == 0 || threads > kMaxThreads || (entry.max_threads != 0 && threads > entry.max_threads)) return 0;
  const std::size_t shared = entry.static_shared_bytes + dynamic_shared;
  if (shared > max_shared_bytes(options().arch)) return 0;
  const std::uint64_t warps = (threads + 31) / 32;
  const std::uint64_t by_warps = kMaxThreadsPerSm / 32 / warps;
  const std::uint64_t by_shared = kSharedPerSm / (shared + kReservedShared);
  return static_cast<int>(std::min<std::uint64_t>({by_warps, by_shared, kMaxCtasPerSm}));
}

Error prepare(State& card, const Kernel& kernel, const LaunchRequest& request, LaunchWork& work) {
  Error error = Error::kSuccess;
  const sim::PtxEntry* entry = load_entry(card, kernel, error);
  if (entry == nullptr) return error;
  if (!entry->unsupported.empty()) {
    say(entry->unsupported);
    return Error::kNotSupported;
  }
  isa::Dim3 cluster = request.cluster;
  if (cluster.x == 0 && cluster.y == 0 && cluster.z == 0) {
    cluster = has_zero(entry->required_cluster) ? isa::Dim3{} : entry->required_cluster;
  }
  if (const Refusal refusal = check_shape(kernel, *entry, request, cluster); refusal.error != Error::kSuccess) {
    say(fmt::format("launch of {}: {}", readable(kernel.name), refusal.why));
    return refusal.error;
  }
  work = {.kernel = &kernel,
          .module = kernel.module,
          .module_number = kernel.module->number,
          .request = request,
          .parameters = gather(*entry, request),
          .offsets = {entry->parameter_offsets.begin(), entry->parameter_offsets.end()}};
  work.request.cluster = cluster;
  work.request.arguments = nullptr;
  work.request.buffer = nullptr;
  return Error::kSuccess;
}

Error launch(State& card, const Kernel& kernel, const LaunchRequest& request) {
  show_printed(card);
  LaunchWork work;
  if (const Error error = prepare(card, kernel, request, work); error != Error::kSuccess) {
    card.captures.invalidate(request.stream);
    return error;
  }
  bool is_captured = false;
  if (const Error error = card.captures.admit(request.stream, is_captured); error != Error::kSuccess)
    return error;
  if (!is_captured) return run(card, work, request.stream);
  return card.captures.add(card.graphs, request.stream, std::move(work), request.is_programmatic);
}

Error run(State& card, const LaunchWork& work, const void* stream) {
  const Kernel& kernel = *work.kernel;
  watch_exit();
  card.memory.drop_unmapped();
  const LaunchRequest& request = work.request;
  const std::vector<std::byte>& parameters = work.parameters;
  const std::string name = readable(kernel.name);
  const Options& asked = options();
  sim::LaunchOptions how;
  how.memory = &card.memory.global();
  const std::uint64_t number = card.launches + 1;
  const bool is_replayed = asked.replay.launch == 0 || asked.replay.launch == number;
  how.schedule = is_replayed ? asked.replay.schedule : sim::Schedule::round_robin();
  how.arch = asked.arch;
  // CTAs that wait for one another must all be resident; the machine has one to an SM.
  how.sms =
      request.is_cooperative ? std::max(asked.sms, static_cast<std::uint32_t>(volume(request.grid))) : asked.sms;
  how.kernel = name;
  how.again = again_of(asked, number);
  how.max_steps = asked.budget;
  how.check_races = asked.check_races;
  how.strict = asked.strict;
  how.trace = program_trace();
  how.accepted = asked.accepted;
  how.accepted.insert(how.accepted.end(), asked.suppressed.begin(), asked.suppressed.end());
  sim::PtxLaunch shape;
  shape.grid = request.grid;
  shape.block = request.block;
  shape.cluster = request.cluster;
  shape.dynamic_shared_bytes = request.dynamic_shared;
  shape.textures = &card.arrays.table();
  if (request.is_cooperative) shape.grid_workspace = card.memory.clear_grid_workspace();

  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t processor_begin = std::clock();
  std::atomic<std::uint64_t> instructions = 0;
  // What a schedule that is only tried does to the heap is forgotten.
  std::optional<sim::DeviceHeap> heap_before;
  if (asked.schedules != 0 || asked.exhaust != 0) {
    card.heap.reserve();  // a pointer that a kernel stores is the same under all schedules
    heap_before.emplace(card.heap);
  }
  const auto run_once = [&](const sim::LaunchOptions& options, bool is_first) {
    sim::PtxLaunch one = shape;
    std::optional<sim::DeviceHeap> tried;
    if (!is_first && heap_before) tried.emplace(*heap_before);
    one.heap = tried ? &*tried : &card.heap;
    one.print = [&card, is_first](std::string_view text) {
      if (!is_first) return;
      card.printed += text;
      if (card.printed.size() >= kMostPrinted) show_printed(card);
    };
    sim::Report report =
        kernel.module->ptx()->launch(kernel.name, options, one, parameters.data(), parameters.size());
    instructions += report.stats.instructions;
    return report;
  };
  const sim::explore::Repetition many{
      .schedules = asked.schedules, .seed = asked.seed, .depth = asked.depth, .workers = 0};
  StreamOrder& order = card.streams.order;
  sim::History& history = order.begin(stream, request.is_programmatic);
  if (order.can_overlap(kernel.module->ptx()->launches_dependents())) how.history = &history;
  sim::Report report;
  if (asked.exhaust == 0) {
    try {
      report = sim::explore::repeat(how, many, run_once);
    } catch (const InputError& refusal) {
      // Turns that do not fit the launch are a mistake in the command, not in the program.
      if (how.schedule.kind != sim::Schedule::Kind::kTurns) throw;
      say(refusal.what());
      std::fflush(nullptr);
      std::_Exit(2);
    }
  } else {
    sim::explore::SearchedLaunch searched;
    report = sim::explore::search(how, sim::Actors::kWarps, {.executions = asked.exhaust}, run_once, searched);
    if (report.ok() || searched.counts.executions != 0) card.searches.add(searched, number, name);
  }
  order.end();
  card.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  card.processor_seconds += static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC;
  ++card.launches;
  card.instructions += instructions;
  if (asked.schedules != 0 && asked.depth != 0) {
    const std::uint64_t actors = volume(request.grid) * ((volume(request.block) + 31) / 32) + 1;
    card.pct.add(actors, report.stats.steps, asked.depth);
  }
  if (take_report(card, name, report, number)) return Error::kSuccess;
  write_trace();  // a program may not come to its end after this
  card.failed = code_of(report);
  return Error::kSuccess;
}

}  // namespace heddle::runtime
