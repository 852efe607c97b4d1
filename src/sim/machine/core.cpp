// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::sim::machine {

namespace {

// What shared memory holds before anything was written to it. Not zero: a kernel that relies on zeros must
// show it.
constexpr int kUninitialised = 0xA5;
constexpr std::align_val_t kArenaAlignment{4096};

void free_arenas(const std::vector<Cluster>& clusters) {
  for (const Cluster& cluster : clusters) ::operator delete(cluster.arena, kArenaAlignment);
}

}  // namespace

std::string place(CallSite site) { return place_text(site); }

Core::Core(const LaunchOptions& options, const LaunchShape& shape, std::uint32_t threads_per_cta,
           std::size_t shared_bytes, std::uint32_t registers)
    : options_(options),
      shape_(shape),
      threads_per_cta_(threads_per_cta),
      shared_bytes_(static_cast<std::uint32_t>(shared_bytes)),
      registers_((registers + 7) / 8 * 8),
      cluster_size_(shape.cluster.x * shape.cluster.y * shape.cluster.z),
      grid_ctas_(std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z),
      cluster_count_(grid_ctas_ / cluster_size_),
      pending_(cluster_count_),
      global_(options.memory == nullptr ? &no_memory_ : options.memory),
      findings_(options) {
  for (Observer* observer : options.observers) add_observer(*observer);
  const std::uint64_t fitting = std::max<std::uint64_t>(1, options.sms / cluster_size_);
  const auto resident = static_cast<std::uint32_t>(std::min(fitting, cluster_count_));
  clusters_.resize(resident);
  threads_.resize(std::size_t{resident} * cluster_size_ * threads_per_cta_);
  ready_.reserve(threads_.size());
  try {
    for (std::uint32_t c = 0; c < resident; ++c) {
      Cluster& cluster = clusters_[c];
      cluster.arena =
          static_cast<std::byte*>(::operator new (std::size_t{cluster_size_} * kArenaStride, kArenaAlignment));
      for (std::uint32_t rank = 0; rank < cluster_size_; ++rank) {
        auto cta = std::make_unique<Cta>();
        cta->cluster = &cluster;
        cta->slot = c * cluster_size_ + rank;
        cta->rank = rank;
        cta->shared = cluster.arena + std::size_t{rank} * kArenaStride;
        cta->shared_end = kSharedBase + shared_bytes_;
        cta->warps.resize((threads_per_cta_ + 31) / 32);
        cta->warpgroups.resize(threads_per_cta_ / kWarpgroupThreads);
        cta->barrier_at.resize((cta->shared_end + 7) / 8);
        cta->threads = &threads_[std::size_t{cta->slot} * threads_per_cta_];
        for (NamedBarrier& barrier : cta->named) barrier.lanes.resize(cta->warps.size());
        cluster.ctas.push_back(cta.get());
        ctas_.push_back(std::move(cta));
      }
    }
  } catch (...) {
    free_arenas(clusters_);
    throw;
  }
}

Core::~Core() { free_arenas(clusters_); }

void Core::add_observer(Observer& observer) {
  observers_.push_back({&observer, observer.wants()});
  wanted_ |= observer.wants();
}

std::vector<Thread*> Core::start_clusters() {
  std::vector<Thread*> started;
  for (Cluster& cluster : clusters_) {
    if (cluster.running || pending_.is_empty()) continue;
    start_cluster(cluster, static_cast<std::uint32_t>(pending_.launch()));
    for (Cta* cta : cluster.ctas) {
      for (std::uint32_t t = 0; t < threads_per_cta_; ++t) started.push_back(&cta->threads[t]);
    }
  }
  return started;
}

bool Core::has_free_sms() const {
  return !pending_.is_empty() &&
         std::any_of(clusters_.begin(), clusters_.end(), [](const Cluster& cluster) { return !cluster.running; });
}

isa::Dim3 Core::cluster_at(std::uint64_t index) const {
  const std::uint32_t x = shape_.grid.x / shape_.cluster.x;
  const std::uint32_t y = shape_.grid.y / shape_.cluster.y;
  return {static_cast<std::uint32_t>(index % x), static_cast<std::uint32_t>(index / x % y),
          static_cast<std::uint32_t>(index / x / y)};
}

void Core::start_cluster(Cluster& cluster, std::uint32_t index) {
  const isa::Dim3 at = cluster_at(index);
  cluster.running = true;
  cluster.threads = cluster_size_ * threads_per_cta_;
  cluster.arrived = 0;
  cluster.round = 0;
  for (Cta* cta : cluster.ctas) {
    cta->id_in_cluster = {cta->rank % shape_.cluster.x, cta->rank / shape_.cluster.x % shape_.cluster.y,
                          cta->rank / shape_.cluster.x / shape_.cluster.y};
    cta->cluster_id = at;
    cta->id = {at.x * shape_.cluster.x + cta->id_in_cluster.x, at.y * shape_.cluster.y + cta->id_in_cluster.y,
               at.z * shape_.cluster.z + cta->id_in_cluster.z};
    cta->linear = linear_of(cta->id);
    cta->live_threads = threads_per_cta_;
    cta->exited = false;
    cta->has_seen_clc_failure = false;
    cta->names.clear();
    cta->barrier_ids.clear();
    std::fill(cta->barrier_at.begin(), cta->barrier_at.end(), 0);
    std::memset(cta->shared, kUninitialised, cta->shared_end);
    for (NamedBarrier& barrier : cta->named) barrier.reset();
    cta->free_registers = 0;
    cta->tmem = Tmem{};
    cta->tcgen05_queues.clear();
    for (std::uint32_t g = 0; g < cta->warpgroups.size(); ++g) {
      cta->warpgroups[g] = Warpgroup{};
      cta->warpgroups[g].cta = cta;
      cta->warpgroups[g].index = g;
      for (WgmmaWarp& warp : cta->warpgroups[g].warps) warp.registers = registers_;
    }
    for (std::uint32_t w = 0; w < cta->warps.size(); ++w) {
      const std::uint32_t lanes = std::min(32u, threads_per_cta_ - 32 * w);
      cta->warps[w].meetings.clear();
      cta->warps[w].exist = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
      cta->warps[w].live = cta->warps[w].exist;
    }
    for (std::uint32_t t = 0; t < threads_per_cta_; ++t) {
      Thread& thread = cta->threads[t];
      thread = Thread{};
      thread.cta = cta;
      thread.tid = t;
      thread.slot = cta->slot * threads_per_cta_ + t;
      make_ready(thread);
    }
    ++stats_.ctas;
    stats_.threads += threads_per_cta_;
    emit(event::CtaStart{.cta = cta->linear,
                         .threads = threads_per_cta_,
                         .rank = cta->rank,
                         .shared_bytes = cta->shared_end,
                         .cluster = index});
  }
  resident_threads_ += cluster.threads;
}

std::optional<isa::Dim3> Core::cancel_cluster(std::uint64_t entropy) {
  if (pending_.is_empty()) return std::nullopt;
  ++stats_.cancelled_clusters;
  const isa::Dim3 at = cluster_at(pending_.cancel(entropy));
  return isa::Dim3{at.x * shape_.cluster.x, at.y * shape_.cluster.y, at.z * shape_.cluster.z};
}

void Core::make_ready(Thread& thread) {
  thread.state = ThreadState::kReady;
  thread.wait.kind = WaitKind::kNone;
  thread.ready_index = static_cast<std::uint32_t>(ready_.size());
  ready_.push_back(&thread);
}

namespace {

void remove_ready(std::vector<Thread*>& ready, const Thread& thread) {
  Thread* last = ready.back();
  ready[thread.ready_index] = last;
  last->ready_index = thread.ready_index;
  ready.pop_back();
}

}  // namespace

void Core::block(Thread& thread, const Wait& wait) {
  remove_ready(ready_, thread);
  thread.state = ThreadState::kBlocked;
  thread.wait = wait;
}

void Core::retire(Thread& thread) {
  remove_ready(ready_, thread);
  thread.state = ThreadState::kExited;
  changed();
  Cta& cta = *thread.cta;
  cta.warps[thread.warp()].live &= ~(1u << thread.lane());
  --cta.live_threads;
  --cta.cluster->threads;
  --resident_threads_;
  emit(event::ThreadExit{.cta = cta.linear, .thread = thread.tid});
}

SharedAddress Core::mapa(const Thread& thread, SharedAddress address, std::uint32_t rank, CallSite site) const {
  if (rank >= cluster_size_) {
    fault(&thread, site, FaultCode::kBadRank,
          fmt::format("mapa to rank {}, but the cluster has {} CTAs: ranks 0 to {}", rank, cluster_size_,
                      cluster_size_ - 1));
  }
  return (address & kOffsetMask) | rank << kRankShift;
}

Cta& Core::cta_of(const Thread& thread, SharedAddress address, CallSite site, const char* instruction) const {
  const std::uint32_t rank = address >> kRankShift;
  if (rank >= cluster_size_) {
    fault(&thread, site, FaultCode::kBadRank,
          fmt::format("{} of shared memory in rank {}, but the cluster has {} CTAs", instruction, rank,
                      cluster_size_));
  }
  Cta& cta = *thread.cta->cluster->ctas[rank];
  if (cta.exited) {
    fault(&thread, site, FaultCode::kExitedCta,
          fmt::format("{} reaches {}, which has exited", instruction, describe(cta)),
          {"likely: no cluster barrier before the end; a CTA must stay until its peers are done with it"});
  }
  return cta;
}

std::byte* Core::shared_bytes(const Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site,
                              const char* instruction) const {
  const Cta& cta = cta_of(thread, address, site, instruction);
  const std::uint32_t offset = address & kOffsetMask;
  if (offset % bytes != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("{} of {} bytes at shared address {:#x}; the address must be a multiple of {}", instruction,
                      bytes, offset, bytes));
  }
  if (offset < kSharedBase || offset + bytes > cta.shared_end) {
    fault(&thread, site, FaultCode::kSharedOutOfBounds,
          fmt::format("{} of {} bytes at shared address {:#x}, outside of the CTA's shared memory [{:#x}, {:#x})",
                      instruction, bytes, offset, kSharedBase, cta.shared_end));
  }
  return cta.shared + offset;
}

void Core::annotate_role(Thread& thread, const char* role) {
  thread.role = role;
  emit(event::Role{.cta = thread.cta->linear, .thread = thread.tid, .name = role});
}

void Core::annotate_barriers(Thread& thread, SharedAddress first, std::uint32_t count, const char* pipeline,
                             isa::BarrierRole role) {
  const std::uint32_t offset = first & kOffsetMask;
  for (NamedRange& range : thread.cta->names) {
    if (range.first == offset) {
      range = {offset, count, pipeline, role};
      return;
    }
  }
  thread.cta->names.push_back({offset, count, pipeline, role});
}

void Core::annotate_named_barriers(Thread& thread, std::uint32_t first, std::uint32_t count, const char* use) {
  auto& named = thread.cta->named;
  for (std::uint32_t i = 0; i < count && first + i < named.size(); ++i) named[first + i].use = {use, i, count};
}

std::string Core::describe_named(const Cta& cta, std::uint32_t id) const {
  const NamedBarrier::Use* const use = id < cta.named.size() ? &cta.named[id].use : nullptr;
  if (use == nullptr || *use->name == '\0') return fmt::format("named barrier {}", id);
  if (use->count == 1) return fmt::format("named barrier {} ({})", id, use->name);
  return fmt::format("named barrier {} ({}[{}])", id, use->name, use->number);
}

BarrierName Core::name_of(const Cta& cta, std::uint32_t offset) const {
  for (const NamedRange& range : cta.names) {
    const std::uint32_t stage = (offset - range.first) / 8;
    if (offset >= range.first && stage < range.count) return {range.pipeline, stage, range.role};
  }
  return {};
}

std::string Core::describe_shared(const Cta& cta, std::uint32_t offset) const {
  const BarrierName name = name_of(cta, offset);
  if (*name.pipeline == '\0') return fmt::format("the barrier at shared address {:#x}", offset);
  switch (name.role) {
    case isa::BarrierRole::kFull: return fmt::format("full of {}[{}]", name.pipeline, name.stage);
    case isa::BarrierRole::kEmpty: return fmt::format("empty of {}[{}]", name.pipeline, name.stage);
    case isa::BarrierRole::kOther: break;
  }
  return fmt::format("{}[{}]", name.pipeline, name.stage);
}

std::string Core::describe(const Barrier& barrier) const { return describe_shared(*barrier.cta, barrier.offset); }

std::string Core::describe(const Cta& cta) const {
  if (shape_.grid.y == 1 && shape_.grid.z == 1) return fmt::format("block {}", cta.id.x);
  return fmt::format("block ({},{},{})", cta.id.x, cta.id.y, cta.id.z);
}

std::string Core::describe(const Thread& thread) const {
  const std::string block = has_one_cta() ? std::string() : describe(*thread.cta) + ", ";
  const std::string role = *thread.role == '\0' ? std::string() : std::string(thread.role) + ", ";
  return fmt::format("{}{}warp {}, lane {}", block, role, thread.warp(), thread.lane());
}

std::vector<const Thread*> Core::resident_threads() const {
  std::vector<const Thread*> resident;
  for (const Thread& thread : threads_) {
    if (thread.cta != nullptr && thread.state != ThreadState::kExited) resident.push_back(&thread);
  }
  return resident;
}

Fault Core::placed(const Thread* thread, CallSite site, Fault mistake) const {
  const std::string where = *site.file == '\0' ? std::string() : place(site);
  std::vector<std::string>& lines = mistake.details;
  if (thread != nullptr) {
    lines.insert(lines.begin(), fmt::format("{:<62} {}", describe(*thread), where));
  } else if (!where.empty()) {
    lines.insert(lines.begin(), fmt::format("{:<62} {}", "issued at", where));
  }
  mistake.places.first = site;
  return mistake;
}

void Core::fault(const Thread* thread, CallSite site, FaultCode code, std::string headline,
                 std::vector<std::string> details) const {
  throw placed(thread, site, {code, std::move(headline), std::move(details)});
}

void Core::judge(const Thread* thread, CallSite site, Fault mistake) {
  Fault fault = placed(thread, site, std::move(mistake));
  if (!findings_.allows(fault)) throw fault;
}

}  // namespace heddle::sim::machine
