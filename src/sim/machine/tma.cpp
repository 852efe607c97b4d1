// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tma.h"

#include "sim/machine/core.h"
#include "sim/machine/mbarrier_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace heddle::sim::machine {

namespace {

template <class Ranges>
std::uint64_t bytes_of(const Ranges& ranges) {
  std::uint64_t bytes = 0;
  for (const auto& range : ranges) bytes += range.bytes;
  return bytes;
}

// Into how many pieces a box is cut for each target. Hardware cuts finer; more pieces show no new mistake,
// since what matters is that a copy can be seen half landed.
constexpr std::uint64_t kPieces = 4;

class Reader final : public GlobalReader {
 public:
  explicit Reader(const GlobalMemory& memory) : memory_(memory) {}
  const std::byte* readable(std::uint64_t address, std::uint64_t bytes) const override {
    const GlobalMemory::Region* region = memory_.find(address, bytes);
    return region == nullptr ? nullptr : region->host + (address - region->address);
  }

 private:
  const GlobalMemory& memory_;
};

class Writer final : public GlobalWriter {
 public:
  explicit Writer(const GlobalMemory& memory) : memory_(memory) {}
  std::byte* writable(std::uint64_t address, std::uint64_t bytes) override {
    const GlobalMemory::Region* region = memory_.find(address, bytes);
    return region == nullptr || !region->writable ? nullptr : region->host + (address - region->address);
  }

 private:
  const GlobalMemory& memory_;
};

std::span<std::byte> shared_of(const Cta& cta) { return {cta.shared, cta.shared_end}; }

}  // namespace

void cut(Copy& copy, Cta* target) {
  const std::uint64_t unit = copy.box ? 1 : 16;
  const std::uint64_t total = (copy.box ? copy.box->rows() : copy.bytes) / unit;
  const std::uint64_t pieces = std::min(kPieces, total);
  if (copy.first_target == nullptr) copy.first_target = target;
  for (std::uint64_t p = 0; p < pieces; ++p) {
    const std::uint64_t first = total * p / pieces;
    const std::uint64_t last = total * (p + 1) / pieces;
    copy.pieces.push_back({target, first * unit, (last - first) * unit});
  }
}

const char* name_of(CopyKind kind) {
  switch (kind) {
    case CopyKind::kLoad: return "bulk load";
    case CopyKind::kStore: return "bulk store";
    case CopyKind::kReduce: return "bulk reduction";
    case CopyKind::kSharedToPeer: return "bulk copy to a peer";
    case CopyKind::kClcResponse: return "response of cluster launch control";
    case CopyKind::kStoreAsync: return "remote store";
  }
  return "";
}

std::uint64_t BulkGroups::add() {
  if (groups_.size() == committed_) groups_.emplace_back();
  ++groups_.back().unread;
  ++groups_.back().unfinished;
  return first_ + groups_.size() - 1;
}

void BulkGroups::commit() {
  if (groups_.size() == committed_) groups_.emplace_back();
  ++committed_;
}

void BulkGroups::read_done(std::uint64_t group) { --groups_[group - first_].unread; }

void BulkGroups::finished(std::uint64_t group) {
  --groups_[group - first_].unfinished;
  while (committed_ > 0 && groups_.front().unfinished == 0) {
    groups_.erase(groups_.begin());
    ++first_;
    --committed_;
  }
}

bool BulkGroups::reached(std::uint32_t pending, bool read_only) const {
  for (std::size_t g = 0; g + pending < committed_; ++g) {
    if ((read_only ? groups_[g].unread : groups_[g].unfinished) != 0) return false;
  }
  return true;
}

void TmaEngine::issue(std::unique_ptr<Copy> copy) {
  copy->id = core_.take_copy_id();
  copy->cta = copy->issuer->cta;
  copy->cta_linear = copy->cta->linear;
  if (copy->pieces.empty()) cut(*copy, nullptr);  // loads were cut for each target
  Stats& stats = core_.stats();
  ++stats.copies;
  stats.copy_bytes += copy->bytes;
  if (core_.wants<event::CopyIssue>()) {
    Cta* target = copy->pieces.front().target;
    const Barrier* barrier =
        target == nullptr ? nullptr : mbarriers_.find(signalled_by(*copy, *target), copy->barrier);
    const std::uint32_t told = barrier == nullptr ? 0 : barrier->id;
    std::uint32_t targets = 1;
    for (std::size_t p = 1; p < copy->pieces.size(); ++p) {
      targets += copy->pieces[p].target != copy->pieces[p - 1].target ? 1 : 0;
    }
    core_.emit(
        event::CopyIssue{.cta = copy->cta_linear,
                         .thread = copy->issuer->tid,
                         .copy = copy->id,
                         .kind = copy->kind,
                         .address = copy->shared | copy->cta->rank << kRankShift,
                         .bytes = copy->bytes,
                         .barrier = told,
                         .targets = targets,
                         .is_async_reduction = copy->kind != CopyKind::kReduce && copy->reduction != nullptr,
                         .site = copy->site});
    if (copy->map != 0) {
      core_.emit(event::CopyReadMap{.cta = copy->cta_linear,
                                    .thread = copy->issuer->tid,
                                    .copy = copy->id,
                                    .global = copy->map,
                                    .bytes = sizeof(TensorMap),
                                    .barrier = told,
                                    .site = copy->site});
    }
  }
  copies_.push_back(std::move(copy));
}

void TmaEngine::step(std::size_t index, std::uint64_t entropy) {
  Copy& copy = *copies_[index];
  if ((copy.kind == CopyKind::kStore || copy.kind == CopyKind::kReduce) && !copy.source_was_read) {
    read_source(copy);
    return;
  }
  const auto which = copy.pieces.begin() + static_cast<std::ptrdiff_t>(entropy % copy.pieces.size());
  const Piece piece = *which;
  copy.pieces.erase(which);
  switch (copy.kind) {
    case CopyKind::kLoad: land_load(copy, piece); break;
    case CopyKind::kSharedToPeer:
    case CopyKind::kStoreAsync: land_in_peer(copy, piece); break;
    case CopyKind::kStore:
    case CopyKind::kReduce: land_store(copy, piece); break;
    case CopyKind::kClcResponse: break;  // never here: ClcUnit answers
  }
  if (copy.pieces.empty()) finish(index);
}

Cta& TmaEngine::signalled_by(const Copy& copy, Cta& target) const {
  return copy.pair ? *target.cluster->ctas[(target.rank & ~1u) | *copy.pair] : target;
}

void TmaEngine::land_load(Copy& copy, const Piece& piece) {
  Cta& target = *piece.target;
  Cta& signalled = signalled_by(copy, target);
  const Reader reader(core_.global());
  std::uint32_t bytes = static_cast<std::uint32_t>(piece.count);
  if (copy.box) {
    const CopyFault fault = copy.box->load_rows(piece.first, piece.count, reader, shared_of(target));
    if (fault) global_fault(copy, static_cast<std::uint64_t>(fault.value));
    bytes = static_cast<std::uint32_t>(piece.count) * copy.box->row_bytes();
  } else {
    const std::byte* source = reader.readable(copy.global + piece.first, piece.count);
    if (source == nullptr) global_fault(copy, copy.global + piece.first);
    std::memcpy(target.shared + copy.shared + piece.first, source, piece.count);
  }
  const Barrier* barrier = mbarriers_.find(signalled, copy.barrier);
  if (core_.wants<event::CopyWriteShared>() && barrier != nullptr) {
    const SharedRange flat{copy.shared + static_cast<std::uint32_t>(piece.first), bytes};
    const bool has_gaps = copy.box && copy.box->shared_row_bytes() != copy.box->row_pitch();
    const auto tell = [&](const SharedRange& range, bool is_unwritten) {
      core_.emit(event::CopyWriteShared{.cta = target.linear,
                                        .copy = copy.id,
                                        .address = range.address | target.rank << kRankShift,
                                        .bytes = range.bytes,
                                        .barrier = barrier->id,
                                        .row_pitch = has_gaps ? copy.box->row_pitch() : 0,
                                        .brings_unwritten = is_unwritten,
                                        .site = copy.site});
    };
    if (!copy.box) {
      tell(flat, brings_unwritten(copy, piece));
    } else if (!may_bring_unwritten(copy, piece)) {
      for (const SharedRange& range : copy.box->load_ranges(piece.first, piece.count)) tell(range, false);
    } else {
      for (std::uint64_t row = piece.first; row < piece.first + piece.count; ++row) {
        const bool is_unwritten = brings_unwritten(copy, {.target = &target, .first = row, .count = 1});
        const bool is_whole = is_unwritten && bytes_of(copy.box->load_sources(row, 1)) == copy.box->row_bytes();
        for (const SharedRange& range : copy.box->load_ranges(row, 1)) tell(range, is_whole);
        if (!is_unwritten || is_whole) continue;
        for (const SharedRange& range : copy.box->store_ranges(row, 1)) tell(range, true);
      }
    }
  }
  if (&target == copy.first_target && barrier != nullptr && core_.wants<event::CopyReadGlobal>()) {
    for (const GlobalRange& range : global_ranges(copy, piece)) {
      core_.emit(event::CopyReadGlobal{.cta = copy.cta_linear,
                                       .copy = copy.id,
                                       .global = range.address,
                                       .bytes = range.bytes,
                                       .barrier = barrier->id,
                                       .site = copy.site});
    }
  }
  mbarriers_.complete_tx(signalled, copy.barrier, bytes, copy.id, copy.site);
}

namespace {

// Whether nobody has written the bytes, or the first 32 of them if that is enough to know.
bool is_unwritten(const GlobalMemory& memory, const GlobalRange& range, bool looks_at_all) {
  const GlobalMemory::Region* region = memory.find(range.address, range.bytes);
  if (region == nullptr || region->written == nullptr) return false;
  for (std::uint32_t at = 0; at < (looks_at_all ? range.bytes : 1); at += 32) {
    const std::uint32_t count = std::min(range.bytes - at, 32u);
    const std::uint32_t all = count == 32 ? ~0u : (1u << count) - 1;
    if (GlobalMemory::unwritten(*region, range.address + at, count) != all) return false;
  }
  return true;
}

}  // namespace

// Whether nobody has written any of where the piece comes from. A row that ends beyond the tensor brings zeros,
// too.
// Model: a row that starts before the tensor counts as written, and so does a part of one whose numbers are
// spread.
bool TmaEngine::brings_unwritten(const Copy& copy, const Piece& piece) const {
  const GlobalMemory& memory = core_.global();
  if (!memory.has_unwritten()) return false;
  const std::vector<GlobalRange> ranges = global_ranges(copy, piece);
  const auto is_one = [&](const GlobalRange& range) { return is_unwritten(memory, range, true); };
  if (ranges.empty() || !std::all_of(ranges.begin(), ranges.end(), is_one)) return false;
  return !copy.box || bytes_of(ranges) == bytes_of(copy.box->store_ranges(piece.first, piece.count));
}

bool TmaEngine::may_bring_unwritten(const Copy& copy, const Piece& piece) const {
  const GlobalMemory& memory = core_.global();
  if (!memory.has_unwritten()) return false;
  const std::vector<GlobalRange> ranges = global_ranges(copy, piece);
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const GlobalRange& range) { return is_unwritten(memory, range, false); });
}

// The global memory that a piece reads or writes.
std::vector<GlobalRange> TmaEngine::global_ranges(const Copy& copy, const Piece& piece) {
  if (!copy.box) return {{copy.global + piece.first, static_cast<std::uint32_t>(piece.count)}};
  return copy.kind == CopyKind::kLoad ? copy.box->load_sources(piece.first, piece.count)
                                      : copy.box->store_targets(piece.first, piece.count);
}

void TmaEngine::note_written(const Copy& copy, const Piece& piece) const {
  const GlobalMemory::Region* region = core_.global().find(copy.global, 1);
  if (region == nullptr || region->written == nullptr) return;
  for (const GlobalRange& range : global_ranges(copy, piece)) {
    region = core_.global().find(range.address, range.bytes);
    if (region != nullptr) GlobalMemory::note_written(*region, range.address, range.bytes);
  }
}

void TmaEngine::land_in_peer(Copy& copy, const Piece& piece) {
  Cta& target = *piece.target;
  const auto first = static_cast<std::uint32_t>(piece.first);
  const auto count = static_cast<std::uint32_t>(piece.count);
  const auto destination = static_cast<std::uint32_t>(copy.global);
  const bool brings_value = !copy.staged.empty();
  const std::byte* source = brings_value ? copy.staged.data() + first : copy.cta->shared + copy.shared + first;
  if (copy.reduction != nullptr) {
    copy.reduction(target.shared + destination + first, source, count);
  } else {
    std::memcpy(target.shared + destination + first, source, count);
  }
  const Barrier* barrier = mbarriers_.find(target, copy.barrier);
  const std::uint32_t told = barrier == nullptr ? 0 : barrier->id;
  if (!brings_value) {
    core_.emit(event::CopyReadShared{.cta = copy.cta_linear,
                                     .copy = copy.id,
                                     .address = (copy.shared + first) | copy.cta->rank << kRankShift,
                                     .bytes = count,
                                     .barrier = told,
                                     .site = copy.site});
  }
  core_.emit(event::CopyWriteShared{.cta = target.linear,
                                    .copy = copy.id,
                                    .address = (destination + first) | target.rank << kRankShift,
                                    .bytes = count,
                                    .barrier = told,
                                    .site = copy.site});
  mbarriers_.complete_tx(target, copy.barrier, count, copy.id, copy.site);
}

void TmaEngine::read_source(Copy& copy) {
  const std::uint32_t keep = copy.box ? copy.shared % kSwizzleRepeat : 0;
  const std::uint64_t length = copy.box ? copy.box->shared_bytes() : copy.bytes;
  copy.staged.resize(keep + length);
  std::memcpy(copy.staged.data() + keep, copy.cta->shared + copy.shared, length);
  copy.source_was_read = true;
  if (core_.wants<event::CopyReadShared>()) {
    // The box lies where the buffer has it, as far from the start of a swizzle pattern as the source.
    const std::uint32_t moved = copy.box ? copy.shared - keep : 0;
    const SharedRange flat{copy.shared, copy.bytes};
    for (const SharedRange& range :
         copy.box ? copy.box->store_ranges(0, copy.box->rows()) : std::vector<SharedRange>{flat}) {
      core_.emit(event::CopyReadShared{.cta = copy.cta_linear,
                                       .copy = copy.id,
                                       .address = (range.address + moved) | copy.cta->rank << kRankShift,
                                       .bytes = range.bytes,
                                       .site = copy.site});
    }
  }
  if (copy.issuer->cta->linear == copy.cta_linear) {
    copy.issuer->groups.read_done(copy.group);
    group_changed(copy.issuer);
  }
}

void TmaEngine::land_store(Copy& copy, const Piece& piece) {
  Writer writer(core_.global());
  if (copy.box) {
    const std::span<const std::byte> staged(copy.staged);
    const CopyFault fault = copy.kind == CopyKind::kReduce
                                ? copy.box->reduce_rows(copy.op, piece.first, piece.count, staged, writer)
                                : copy.box->store_rows(piece.first, piece.count, staged, writer);
    if (fault) global_fault(copy, static_cast<std::uint64_t>(fault.value));
  } else {
    std::byte* target = writer.writable(copy.global + piece.first, piece.count);
    if (target == nullptr) global_fault(copy, copy.global + piece.first);
    if (copy.reduction != nullptr) {
      copy.reduction(target, copy.staged.data() + piece.first, static_cast<std::uint32_t>(piece.count));
    } else {
      std::memcpy(target, copy.staged.data() + piece.first, piece.count);
    }
  }
  if (copy.kind == CopyKind::kStore) note_written(copy, piece);
  if (!core_.wants<event::CopyWriteGlobal>()) return;
  for (const GlobalRange& range : global_ranges(copy, piece)) {
    core_.emit(event::CopyWriteGlobal{.cta = copy.cta_linear,
                                      .copy = copy.id,
                                      .global = range.address,
                                      .bytes = range.bytes,
                                      .site = copy.site});
  }
}

void TmaEngine::finish(std::size_t index) {
  const std::unique_ptr<Copy> copy = std::move(copies_[index]);
  copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(index));
  core_.emit(event::CopyDone{.cta = copy->cta_linear, .copy = copy->id, .site = copy->site});
  const bool in_group = copy->kind == CopyKind::kStore || copy->kind == CopyKind::kReduce;
  if (in_group && copy->issuer->cta->linear == copy->cta_linear) {
    copy->issuer->groups.finished(copy->group);
    group_changed(copy->issuer);
  }
}

const Copy* TmaEngine::touching(const Cta& cta, bool except_stores) const {
  for (const std::unique_ptr<Copy>& copy : copies_) {
    const bool is_store = copy->kind == CopyKind::kStore || copy->kind == CopyKind::kReduce;
    const bool reads = copy->kind != CopyKind::kLoad && copy->cta == &cta && !copy->source_was_read &&
                       !(is_store && except_stores);
    const bool writes = std::any_of(copy->pieces.begin(), copy->pieces.end(), [&](const Piece& piece) {
      return piece.target != nullptr && (piece.target == &cta || &signalled_by(*copy, *piece.target) == &cta);
    });
    if (reads || writes) return copy.get();
  }
  return nullptr;
}

const Copy* TmaEngine::completing_on(const Cta& cta, std::uint32_t barrier) const {
  for (const std::unique_ptr<Copy>& copy : copies_) {
    if (copy->barrier != barrier) continue;
    for (const Piece& piece : copy->pieces) {
      if (piece.target != nullptr && &signalled_by(*copy, *piece.target) == &cta) return copy.get();
    }
  }
  return nullptr;
}

const Copy* TmaEngine::filling(const Cta& cta, std::uint32_t offset) const {
  for (const std::unique_ptr<Copy>& copy : copies_) {
    const bool is_to_peer = copy->kind == CopyKind::kSharedToPeer || copy->kind == CopyKind::kStoreAsync;
    const std::uint32_t first = is_to_peer ? static_cast<std::uint32_t>(copy->global) : copy->shared;
    const std::uint64_t bytes = copy->box ? copy->box->shared_bytes() : copy->bytes;
    if (offset < first || offset >= first + bytes) continue;
    for (const Piece& piece : copy->pieces) {
      if (piece.target == &cta) return copy.get();
    }
  }
  return nullptr;
}

void TmaEngine::read_sources(const Cta& cta) {
  for (const std::unique_ptr<Copy>& copy : copies_) {
    const bool is_store = copy->kind == CopyKind::kStore || copy->kind == CopyKind::kReduce;
    if (is_store && copy->cta == &cta && !copy->source_was_read) read_source(*copy);
  }
}

void TmaEngine::cta_exit(const Cta& cta) {
  if (const Copy* copy = touching(cta); copy != nullptr) {
    const Fault mistake{
        FaultCode::kExitInFlight,
        fmt::format("{} exits while a {} of {} bytes is in flight on its shared memory",
                    core_.has_one_cta() ? std::string("the CTA") : core_.describe(cta), name_of(copy->kind),
                    copy->bytes),
        {fmt::format("likely: nobody waits for it before the end; {}",
                     copy->kind == CopyKind::kLoad ? "drain the pipeline, or wait for its full barrier"
                     : copy->kind == CopyKind::kStoreAsync || copy->kind == CopyKind::kSharedToPeer
                         ? "wait for the barrier that counts its bytes"
                         : "add cp_async_bulk_wait_group_read<0>() in the thread that issued it")}};
    const CallSite site = copy->site;
    // Memory that is only read can stay until it has been; what would be written is somebody else's by then.
    if (touching(cta, true) != nullptr)
      core_.fault(nullptr, site, mistake.code, mistake.headline, mistake.details);
    core_.judge(nullptr, site, {mistake.code, mistake.headline, mistake.details, {}, Verdict::kFormal});
    read_sources(cta);
  }
}

void TmaEngine::global_fault(const Copy& copy, std::uint64_t address) const {
  if (const GlobalMemory::Region* region = core_.global().find(address, 1);
      region != nullptr && !region->writable && copy.kind != CopyKind::kLoad) {
    core_.fault(nullptr, copy.site, FaultCode::kGlobalReadOnly,
                fmt::format("a {} of {} bytes at {}, which is read-only", name_of(copy.kind), copy.bytes,
                            core_.global().describe(address)));
  }
  core_.fault(
      nullptr, copy.site, FaultCode::kGlobalOutOfBounds,
      fmt::format("a {} of {} bytes reaches {}", name_of(copy.kind), copy.bytes,
                  core_.global().describe(address)),
      {"likely: the tensor map describes more than was allocated, or memory that the launch was not given"});
}

}  // namespace heddle::sim::machine
