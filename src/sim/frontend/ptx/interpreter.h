// SPDX-License-Identifier: Apache-2.0
//
// Runs a decoded entry on the machine: the warps of the resident CTAs, and the loop that lets them take turns.
//
// Lanes of a warp that stand at the same instruction run together, and where they have diverged, those that are
// behind go first, so that they meet again where the paths do. A turn that ends without a lane blocking may be a
// loop that waits for other lanes of the same warp; the next turn then belongs to the lanes that the schedule
// picks, wherever they stand. So no lane starves, as independent thread scheduling promises.
//
// Model: lanes that run together execute an instruction together; the schedule does not come between them.
#pragma once

#include "sim/frontend/ptx/warp.h"
#include "sim/frontend/run.h"

#include <heddle/sim/ptx.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim::ptx {

// What a launch needs to know of a module.
struct Program {
  const ModuleText* text = nullptr;
  const std::vector<std::unique_ptr<Function>>* functions = nullptr;  // by number; null: declared only
  const Function* entry = nullptr;
  std::vector<std::uint64_t> addresses;  // of the module's variables: shared offsets, or global addresses
  std::vector<std::vector<std::uint64_t>> shared_offsets;  // by function and variable
  std::uint64_t local_bytes = 0;                           // of the entry and what it calls
  std::uint64_t static_shared_bytes = 0;
};

// Functions that nvcc's code calls and that the system provides.
enum class SystemCall : std::uint32_t { kUnknown, kVprintf, kAssertFail, kMalloc, kFree };
SystemCall system_call(std::string_view name);
std::size_t system_call_parameters(SystemCall call);

class Interpreter final : public frontend::Run {
 public:
  Interpreter(const LaunchOptions& options, const PtxLaunch& launch, const Program& program,
              std::uint32_t threads, std::size_t shared_bytes, const std::byte* params, GlobalMemory& memory);

  Report run();

  // For handlers.
  const Program& program() const { return program_; }
  const PtxLaunch& launch() const { return launch_; }
  explore::Strategy& strategy() { return *strategy_; }
  const std::byte* params() const { return params_; }
  std::uint64_t param_bytes() const { return program_.entry->text->parameter_bytes; }
  std::uint64_t look_at_clock(Warp& warp);
  void print(const std::string& text) const;
  bool follows_values() const { return races_.has_value(); }
  // Bytes of shared memory that hold nothing: bit b for the byte at address + b. None of memory that no CTA has.
  std::uint32_t unwritten(const machine::Thread& thread, machine::SharedAddress address, std::uint32_t bytes);
  std::uint64_t unwritten_bits(const machine::Thread& thread, machine::SharedAddress address,
                               std::uint32_t bytes);
  void unwrite(const machine::Thread& thread, machine::SharedAddress address, std::uint64_t bits);
  // What a tensor core, or a load of tensor memory, made or brought of what nobody had written.
  const check::Spoil* spoil_of(std::uint64_t operation) const {
    return races_ ? races_->spoil_of(operation) : nullptr;
  }
  const check::UndefinedCells* undefined_load(std::uint64_t transfer) const {
    return races_ ? races_->undefined_load(transfer) : nullptr;
  }
  void use_undefined(Warp& warp, std::uint32_t lane, const Instruction& instruction, const Origin& origin,
                     const char* how);

 private:
  void start_warps();
  Warp& warp_of(const machine::Thread& thread);
  Frame& make_frame(Warp& warp, const Function& function, std::uint32_t lanes, Frame* parent);
  void fill_constants(Warp& warp, Frame& frame);
  std::uint64_t special(const Warp& warp, std::uint32_t lane, Special which) const;
  void turn(Warp& warp, std::uint32_t lane);
  void execute(Warp& warp, bool is_fair);
  void select(Warp& warp, std::uint32_t lane);
  void leave(Warp& warp, std::uint32_t pc);
  std::uint64_t nearest_other(const Warp& warp) const;
  void watch(Warp& warp, const Instruction& instruction, std::uint32_t pc, std::uint32_t mask);
  std::uint32_t guarded(const Warp& warp, const Instruction& instruction) const;
  void call(Warp& warp, const Instruction& instruction, std::uint32_t mask, std::uint32_t pc);
  void enter(Warp& warp, const Instruction& instruction, const Function& callee, std::uint32_t mask,
             std::uint32_t pc);
  void system(Warp& warp, const Instruction& instruction, std::uint32_t mask, SystemCall which);
  void take_from_heap(Warp& warp, const Instruction& instruction, std::uint32_t mask, bool gives_back);
  void leave_function(Warp& warp, std::uint32_t mask);
  void exit_lanes(Warp& warp, std::uint32_t mask);
  void stop_at_budget(CallSite site);

  const PtxLaunch& launch_;
  const Program& program_;
  const std::byte* params_;
  GlobalMemory& memory_;  // of the launch: malloc adds to it
  std::uint32_t threads_;
  std::size_t shared_bytes_;
  std::vector<std::unique_ptr<Warp>> warps_;  // by slot of their first thread / 32, CTA by CTA
  std::uint32_t warps_per_cta_;
  std::uint64_t system_scratch_ = 0;  // its shared address; 0: the entry has none
  std::uint64_t skipped_time_ = 0;    // that warps have waited for by the clock
};

// Copies of lanes that nobody has waited for are done at the latest when the lanes exit. In async_copy.cpp.

// Before an instruction, while registers are in flight: a copy follows them, whatever else touches them is
// refused, or gets them if a tcgen05.ld brings them. In in_flight.cpp.
void note_move(Warp& warp, const Instruction& instruction, const Flow& flow);
void touch_in_flight(Warp& warp, const Instruction& instruction, const Flow& flow);
[[noreturn]] void refuse_touch(Warp& warp, const Instruction& instruction, const Accumulators& set,
                               const char* what);

// What a wgmma.fence must follow: before an instruction that feeds a wgmma, and before the wgmma for the
// registers that it takes. In register_fence.cpp.
void note_change(Warp& warp, const Instruction& instruction, const Flow& flow, std::uint32_t mask);
void check_fenced(Warp& warp, const Instruction& instruction, const std::vector<std::uint32_t>& rows,
                  const char* what);

// An instruction that needs registers which a tcgen05.ld fills waits for them. In tcgen05.cpp.
void deliver_loads(Warp& warp, const Instruction& instruction, const Flow& flow);

// What a thread sees of memory; handlers of several families use it. Throws machine::Fault.
void load_bytes(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, void* to, std::uint32_t bytes,
                const Instruction& instruction, const Strong* strong = nullptr, bool is_coherent = true);
void store_bytes(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, const void* from,
                 std::uint32_t bytes, const Instruction& instruction, const Strong* strong = nullptr);
// Where a generic address points to, and the address in that space.
Space resolve(Space space, std::uint64_t& address);
// How `flags`, shifted by what the instruction's family says, has the memory order and the scope of a strong
// access.
inline constexpr std::uint32_t kAcquires = 1;
inline constexpr std::uint32_t kReleases = 2;
inline constexpr std::uint32_t kScopeShift = 2;
inline constexpr std::uint32_t kStrongBits = 4;
std::uint32_t strong_flags(std::string_view semantics, std::string_view scope);
Strong strong_of(std::uint32_t flags, bool reads, bool writes);
// A shared address of an operand that may be generic.
machine::SharedAddress shared_address(Warp& warp, std::uint32_t lane, std::uint64_t address, bool is_generic,
                                      const Instruction& instruction);

}  // namespace heddle::sim::ptx
