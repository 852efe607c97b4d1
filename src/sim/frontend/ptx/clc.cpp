// SPDX-License-Identifier: Apache-2.0
//
// PTX: clusterlaunchcontrol.try_cancel, clusterlaunchcontrol.query_cancel.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <cstring>

namespace heddle::sim::ptx {

namespace {

// The response is a 128-bit register: rows a and b.
isa::Bytes16 response_of(const Warp& warp, const Instruction& i, std::uint32_t lane) {
  const std::uint64_t words[2] = {warp.rows[i.a][lane], warp.rows[i.b][lane]};
  isa::Bytes16 response;
  std::memcpy(&response, words, sizeof(response));
  return response;
}

// flags: 1: the response goes to all CTAs of the cluster. The second address is in c, with its offset in `more`.
std::uint32_t try_cancel(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->clc.try_cancel(warp.thread(l), static_cast<machine::SharedAddress>(warp.rows[i.a][l] + i.value),
                                 static_cast<machine::SharedAddress>(warp.rows[i.c][l] + i.more[0]), i.flags != 0,
                                 i.site);
  });
  return mask;
}

std::uint32_t is_canceled(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] = put(warp.machine->clc.is_canceled(warp.thread(l), response_of(warp, i, l), i.site));
  });
  return mask;
}

bool is_refusal(const isa::Bytes16& response) {
  return machine::decode_clc_response(response).state == machine::ClcResponseState::kRefused;
}

// What of the first CTA means nothing: all of it where the response does, or where it names none.
Undefined undefined_ctaid(Warp& warp, const Instruction& i, std::uint32_t lane, const isa::Bytes16& response) {
  constexpr std::uint64_t kWord = 0xffff'ffff;
  for (const std::uint32_t row : {i.a, i.b}) {
    const Undefined found = undefined_of(*warp.frame, row, lane);
    if (found.bits != 0) return {kWord, found.origin};
  }
  if (!is_refusal(response)) return {};
  return {kWord,
          note_origin(warp, {.kind = Origin::Kind::kRefusal, .tid = warp.thread(lane).tid, .instruction = &i})};
}

// Model: to ask for what a refusal does not name is no mistake, to use it is one: compilers ask before they look
// at is_canceled.
std::uint32_t first_ctaid(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const bool follows = warp.interpreter->follows_values();
  for_lanes(mask, [&](std::uint32_t l) {
    const isa::Bytes16 response = response_of(warp, i, l);
    const Undefined undefined = follows ? undefined_ctaid(warp, i, l, response) : Undefined{};
    isa::Dim3 id{response.word[1], response.word[2], response.word[3]};
    if (undefined.bits == 0 && !is_refusal(response)) {
      id = warp.machine->clc.first_ctaid(warp.thread(l), response, i.site);
    }
    const std::uint32_t parts[] = {id.x, id.y, id.z, 0};
    // flags: the first part that is wanted. The fourth is defined, whatever the others are.
    for (std::size_t p = 0; p < i.rows.size(); ++p) {
      const std::size_t part = i.flags + p;
      warp.rows[i.rows[p]][l] = parts[part];
      set_undefined(warp, *warp.frame, i.rows[p], l, part < 3 ? undefined : Undefined{});
    }
  });
  return mask;
}

void read_response(Build& b, std::size_t index) {
  b.out().a = b.source(index);
  const auto found = b.function().wide_rows.find(b.out().a);
  if (found == b.function().wide_rows.end()) b.fail("a 128-bit register is wanted");
  b.out().b = found->second;
}

}  // namespace

void add_clc_forms(FormTable& table) {
  table.add(
      "clusterlaunchcontrol.try_cancel.async[.shared::cta].mbarrier::complete_tx::bytes"
      "[.multicast::cluster::all].b128",
      [](Build& b) {
        b.want(2);
        b.address(0);
        std::uint64_t offset = 0;
        b.out().c = b.address_row(b.operand(1), offset);
        b.out().more = {static_cast<std::uint32_t>(offset)};
        b.out().flags = b.has(1) ? 1 : 0;
        b.machine(try_cancel);
      });
  table.add("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", [](Build& b) {
    b.want(2);
    b.out().d = b.target(0);
    read_response(b, 1);
    b.machine(is_canceled, false);
  });
  table.add("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", [](Build& b) {
    b.want(2);
    b.out().rows = b.targets(b.operand(0));
    if (b.out().rows.size() != 4) b.fail("four registers are wanted");
    read_response(b, 1);
    b.machine(first_ctaid, false);
  });
  table.add(
      "clusterlaunchcontrol.query_cancel{.get_first_ctaid::x,.get_first_ctaid::y,.get_first_ctaid::z}.b32.b128",
      [](Build& b) {
        b.want(2);
        b.out().rows = {b.target(0)};
        b.out().flags = static_cast<std::uint32_t>(b.mod(0).back() - 'x');
        read_response(b, 1);
        b.machine(first_ctaid, false);
      });
}

}  // namespace heddle::sim::ptx
