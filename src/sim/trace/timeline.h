// SPDX-License-Identifier: Apache-2.0
//
// What was recorded, in the form in which it is drawn: lanes with spans that do not overlap. Knows nothing of the
// machine.
#pragma once

#include <heddle/sim/trace.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::sim::trace {

using Time = std::uint64_t;  // in cycles

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

enum class SpanKind : std::uint8_t {
  kWork,
  kHold,  // works, and holds a stage
  kWait,
  kCopy,
  kMultiply,
  kFill,   // a stage: its producer has it
  kReady,  // a stage: full, and nobody has taken it
  kRead,   // a stage: its consumers have it
  kPhase   // a barrier that belongs to no pipeline
};
inline constexpr std::size_t kSpanKinds = 9;
const char* name_of(SpanKind kind);

struct Span {
  Time begin = 0;
  Time end = 0;
  std::uint32_t lane = 0;
  std::uint32_t label = 0;  // a text
  std::uint32_t place = 0;  // a text: where in the source
  std::uint32_t cause =
      kNoIndex;  // wait: the span that ended it; copies and multiplications: the one that issued it
  std::uint32_t use = kNoIndex;   // which use of its ring, counted from 0
  std::uint32_t tile = kNoIndex;  // a text, "3,1": what its warp worked for
  std::uint32_t step = kNoIndex;  // which use of its ring for that tile, counted from 0
  std::uint32_t count = 1;        // instructions that it stands for
  std::uint64_t bytes = 0;
  SpanKind kind = SpanKind::kWork;
  bool is_open = false;  // had not ended when the run did
};

enum class LaneKind : std::uint8_t { kWarp, kCopies, kMultiplications, kStage, kBarrier };

struct Lane {
  LaneKind kind = LaneKind::kWarp;
  std::uint32_t cta = 0;
  std::uint32_t group = 0;  // a text: the role, or what the lane is of
  std::uint32_t label = 0;  // a text
  std::uint32_t warp = 0;
  bool is_involved = false;  // named by the finding that ended the run
};

// Part of a role's time, over all its warps.
struct Share {
  std::uint32_t role = 0;  // a text
  std::uint32_t what = 0;  // a text: "works", "full of input"
  bool is_wait = false;
  Time time = 0;
  double percent = 0;
};

struct Launch {
  std::string kernel;
  std::string schedule;
  std::string finding;             // what ended the run; empty: nothing
  std::string cut;                 // where recording stopped, and why; empty: it did not
  const Timing* timing = nullptr;  // what times follow from; null: a GPU's clock
  std::uint32_t sms = 0;           // that it had
  Time end = 0;
  std::uint64_t copies = 0;  // as the machine has counted them
  std::uint64_t mmas = 0;
  std::vector<Lane> lanes;
  std::vector<Span> spans;              // by lane, then by begin
  std::vector<std::uint32_t> critical;  // spans, the first one first
  std::vector<Share> shares;            // by role; those of a role add up to 100 %
};

// Each text once.
class Texts {
 public:
  std::uint32_t id(const std::string& text);
  const std::string& operator[](std::uint32_t id) const { return texts_[id]; }
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

struct Timeline {
  std::uint64_t max_spans = 0;
  std::optional<Timing> timing;  // none: that of each launch's architecture
  std::mutex mutex;              // launches may end at the same time
  std::uint64_t spans = 0;
  bool is_cut = false;
  std::uint64_t launches_left_out = 0;
  Texts texts;
  std::vector<Launch> launches;

  bool is_full() const { return is_cut || spans >= max_spans; }
  std::string remark() const;
};

// The chain of spans that leads to the end of the launch: back from the warp that ended last, through what ended
// its waits. `spans` and `lanes` are there.
void find_critical_path(Launch& launch);
// Where the time of each role went.
void add_up_shares(Launch& launch, Texts& texts);

std::string to_json(const Timeline& timeline);
std::string to_html(const Timeline& timeline);
std::string to_svg(const Timeline& timeline);

// How long the card would take for it, in words; empty where that is not known.
std::string prediction_of(const Launch& launch);

// The launch to look at first: one that a finding ended, or the longest. Null if there is none.
const Launch* main_launch(const Timeline& timeline);

}  // namespace heddle::sim::trace
