// SPDX-License-Identifier: Apache-2.0
//
// Graphs that are launched: making one of a graph, bringing it up to date, and running it.
#include "runtime/calls/graph_call.h"
#include "runtime/graph_run.h"

#include <cstdint>
#include <optional>
#include <utility>

using namespace heddle::runtime;

namespace {

// As CUDA's headers lay them out.
struct InstantiateParameters {
  std::uint64_t flags;
  void* stream;
  void* error_node;
  int result;
};

struct UpdateResult {
  int result;
  void* error_node;
  void* error_from;
};

enum : int { kUpdated = 0, kTopologyChanged = 2, kNodeTypeChanged = 3 };

constexpr std::uint64_t kDeviceLaunch = 4;
constexpr std::uint64_t kAllFlags = 15;

Error instantiate(State& card, void** exec, void* graph, std::uint64_t flags) {
  const Graph* found = card.graphs.find(graph);
  if (exec == nullptr || found == nullptr || flags > kAllFlags) return Error::kInvalidValue;
  if ((flags & kDeviceLaunch) != 0) {
    say("a graph that kernels launch is not there");
    return Error::kNotSupported;
  }
  std::shared_ptr<GraphExec> made = flatten(*found);
  if (made == nullptr) {
    say("a graph cannot be instantiated: dependencies of its nodes go in a circle");
    return Error::kInvalidValue;
  }
  made->flags = flags;
  *exec = card.graphs.add(std::move(made));
  return Error::kSuccess;
}

Error instantiate_with(State& card, void** exec, void* graph, InstantiateParameters* parameters) {
  if (parameters == nullptr) return Error::kInvalidValue;
  const Error error = instantiate(card, exec, graph, parameters->flags);
  parameters->error_node = nullptr;
  parameters->result = error == Error::kSuccess ? 0 : 1;
  return error;
}

Error destroy_exec(State& card, void* exec) {
  return card.graphs.destroy_exec(exec) ? Error::kSuccess : Error::kInvalidValue;
}

Error get_flags(State& card, void* exec, std::uint64_t* flags) {
  const std::shared_ptr<GraphExec> found = card.graphs.find_exec(exec);
  if (found == nullptr || flags == nullptr) return Error::kInvalidValue;
  *flags = found->flags;
  return Error::kSuccess;
}

Error upload(State& card, void* exec, void* stream) {
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  return card.graphs.find_exec(exec) == nullptr ? Error::kInvalidValue : Error::kSuccess;
}

// The same nodes with the same dependencies, in the order in which they were made; what they do may differ.
Error update(State& card, void* exec, void* graph, UpdateResult* result) {
  const std::shared_ptr<GraphExec> found = card.graphs.find_exec(exec);
  const Graph* source = card.graphs.find(graph);
  if (found == nullptr || source == nullptr) return Error::kInvalidValue;
  if (result != nullptr) *result = {};
  const std::shared_ptr<GraphExec> now = flatten(*source);
  const auto fail = [&](int why, const void* node) {
    if (result != nullptr) *result = {why, const_cast<void*>(node), nullptr};
    return Error::kGraphExecUpdateFailure;
  };
  if (now == nullptr || now->nodes.size() != found->nodes.size()) return fail(kTopologyChanged, nullptr);
  for (std::size_t n = 0; n < now->nodes.size(); ++n) {
    const GraphExec::Node& before = found->nodes[n];
    const GraphExec::Node& after = now->nodes[n];
    if (before.work.index() != after.work.index()) return fail(kNodeTypeChanged, after.origin);
    if (before.dependencies != after.dependencies) return fail(kTopologyChanged, after.origin);
  }
  // The handles by which nodes are changed later stay those of the first graph.
  for (std::size_t n = 0; n < now->nodes.size(); ++n) found->nodes[n].work = std::move(now->nodes[n].work);
  return Error::kSuccess;
}

// A run of its own: what is changed meanwhile, by a function of the host or another thread, is for the next one.
Error begin_run(State& card, void* exec, void* stream, std::optional<GraphRun>& run) {
  const std::shared_ptr<GraphExec> found = card.graphs.find_exec(exec);
  if (found == nullptr) return Error::kInvalidValue;
  bool is_captured = false;
  if (const Error error = card.captures.admit(stream, is_captured); error != Error::kSuccess) return error;
  if (is_captured) {
    say("a graph cannot be launched in a stream that captures; cudaGraphAddChildGraphNode puts it into another");
    card.captures.invalidate(stream);
    return Error::kStreamCaptureUnsupported;
  }
  run.emplace(std::make_shared<GraphExec>(*found), stream);
  return run->advance(card);
}

// Functions of the host run in between, without the lock.
template <class Frame>
int launch_graph(void* exec, void* stream, Frame&& frame) {
  std::optional<GraphRun> run;
  int code = frame([&](State& card) {
    return on_stream(card, stream, [&](State&) { return begin_run(card, exec, stream, run); });
  });
  while (code == 0 && run->host()) {
    run_host_function([&] { run->host()->function(run->host()->data); });
    code = frame([&](State& card) { return run->advance(card); });
  }
  return code;
}

}  // namespace

HEDDLE_BOTH_CALLS(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
                  (void** exec, void* graph, std::uint64_t flags), instantiate(card, exec, graph, flags))
HEDDLE_BOTH_CALLS(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams,
                  (void** exec, void* graph, InstantiateParameters* parameters),
                  instantiate_with(card, exec, graph, parameters))
HEDDLE_BOTH_CALLS(cudaGraphExecDestroy, cuGraphExecDestroy, (void* exec), destroy_exec(card, exec))
HEDDLE_BOTH_CALLS(cudaGraphExecGetFlags, cuGraphExecGetFlags, (void* exec, std::uint64_t* flags),
                  get_flags(card, exec, flags))
HEDDLE_BOTH_CALLS(cudaGraphUpload, cuGraphUpload, (void* exec, void* stream), upload(card, exec, stream))
HEDDLE_BOTH_CALLS(cudaGraphExecUpdate, cuGraphExecUpdate_v2, (void* exec, void* graph, UpdateResult* result),
                  update(card, exec, graph, result))

HEDDLE_CUDA_CALL int cudaGraphInstantiate(void** exec, void* graph, std::uint64_t flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

HEDDLE_CUDA_CALL int cudaGraphLaunch(void* exec, void* stream) {
  return launch_graph(exec, stream, [](auto&& body) { return call("cudaGraphLaunch", body); });
}

HEDDLE_CUDA_CALL int cuGraphLaunch(void* exec, void* stream) {
  return launch_graph(exec, stream, [](auto&& body) { return driver_call("cuGraphLaunch", body); });
}
