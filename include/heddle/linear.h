// SPDX-License-Identifier: Apache-2.0
//
// What makes a handle linear. A linear handle stands for something that must be given back exactly once: it
// can be moved and not copied, and only a call on an rvalue, `std::move(stage).release()`, ends it. A handle
// that is dropped, released on some paths only, released twice or used after its release does not build:
//
//  - nvcc: the Obligation that the handle holds has a flag; every path on which the flag is wrong says
//    something that ptxas cannot assemble and prints. Correct code folds the flag away and pays nothing.
//    The compiler must see all uses, so a function that takes or returns a handle is HEDDLE_DEVICE.
//  - clang: the attributes below, with -Wconsumed -Werror=consumed. It names the line. It follows local
//    variables only: tests/compile_fail/README.md lists what it cannot judge.
//  - run time: the same flag, in the simulated SM and in device debug builds (-G).
//
//   class HEDDLE_LINEAR Ticket {
//    public:
//     HEDDLE_DEVICE explicit Ticket(Name owner, CallSite site = HEDDLE_HERE) : obligation_(owner, 0, site) {}
//     Ticket(Ticket&&) noexcept = default;
//     HEDDLE_ONLY_WHEN_ENDED Ticket& operator=(Ticket&&) noexcept = default;
//     HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~Ticket() {}
//     HEDDLE_USES HEDDLE_DEVICE void look(CallSite site = HEDDLE_HERE) const& { obligation_.require(site); }
//     HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && { obligation_.fulfil(site); }
//
//    private:
//     Obligation obligation_;
//   };
#pragma once

#include <heddle/isa/fault.h>
#include <heddle/isa/target.h>

// HEDDLE_LINEAR stands on the class: its objects are born holding something.
// On member functions: HEDDLE_USES needs a handle that holds; HEDDLE_ENDS does too, and ends it;
// HEDDLE_ONLY_WHEN_ENDED belongs on the destructor and on move-assignment.
// On a parameter that is a non-const reference to a handle, HEDDLE_BORROWS says that the function gives it back
// as it got it. A const reference needs no word: it can be used and not released.
// HEDDLE_HERE is CallSite::here() for default arguments of whatever makes, uses or ends a handle.
#if defined(__clang__) && !HEDDLE_ON_CUDA
#define HEDDLE_LINEAR [[nodiscard]] __attribute__((consumable(unconsumed)))
// "unknown" is the state of a handle that a function has borrowed.
#define HEDDLE_USES __attribute__((callable_when("unconsumed", "unknown")))
#define HEDDLE_ENDS __attribute__((callable_when("unconsumed"), set_typestate(consumed)))
#define HEDDLE_ONLY_WHEN_ENDED __attribute__((callable_when("consumed")))
#define HEDDLE_BORROWS __attribute__((param_typestate(unconsumed), return_typestate(unconsumed)))
#define HEDDLE_HERE                                                        \
  (static_cast<void>(::heddle::HEDDLE_TARGET::detail::leaves_function() && \
                     ::heddle::HEDDLE_TARGET::detail::WayOut{}),           \
   ::heddle::CallSite::here())

namespace heddle::inline HEDDLE_TARGET::detail {

// clang's analysis walks the blocks of a function in an order in which it may take the state at the
// function's end for the state at the start of a loop's body, and then reports a handle that is held across
// a correct loop. The order is right if the function can be left before or inside the loop. This temporary,
// whose destructor does not return, is such a way out: it is in the default argument of every call that
// concerns a handle, and no execution takes it.
struct WayOut {
  [[noreturn]] ~WayOut() { __builtin_trap(); }
  explicit operator bool() const { return true; }
};

// Not constexpr: the analysis drops a branch whose condition it can evaluate.
inline bool leaves_function() { return false; }

}  // namespace heddle::inline HEDDLE_TARGET::detail
#else
// nvcc applies [[nodiscard]] on a class to assignments too. There an ignored handle stops the build in ptxas.
#if HEDDLE_ON_CUDA
#define HEDDLE_LINEAR
#else
#define HEDDLE_LINEAR [[nodiscard]]
#endif
#define HEDDLE_USES
#define HEDDLE_ENDS
#define HEDDLE_ONLY_WHEN_ENDED
#define HEDDLE_BORROWS
#define HEDDLE_HERE ::heddle::CallSite::here()
#endif

namespace heddle::inline HEDDLE_TARGET {

// The duty to release one stage, held by exactly one handle at a time.
class Obligation {
 public:
  HEDDLE_DEVICE Obligation(Name pipeline, std::uint32_t stage, CallSite acquired)
      : pipeline_(pipeline), stage_(stage), acquired_(acquired) {}

  Obligation(const Obligation&) = delete;
  Obligation& operator=(const Obligation&) = delete;

  HEDDLE_DEVICE Obligation(Obligation&& other) noexcept
      : pipeline_(other.pipeline_), stage_(other.stage_), acquired_(other.acquired_), is_live_(other.is_live_) {
    other.is_live_ = false;
  }

  HEDDLE_DEVICE Obligation& operator=(Obligation&& other) noexcept {
    if (is_live_) isa::fault_stage_dropped(pipeline_, stage_, acquired_);
    pipeline_ = other.pipeline_;
    stage_ = other.stage_;
    acquired_ = other.acquired_;
    is_live_ = other.is_live_;
    other.is_live_ = false;
    return *this;
  }

  HEDDLE_DEVICE ~Obligation() {
    if (is_live_) isa::fault_stage_dropped(pipeline_, stage_, acquired_);
  }

  // Stops the build, or the run, unless the stage is still held.
  HEDDLE_DEVICE void require(CallSite site) const {
    if (!is_live_) isa::fault_stage_used_after_release(pipeline_, stage_, site);
  }

  HEDDLE_DEVICE void fulfil(CallSite site) {
    require(site);
    is_live_ = false;
  }

  HEDDLE_DEVICE Name pipeline() const { return pipeline_; }
  HEDDLE_DEVICE std::uint32_t stage() const { return stage_; }
  HEDDLE_DEVICE CallSite acquired() const { return acquired_; }

 private:
  Name pipeline_;
  std::uint32_t stage_;
  CallSite acquired_;
  bool is_live_ = true;
};

}  // namespace heddle::inline HEDDLE_TARGET
