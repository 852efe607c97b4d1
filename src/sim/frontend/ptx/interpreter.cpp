// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/interpreter.h"

#include "sim/frontend/ptx/uses.h"
#include "sim/machine/clc_refusal.h"

#include <heddle/isa/registers.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace heddle::sim::ptx {

namespace {

// Instructions of a warp in one turn: a loop that waits for others must end its turn some time.
constexpr std::uint32_t kTurnInstructions = 4096;

// So many looks at the clock in a row are no measurement.
constexpr std::uint32_t kIdleLooks = 16;
constexpr std::uint64_t kMostSkippedTime = std::uint64_t{1} << 22;  // at a look

constexpr std::uint32_t kMaxCallDepth = 1024;
constexpr std::uint64_t kMaxLocalBytes = 512 * 1024;

LaunchShape shape_of(const PtxLaunch& launch, std::uint32_t threads) {
  return {.grid = launch.grid, .cluster = launch.cluster, .threads = threads};
}

// What the directives of an entry allow each thread to have, or 0 where they do not say.
std::uint32_t allowed_registers(const FunctionText& entry) {
  if (entry.max_registers != 0) return entry.max_registers;
  const isa::Dim3 required = entry.required_threads;
  const std::uint32_t threads = std::max(entry.max_threads, required.x * required.y * required.z);
  if (threads == 0 || entry.min_ctas == 0) return 0;
  return isa::entry_registers((threads + 31) / 32 * 32 * entry.min_ctas);
}

// Registers of each thread at the start, which setmaxnreg needs. The assembler gives a kernel that changes them
// all that it may have, but no more than the largest setmaxnreg.inc asks for (ptxas 13.0: 256 threads that are
// allowed 255, one of whose warpgroups asks for 232, begin with 232).
std::uint32_t registers_of(const PtxLaunch& launch, const Function& entry) {
  if (launch.registers != 0) return launch.registers;
  const std::uint32_t allowed = allowed_registers(*entry.text);
  return entry.most_registers == 0 ? allowed : std::min(allowed, entry.most_registers);
}

// Who goes first in a warp that has diverged: those deepest in calls, then those furthest behind.
std::uint64_t place_of(const Frame& frame, std::uint32_t pc) {
  return std::uint64_t{0xffffffffu - frame.depth} << 32 | pc;
}

}  // namespace

Interpreter::Interpreter(const LaunchOptions& options, const PtxLaunch& launch, const Program& program,
                         std::uint32_t threads, std::size_t shared_bytes, const std::byte* params,
                         GlobalMemory& memory)
    : Run(options, shape_of(launch, threads), threads, shared_bytes, registers_of(launch, *program.entry)),
      launch_(launch),
      program_(program),
      params_(params),
      memory_(memory),
      threads_(threads),
      shared_bytes_(shared_bytes),
      warps_per_cta_((threads + 31) / 32) {
  const auto scratch = program.text->variable_ids.find(kSystemScratch);
  if (scratch != program.text->variable_ids.end()) system_scratch_ = program.addresses[scratch->second];
  if (!races_) return;
  races_->judge_uses();
  races_->follow_loads([this](CallSite load) {
    check::LoadUses uses{.is_known = true, .stores = {}};
    for (const std::unique_ptr<Function>& function : *program_.functions) {
      if (function == nullptr || !uses.is_known) continue;
      const check::LoadUses here = uses_of_loads(*function, load);
      uses.is_known = here.is_known;
      uses.stores.insert(uses.stores.end(), here.stores.begin(), here.stores.end());
    }
    return uses;
  });
}

void Interpreter::print(const std::string& text) const {
  if (launch_.print) {
    launch_.print(text);
  } else {
    std::fputs(text.c_str(), stdout);
  }
}

Report Interpreter::run() {
  for (;;) {
    if (machine_.has_free_sms()) start_warps();
    machine::Thread* next = next_thread();
    if (next == nullptr) break;
    running_ = next;
    try {
      turn(warp_of(*next), next->lane());
    } catch (const machine::Fault& fault) {
      record(fault);
    }
    if (diagnosis_) break;
  }
  return make_report();
}

Warp& Interpreter::warp_of(const machine::Thread& thread) {
  return *warps_[std::size_t{thread.cta->slot} * warps_per_cta_ + thread.warp()];
}

void Interpreter::start_warps() {
  for (machine::Thread* thread : machine_.start_clusters()) {
    if (thread->lane() != 0) continue;
    if (thread->tid == 0 && system_scratch_ != 0) {
      std::memset(thread->cta->shared + system_scratch_, 0, kSystemScratchBytes);
    }
    const std::size_t index = std::size_t{thread->cta->slot} * warps_per_cta_ + thread->warp();
    while (warps_.size() <= index) warps_.push_back(std::make_unique<Warp>());
    const std::uint32_t lanes = std::min(32u, threads_ - thread->warp() * 32);
    auto made = std::make_unique<Warp>();
    made->interpreter = this;
    made->machine = &machine_;
    made->threads = thread;
    made->exist = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
    made->local_stride = program_.entry->local_bytes;
    made->local.resize(32 * made->local_stride);
    // What the warp before it has allocated serves again.
    made->frames = std::move(warps_[index]->frames);
    for (const std::unique_ptr<Frame>& frame : made->frames) frame->undefined.clear();
    Frame& frame = make_frame(*made, *program_.entry, made->exist, nullptr);
    made->frame_of.fill(&frame);
    warps_[index] = std::move(made);
  }
}

Frame& Interpreter::make_frame(Warp& warp, const Function& function, std::uint32_t lanes, Frame* parent) {
  Frame* frame = nullptr;
  for (const std::unique_ptr<Frame>& old : warp.frames) {
    if (old->lanes == 0 && old.get() != parent) frame = old.get();
  }
  if (frame == nullptr) frame = warp.frames.emplace_back(std::make_unique<Frame>()).get();
  forget_frame(warp, *frame);
  frame->function = &function;
  frame->parent = parent;
  frame->depth = parent == nullptr ? 0 : parent->depth + 1;
  frame->lanes = lanes;
  frame->local_base = parent == nullptr ? 0 : parent->local_base + parent->function->local_bytes;
  const std::uint64_t needed = frame->local_base + function.local_bytes;
  warp.local_limit = std::max(warp.local_limit, frame->local_base + function.local_end);
  if (needed > warp.local_stride) {
    const std::uint64_t stride = std::max(needed, 2 * warp.local_stride);
    std::vector<std::byte> grown(32 * stride);
    for (std::uint32_t l = 0; l < 32 && warp.local_stride != 0; ++l) {
      std::memcpy(grown.data() + l * stride, warp.local_bytes(l, 0), warp.local_stride);
    }
    warp.local = std::move(grown);
    warp.local_stride = stride;
  }
  frame->rows.assign(function.row_count, Row{});
  frame->in_flight.clear();
  frame->changes.clear();
  fill_constants(warp, *frame);
  return *frame;
}

void Interpreter::fill_constants(Warp& warp, Frame& frame) {
  const Function& function = *frame.function;
  const std::uint32_t rank = warp.threads->cta->rank << machine::kRankShift;
  for (const Constant& constant : function.constants) {
    Row& row = frame.rows[constant.row];
    switch (constant.kind) {
      case ConstantKind::kImmediate: row.fill(constant.value); break;
      case ConstantKind::kParam: row.fill(kParamWindow | constant.value); break;
      case ConstantKind::kLocal: row.fill(frame.local_base + function.local_offsets[constant.value]); break;
      case ConstantKind::kShared: {
        const std::uint32_t number = program_.text->function_ids.find(function.name)->second;
        row.fill(rank | program_.shared_offsets[number][constant.value]);
        break;
      }
      case ConstantKind::kModule: {
        const bool is_shared = program_.text->variables[constant.value].space == Space::kShared;
        row.fill(program_.addresses[constant.value] | (is_shared ? rank : 0));
        break;
      }
      case ConstantKind::kSpecial:
        for (std::uint32_t l = 0; l < 32; ++l) row[l] = special(warp, l, static_cast<Special>(constant.value));
        break;
    }
  }
}

std::uint64_t Interpreter::special(const Warp& warp, std::uint32_t lane, Special which) const {
  const machine::Cta& cta = *warp.threads->cta;
  const std::uint32_t tid = warp.threads->tid + lane;
  const isa::Dim3 block = launch_.block;
  const isa::Dim3 cluster = launch_.cluster;
  const std::uint32_t bit = 1u << lane;
  switch (which) {
    case Special::kTidX: return tid % block.x;
    case Special::kTidY: return tid / block.x % block.y;
    case Special::kTidZ: return tid / block.x / block.y;
    case Special::kNtidX: return block.x;
    case Special::kNtidY: return block.y;
    case Special::kNtidZ: return block.z;
    case Special::kCtaidX: return cta.id.x;
    case Special::kCtaidY: return cta.id.y;
    case Special::kCtaidZ: return cta.id.z;
    case Special::kNctaidX: return launch_.grid.x;
    case Special::kNctaidY: return launch_.grid.y;
    case Special::kNctaidZ: return launch_.grid.z;
    case Special::kLaneid: return lane;
    case Special::kWarpid: return warp.threads->warp();
    case Special::kNwarpid: return warps_per_cta_;
    case Special::kSmid: return cta.slot;
    case Special::kNsmid: return options_.sms;
    case Special::kGridid: return 1;
    case Special::kClusteridX: return cta.cluster_id.x;
    case Special::kClusteridY: return cta.cluster_id.y;
    case Special::kClusteridZ: return cta.cluster_id.z;
    case Special::kNclusteridX: return launch_.grid.x / cluster.x;
    case Special::kNclusteridY: return launch_.grid.y / cluster.y;
    case Special::kNclusteridZ: return launch_.grid.z / cluster.z;
    case Special::kClusterCtaidX: return cta.id_in_cluster.x;
    case Special::kClusterCtaidY: return cta.id_in_cluster.y;
    case Special::kClusterCtaidZ: return cta.id_in_cluster.z;
    case Special::kClusterNctaidX: return cluster.x;
    case Special::kClusterNctaidY: return cluster.y;
    case Special::kClusterNctaidZ: return cluster.z;
    case Special::kClusterCtarank: return cta.rank;
    case Special::kClusterNctarank: return cta.cluster->ctas.size();
    case Special::kIsExplicitCluster: return cta.cluster->ctas.size() > 1 ? 1 : 0;
    case Special::kLanemaskEq: return bit;
    case Special::kLanemaskLt: return bit - 1;
    case Special::kLanemaskLe: return (bit - 1) | bit;
    case Special::kLanemaskGt: return ~((bit - 1) | bit);
    case Special::kLanemaskGe: return ~(bit - 1);
    case Special::kDynamicSmemSize: return launch_.dynamic_shared_bytes;
    case Special::kTotalSmemSize: return shared_bytes_;
    // PTX: with what the system keeps for itself, which lies before everything else.
    case Special::kAggrSmemSize: return shared_bytes_ + machine::kSharedBase;
    case Special::kReservedSmemBegin: return 0;
    case Special::kReservedSmemEnd: return machine::kSharedBase;
    case Special::kWarpSize: return 32;
    case Special::kEnvreg1: return launch_.grid_workspace >> 32;
    case Special::kEnvreg2: return launch_.grid_workspace & 0xFFFF'FFFF;
    case Special::kClock:
    case Special::kGlobalTimer: return 0;
  }
  return 0;
}

// Every lane that could go on says where it stands.
void Interpreter::stop_at_budget(CallSite site) {
  for (const std::unique_ptr<Warp>& warp : warps_) {
    for_lanes(warp->exist, [&](std::uint32_t l) {
      if (!warp->is_ready(l)) return;
      const std::vector<Instruction>& code = warp->frame_of[l]->function->code;
      warp->thread(l).wait = {.site = code[std::min<std::size_t>(warp->pc[l], code.size() - 1)].site};
    });
  }
  explain_budget(site, true);
}

// The lanes that stand where this one does, and can go on, run with it.
void Interpreter::select(Warp& warp, std::uint32_t lane) {
  warp.frame = warp.frame_of[lane];
  warp.rows = warp.frame->rows.data();
  warp.active = 0;
  for_lanes(warp.exist, [&](std::uint32_t l) {
    if (warp.is_ready(l) && warp.frame_of[l] == warp.frame && warp.pc[l] == warp.pc[lane]) warp.active |= 1u << l;
  });
}

void Interpreter::leave(Warp& warp, std::uint32_t pc) {
  for_lanes(warp.active, [&](std::uint32_t l) { warp.pc[l] = pc; });
}

// The place of the lanes that can go on and are not running, first those that are furthest behind.
std::uint64_t Interpreter::nearest_other(const Warp& warp) const {
  std::uint64_t nearest = ~std::uint64_t{0};
  for_lanes(warp.exist & ~warp.active, [&](std::uint32_t l) {
    if (warp.is_ready(l)) nearest = std::min(nearest, place_of(*warp.frame_of[l], warp.pc[l]));
  });
  return nearest;
}

void Interpreter::turn(Warp& warp, std::uint32_t lane) {
  const bool is_fair = std::exchange(warp.is_fair, false);
  if (!is_fair && warp.exist != 1) {
    // Those that are behind go first.
    std::uint64_t nearest = place_of(*warp.frame_of[lane], warp.pc[lane]);
    for_lanes(warp.exist, [&](std::uint32_t l) {
      if (!warp.is_ready(l)) return;
      const std::uint64_t place = place_of(*warp.frame_of[l], warp.pc[l]);
      if (place < nearest) {
        nearest = place;
        lane = l;
      }
    });
  }
  select(warp, lane);
  execute(warp, is_fair);
}

std::uint32_t Interpreter::guarded(const Warp& warp, const Instruction& instruction) const {
  if (instruction.guard == kNone) return warp.active;
  const Row& guard = warp.rows[instruction.guard];
  std::uint32_t mask = 0;
  for (std::uint32_t l = 0; l < 32; ++l) mask |= static_cast<std::uint32_t>(guard[l] & 1) << l;
  return (instruction.guard_negated ? ~mask : mask) & warp.active;
}

// What registers in flight, and those that are not defined, ask for before an instruction.
void Interpreter::watch(Warp& warp, const Instruction& i, std::uint32_t pc, std::uint32_t mask) {
  const Flow& flow = warp.frame->function->flows[pc];
  if (warp.accumulators_in_flight != 0 && mask != 0) {
    if (flow.kind == FlowKind::kCopy || flow.kind == FlowKind::kPack || flow.kind == FlowKind::kUnpack) {
      note_move(warp, i, flow);
    } else {
      touch_in_flight(warp, i, flow);
    }
  }
  if (warp.undefined_rows != 0) follow(warp, i, flow, mask);
  if (i.feeds_wgmma && mask != 0) note_change(warp, i, flow, mask);
}

std::uint32_t Interpreter::unwritten(const machine::Thread& thread, machine::SharedAddress address,
                                     std::uint32_t bytes) {
  if (!races_) return 0;
  const std::vector<machine::Cta*>& ctas = thread.cta->cluster->ctas;
  const std::uint32_t rank = address >> machine::kRankShift;
  const std::uint32_t offset = address & machine::kOffsetMask;
  // Atomics ask before the machine has looked at the address, which may be anything.
  if (rank >= ctas.size() || offset + bytes > ctas[rank]->shared_end) return 0;
  if (offset - system_scratch_ < kSystemScratchBytes) return 0;
  return races_->unwritten(ctas[rank]->linear, offset, bytes);
}

std::uint64_t Interpreter::unwritten_bits(const machine::Thread& thread, machine::SharedAddress address,
                                          std::uint32_t bytes) {
  if (!races_) return 0;
  return races_->unwritten_bits(thread.cta->cluster->ctas[address >> machine::kRankShift]->linear,
                                address & machine::kOffsetMask, bytes);
}

void Interpreter::unwrite(const machine::Thread& thread, machine::SharedAddress address, std::uint64_t bits) {
  if (!races_) return;
  races_->unwrite(thread.cta->cluster->ctas[address >> machine::kRankShift]->linear,
                  address & machine::kOffsetMask, bits);
}

// The checker knows whether the bytes were merely read too early, and tells it in time.
void Interpreter::use_undefined(Warp& warp, std::uint32_t lane, const Instruction& i, const Origin& origin,
                                const char* how) {
  const machine::Thread& user = warp.thread(lane);
  const std::string use = fmt::format("{:<62} {}", fmt::format("{}: the value {}", machine_.describe(user), how),
                                      machine::place(i.site));
  if (origin.kind == Origin::Kind::kShared) {
    races_->use_unwritten(origin.cta, origin.offset, use);
    return;
  }
  if (origin.kind == Origin::Kind::kTmem) {
    races_->use_undefined_load(origin.load, origin.offset >> 16, origin.offset & 0xffff, use);
    return;
  }
  const std::string loaded =
      fmt::format("{:<62} {}", fmt::format("taken by warp {}, lane {}", origin.tid / 32, origin.tid % 32),
                  machine::place(origin.instruction->site));
  if (origin.kind == Origin::Kind::kGlobal) {
    machine_.judge(&user, i.site,
                   {.code = FaultCode::kUninitialisedRead,
                    .headline = fmt::format("a value {} that was read from {}, which nobody has written", how,
                                            machine_.global().describe(origin.global)),
                    .details = {loaded},
                    .places = {.first = i.site, .second = origin.instruction->site}});
    return;
  }
  if (origin.kind == Origin::Kind::kRefusal) machine::refuse_ctaid(machine_, user, i.site, {use, loaded});
  machine_.fault(
      &user, i.site, FaultCode::kDivergence,
      fmt::format("a value {} that lane {} of a shuffle was to give, which has exited or is not in its mask", how,
                  origin.offset),
      {loaded});
}

// Model: time is the instructions that all threads have executed, by 32. A warp that does nothing but look at the
// clock waits for time to pass, and is not made to wait for as long as it says: an eighth of what it has waited
// for is skipped at each look, so that it ends long before it counts as one that polls for ever.
std::uint64_t Interpreter::look_at_clock(Warp& warp) {
  const std::uint64_t now = machine_.stats().instructions / 32 + skipped_time_;
  if (warp.clock_looks++ == 0) warp.first_clock_look = now;
  if (warp.clock_looks < kIdleLooks) return now;
  const std::uint64_t skipped = std::min((now - warp.first_clock_look) / 8, kMostSkippedTime);
  skipped_time_ += skipped;
  return now + skipped;
}

// Runs the active lanes, and whom they meet, until all of them block, exit or give way.
void Interpreter::execute(Warp& warp, bool is_fair) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(warp.active));
  std::uint32_t pc = warp.pc[first];
  std::uint64_t other = nearest_other(warp);
  const std::uint32_t turn_instructions = kTurnInstructions;
  for (std::uint32_t count = 0;; ++count) {
    if (const std::uint64_t here = place_of(*warp.frame, pc); here >= other) {
      // Others stand here: they join. Or they are behind: they go first.
      leave(warp, pc);
      if (here == other || !is_fair) {
        std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(warp.active));
        if (here != other) {
          for_lanes(warp.exist & ~warp.active, [&](std::uint32_t l) {
            if (warp.is_ready(l) && place_of(*warp.frame_of[l], warp.pc[l]) == other) lane = l;
          });
        }
        select(warp, lane);
        pc = warp.pc[lane];
        other = nearest_other(warp);
        // Lanes of another call of the same depth stand at the same place; they wait for their turn.
        if (place_of(*warp.frame, pc) == other) other = ~std::uint64_t{0};
      }
    }
    const Instruction& i = warp.frame->function->code[pc];
    const std::uint32_t mask = guarded(warp, i);
    machine_.stats().instructions += static_cast<std::uint32_t>(std::popcount(mask));
    if ((warp.accumulators_in_flight | warp.undefined_rows | std::uint32_t{i.feeds_wgmma}) != 0) [[unlikely]]
      watch(warp, i, pc, mask);
    if (i.control == Control::kScalar) {
      if (mask != 0) i.run(warp, i, mask);
      ++pc;
      if (count < turn_instructions) continue;
      leave(warp, pc);
      warp.is_fair = true;
      if (machine_.stats().instructions > options_.max_steps) stop_at_budget(i.site);
      return;
    }
    if (i.is_visible && mask != 0) {
      if (take_finding()) return;
      if (machine_.stats().instructions > options_.max_steps) {
        leave(warp, pc);
        return stop_at_budget(i.site);
      }
      // Lanes that were woken within an instruction end it first.
      if (count != 0 && warp.step[static_cast<std::size_t>(std::countr_zero(mask))] == 0 && preempts()) {
        machine_.stats().instructions -= static_cast<std::uint32_t>(std::popcount(mask));
        leave(warp, pc);
        warp.is_fair = strategy_->wakes_early();
        return;
      }
    }
    switch (i.control) {
      case Control::kMachine: {
        if (mask == 0) {
          ++pc;
          break;
        }
        leave(warp, pc);
        if (!i.gives_way) warp.clock_looks = 0;
        const std::uint32_t done = i.machine(warp, i, mask);
        if (warp.undefined_rows != 0) [[unlikely]]
          follow_results(warp, warp.frame->function->flows[pc], done);
        const std::uint32_t on = (warp.active & ~mask) | done;
        for_lanes(on, [&](std::uint32_t l) { warp.pc[l] = pc + 1; });
        warp.active = on;
        if (on == 0) return;
        ++pc;
        if (std::exchange(warp.gives_way, false) || i.gives_way) {
          warp.is_fair = true;
          return;
        }
        other = nearest_other(warp);
        break;
      }
      case Control::kBranch:
        if (mask == warp.active) {
          pc = i.target;
        } else if (mask == 0) {
          ++pc;
        } else {
          // The side that is behind goes first.
          leave(warp, pc + 1);
          for_lanes(mask, [&](std::uint32_t l) { warp.pc[l] = i.target; });
          const std::uint32_t fall_through = warp.active & ~mask;
          warp.active = i.target < pc + 1 ? mask : fall_through;
          pc = std::min(i.target, pc + 1);
          other = nearest_other(warp);
        }
        break;
      case Control::kBranchIndexed: {
        leave(warp, pc + 1);
        const Row& index = warp.rows[i.a];
        for_lanes(mask, [&](std::uint32_t l) {
          const auto which = static_cast<std::uint32_t>(index[l]);
          if (which >= i.rows.size()) {
            machine_.fault(&warp.thread(l), i.site, FaultCode::kBadBranch,
                           fmt::format("brx.idx with index {}; there are {} labels", which, i.rows.size()));
          }
          warp.pc[l] = i.rows[which];
        });
        std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(warp.active));
        for_lanes(warp.active, [&](std::uint32_t l) {
          if (warp.pc[l] < warp.pc[lane]) lane = l;
        });
        select(warp, lane);
        pc = warp.pc[lane];
        other = nearest_other(warp);
        break;
      }
      case Control::kCall: {
        if (mask == 0) {
          ++pc;
          break;
        }
        leave(warp, pc + 1);
        call(warp, i, mask, pc);
        select(warp, static_cast<std::uint32_t>(std::countr_zero(mask)));
        pc = warp.pc[static_cast<std::size_t>(std::countr_zero(mask))];
        other = nearest_other(warp);
        break;
      }
      case Control::kReturn: {
        leave(warp, pc + 1);
        if (mask == 0) {
          ++pc;
          break;
        }
        leave_function(warp, mask);
        select(warp, static_cast<std::uint32_t>(std::countr_zero(mask)));
        pc = warp.pc[static_cast<std::size_t>(std::countr_zero(mask))];
        other = nearest_other(warp);
        break;
      }
      case Control::kExit: {
        leave(warp, pc + 1);
        if (mask != 0) exit_lanes(warp, mask);
        warp.active &= ~mask;
        if (warp.active == 0) return;
        ++pc;
        other = nearest_other(warp);
        break;
      }
      case Control::kScalar: break;
    }
    if (count >= turn_instructions) {
      leave(warp, pc);
      warp.is_fair = true;
      if (machine_.stats().instructions > options_.max_steps) stop_at_budget(i.site);
      return;
    }
  }
}

void Interpreter::exit_lanes(Warp& warp, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { machine_.thread_exit(warp.thread(l)); });
  for_lanes(mask, [&](std::uint32_t l) {
    for (Frame* frame = warp.frame_of[l]; frame != nullptr; frame = frame->parent) frame->lanes &= ~(1u << l);
  });
}

// Calls.

void Interpreter::enter(Warp& warp, const Instruction& i, const Function& callee, std::uint32_t mask,
                        std::uint32_t pc) {
  Frame& caller = *warp.frame;
  if (caller.depth >= kMaxCallDepth) {
    machine_.fault(
        &warp.thread(static_cast<std::uint32_t>(std::countr_zero(mask))), i.site, FaultCode::kStackOverflow,
        fmt::format("calls nested {} deep; the call of '{}' is one too many", kMaxCallDepth, callee.name));
  }
  if (const std::uint64_t needed = caller.local_base + caller.function->local_bytes + callee.local_bytes;
      needed > kMaxLocalBytes) {
    machine_.fault(&warp.thread(static_cast<std::uint32_t>(std::countr_zero(mask))), i.site,
                   FaultCode::kStackOverflow,
                   fmt::format("the call of '{}' needs {} bytes of local memory; a thread has {}", callee.name,
                               needed, kMaxLocalBytes));
  }
  Frame& frame = make_frame(warp, callee, mask, &caller);
  frame.return_pc = pc + 1;
  frame.call = &i;
  const FunctionText& text = *callee.text;
  const std::size_t count = std::min(i.rows.size(), text.parameters.size());
  for_lanes(mask, [&](std::uint32_t l) {
    for (std::size_t p = 0; p < count; ++p) {
      const std::uint64_t from = caller.local_base + caller.function->local_offsets[i.rows[p]];
      const std::uint64_t to = frame.local_base + callee.local_offsets[text.parameters[p].variable];
      const std::uint64_t bytes =
          std::min(text.parameters[p].bytes, caller.function->text->variables[i.rows[p]].bytes);
      std::memcpy(warp.local_bytes(l, to), warp.local_bytes(l, from), bytes);
      if (!warp.local_undefined.empty()) copy_local_undefined(warp, l, to, from, bytes);
    }
    warp.frame_of[l] = &frame;
    warp.pc[l] = 0;
  });
}

void Interpreter::leave_function(Warp& warp, std::uint32_t mask) {
  Frame& frame = *warp.frame;
  Frame& caller = *frame.parent;
  const Instruction& i = *frame.call;
  const FunctionText& text = *frame.function->text;
  const std::size_t count = std::min(i.more.size(), text.results.size());
  for_lanes(mask, [&](std::uint32_t l) {
    for (std::size_t r = 0; r < count; ++r) {
      const std::uint64_t from = frame.local_base + frame.function->local_offsets[text.results[r].variable];
      const std::uint64_t to = caller.local_base + caller.function->local_offsets[i.more[r]];
      const std::uint64_t bytes =
          std::min(text.results[r].bytes, caller.function->text->variables[i.more[r]].bytes);
      std::memcpy(warp.local_bytes(l, to), warp.local_bytes(l, from), bytes);
      if (!warp.local_undefined.empty()) copy_local_undefined(warp, l, to, from, bytes);
    }
    warp.frame_of[l] = &caller;
    warp.pc[l] = frame.return_pc;
  });
  frame.lanes &= ~mask;
}

void Interpreter::call(Warp& warp, const Instruction& i, std::uint32_t mask, std::uint32_t pc) {
  if (i.target != kNone) {
    if (i.flags != 0) return system(warp, i, mask, static_cast<SystemCall>(i.flags));
    return enter(warp, i, *(*program_.functions)[i.target], mask, pc);
  }
  // Lanes may call different functions; each of them is a call of its own.
  Frame* caller = warp.frame;
  for (std::uint32_t left = mask; left != 0;) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::uint64_t address = caller->rows[i.a][lane];
    std::uint32_t together = 0;
    for_lanes(left, [&](std::uint32_t l) {
      if (caller->rows[i.a][l] == address) together |= 1u << l;
    });
    left &= ~together;
    const std::uint64_t number = address & ~kWindowMask;
    const bool is_code = (address & kWindowMask) == kCodeWindow && number < program_.functions->size();
    const Function* callee = is_code ? (*program_.functions)[number].get() : nullptr;
    if (callee == nullptr || callee->text->parameters.size() != i.rows.size() ||
        callee->text->results.size() != i.more.size()) {
      machine_.fault(
          &warp.thread(lane), i.site, FaultCode::kBadBranch,
          fmt::format("a call through the address {:#x}, where no function with these parameters is", address));
    }
    warp.frame = caller;
    enter(warp, i, *callee, together, pc);
  }
  warp.frame = caller;
}

}  // namespace heddle::sim::ptx
