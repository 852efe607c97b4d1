// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_run.h"

#include "runtime/copy.h"
#include "runtime/launch.h"

#include <chrono>
#include <utility>

namespace heddle::runtime {

GraphRun::GraphRun(std::shared_ptr<const GraphExec> exec, const void* stream)
    : exec_(std::move(exec)), stream_(stream) {}

Error GraphRun::advance(State& card) {
  host_.reset();
  // Another thread may have given everything back while a function of the host ran.
  if (next_ != 0 && card.resets != resets_) {
    branches_.clear();
    return Error::kContextIsDestroyed;
  }
  try {
    if (next_ == 0) begin(card);
    const Error error = run_nodes(card);
    if (!host_) finish(card);
    return error;
  } catch (...) {
    finish(card);
    throw;
  }
}

void GraphRun::begin(State& card) {
  resets_ = card.resets;
  if (exec_->chains == 1) return;
  done_.resize(exec_->nodes.size());
  branches_.reserve(exec_->chains - 1);
  const StreamOrder::Clock clock = card.streams.order.when_next(stream_);
  for (std::size_t chain = 1; chain < exec_->chains; ++chain) {
    const void* branch = card.streams.next_handle();
    card.streams.order.begin_branch(branch, clock);
    branches_.push_back(branch);
  }
}

Error GraphRun::run_nodes(State& card) {
  StreamOrder& order = card.streams.order;
  for (; next_ < exec_->nodes.size() && !host_; ++next_) {
    const GraphExec::Node& node = exec_->nodes[next_];
    const void* stream = handle_of(node.chain);
    for (const std::size_t d : node.dependencies) {
      if (exec_->nodes[d].chain != node.chain) order.wait_for(stream, done_[d]);
    }
    if (node.is_enabled) {
      const Error error = run_node(card, node.work, stream);
      if (error != Error::kSuccess || card.failed != Error::kSuccess) return error;
    }
    if (!done_.empty()) done_[next_] = order.when_done(stream);
  }
  return Error::kSuccess;
}

void GraphRun::finish(State& card) {
  next_ = exec_->nodes.size();
  StreamOrder& order = card.streams.order;
  for (const void* branch : branches_) {
    order.wait_for(stream_, order.when_done(branch));
    order.end_branch(branch);
  }
  branches_.clear();
}

Error GraphRun::run_node(State& card, const GraphWork& work, const void* stream) {
  card.stream = stream;
  // What was freed since the graph was made is no memory any more; a card finds that out when the node runs.
  const auto moved = [&](Error error) {
    if (error != Error::kSuccess && card.failed == Error::kSuccess) card.failed = Error::kIllegalAddress;
    return Error::kSuccess;
  };
  if (const auto* launch = std::get_if<LaunchWork>(&work)) {
    if (card.modules.has(launch->module, launch->module_number)) return run(card, *launch, stream);
    say("cudaGraphLaunch: the module of one of the graph's kernels was unloaded");
    return Error::kInvalidHandle;
  }
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    card.call = "the copy of a graph";
    return moved(copy_box(card, copy->to, copy->from, copy->extent, copy->kind));
  }
  if (const auto* fill = std::get_if<FillWork>(&work)) {
    card.call = "the fill of a graph";
    return moved(fill_box(card, fill->to, fill->value, fill->extent));
  }
  if (const auto* host = std::get_if<HostWork>(&work)) host_ = *host;
  if (const auto* record = std::get_if<RecordWork>(&work)) {
    Event* event = card.streams.find_event(record->event);
    if (event == nullptr) return Error::kInvalidHandle;
    event->recorded = std::chrono::steady_clock::now();
    card.streams.order.record(record->event, stream);
  }
  if (const auto* wait = std::get_if<WaitWork>(&work)) card.streams.order.wait_event(stream, wait->event);
  return Error::kSuccess;
}

}  // namespace heddle::runtime
