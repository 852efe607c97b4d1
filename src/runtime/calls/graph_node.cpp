// SPDX-License-Identifier: Apache-2.0
//
// Nodes of graphs: adding them, what they do, and changing that, in the graph or in what was made of it.
#include "runtime/calls/graph_call.h"
#include "runtime/copy.h"
#include "runtime/copy_layouts.h"
#include "runtime/launch.h"
#include "runtime/launch_attributes.h"
#include "runtime/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

using namespace heddle::runtime;
namespace isa = heddle::isa;

namespace {

// As CUDA's headers lay them out, for the runtime and the driver.
struct KernelParameters {
  void* function;
  isa::Dim3 grid;
  isa::Dim3 block;
  unsigned shared;
  void** arguments;
  void** extra;
};
static_assert(sizeof(KernelParameters) == 56);

struct DriverKernelParameters : KernelParameters {
  void* kernel;  // where there is no function
  void* context;
};

struct FillParameters {
  void* to;
  std::size_t pitch;
  unsigned value;
  unsigned element_bytes;
  std::size_t width;  // elements
  std::size_t height;
};
static_assert(sizeof(FillParameters) == 40);

struct HostParameters {
  void (*function)(void*);
  void* data;
};

// What a node is to do, and how the program calls its kernel.
struct Job {
  GraphWork work;
  const void* function = nullptr;
};

Error job_of(State& card, const KernelParameters* parameters, Job& job) {
  if (parameters == nullptr) return Error::kInvalidValue;
  const Kernel* kernel = card.modules.find_kernel(parameters->function);
  if (kernel == nullptr) {
    return parameters->function == nullptr ? Error::kInvalidDeviceFunction : Error::kInvalidHandle;
  }
  LaunchRequest request{
      .grid = parameters->grid, .block = parameters->block, .dynamic_shared = parameters->shared};
  Error error = add_arguments(request, parameters->arguments, parameters->extra);
  LaunchWork work;
  if (error == Error::kSuccess) error = prepare(card, *kernel, request, work);
  job = {std::move(work), parameters->function};
  return error;
}

Error job_of(State& card, const DriverKernelParameters* parameters, Job& job) {
  if (parameters == nullptr) return Error::kInvalidValue;
  KernelParameters first = *parameters;
  if (first.function == nullptr) first.function = parameters->kernel;
  return job_of(card, &first, job);
}

template <class Layout>
Error job_of_copy(const State& card, const Layout* parameters, Job& job) {
  CopyWork work;
  const Error error = parameters == nullptr ? Error::kInvalidValue : work_of(*parameters, work);
  job.work = work;
  return error != Error::kSuccess ? error : check_copy(card, work);
}

Error job_of(State& card, const Copy3D* parameters, Job& job) { return job_of_copy(card, parameters, job); }
Error job_of(State& card, const DriverCopy3D* parameters, Job& job) { return job_of_copy(card, parameters, job); }

Error job_of(State& card, const FillParameters* parameters, Job& job) {
  if (parameters == nullptr) return Error::kInvalidValue;
  const unsigned bytes = parameters->element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4) return Error::kInvalidValue;
  FillWork work;
  work.to = {.begin = parameters->to, .pitch = parameters->pitch};
  if (!multiply(parameters->width, bytes, work.extent.width)) return Error::kInvalidValue;
  work.extent.height = parameters->height;
  work.value.resize(bytes);
  std::memcpy(work.value.data(), &parameters->value, bytes);
  const Error error = check_fill(card, work);
  job.work = std::move(work);
  return error;
}

Error job_of(State&, const HostParameters* parameters, Job& job) {
  if (parameters == nullptr || parameters->function == nullptr) return Error::kInvalidValue;
  job.work = HostWork{parameters->function, parameters->data};
  return Error::kSuccess;
}

struct Copy1D {
  void* to;
  const void* from;
  std::size_t bytes;
  int kind;
};

Error job_of(State& card, const Copy1D* copy, Job& job) {
  if (copy->kind < kHostToHost || copy->kind > kDefault) return Error::kInvalidMemcpyDirection;
  const CopyWork work{
      {.begin = copy->to}, {.begin = const_cast<void*>(copy->from)}, {.width = copy->bytes}, copy->kind};
  job.work = work;
  return check_copy(card, work);
}

struct ChildParameters {
  void* graph;
};

Error job_of(State& card, const ChildParameters* child, Job& job) {
  const Graph* graph = card.graphs.find(child->graph);
  if (graph == nullptr) return Error::kInvalidValue;
  job.work = ChildWork{card.graphs.share(*graph)};
  return Error::kSuccess;
}

struct EmptyParameters {};

Error job_of(State&, const EmptyParameters*, Job& job) {
  job.work = EmptyWork{};
  return Error::kSuccess;
}

template <class Work>
struct EventParameters {
  void* event;
};

template <class Work>
Error job_of(State& card, const EventParameters<Work>* parameters, Job& job) {
  if (parameters->event == nullptr) return Error::kInvalidValue;
  if (card.streams.find_event(parameters->event) == nullptr) return Error::kInvalidHandle;
  job.work = Work{parameters->event};
  return Error::kSuccess;
}

// cudaGraphNodeParams and CUgraphNodeParams, which differ in the copy alone.
struct AnyParameters {
  int type;
  int reserved[3];
  std::byte body[232];
  long long reserved_too;

  template <class T>
  const T* as(std::size_t offset = 0) const {
    return reinterpret_cast<const T*>(body + offset);
  }
};
static_assert(sizeof(AnyParameters) == 256);

enum NodeType : int {
  kKernelNode,
  kCopyNode,
  kFillNode,
  kHostNode,
  kChildNode,
  kEmptyNode,
  kWaitNode,
  kRecordNode,
  kLastNode = 13  // of those that CUDA 13.0 has
};

Error job_of(State& card, const AnyParameters* parameters, bool is_driver, Job& job) {
  if (parameters == nullptr) return Error::kInvalidValue;
  constexpr std::size_t kCopyOffset = 16;        // after flags
  constexpr std::size_t kDriverCopyOffset = 16;  // after flags and the context
  switch (parameters->type) {
    case kKernelNode:
      return is_driver ? job_of(card, parameters->as<DriverKernelParameters>(), job)
                       : job_of(card, parameters->as<KernelParameters>(), job);
    case kCopyNode:
      return is_driver ? job_of(card, parameters->as<DriverCopy3D>(kDriverCopyOffset), job)
                       : job_of(card, parameters->as<Copy3D>(kCopyOffset), job);
    case kFillNode: return job_of(card, parameters->as<FillParameters>(), job);
    case kHostNode: return job_of(card, parameters->as<HostParameters>(), job);
    case kChildNode: return job_of(card, parameters->as<ChildParameters>(), job);
    case kEmptyNode: return job_of(card, parameters->as<EmptyParameters>(), job);
    case kWaitNode: return job_of(card, parameters->as<EventParameters<WaitWork>>(), job);
    case kRecordNode: return job_of(card, parameters->as<EventParameters<RecordWork>>(), job);
    default:
      if (parameters->type < 0 || parameters->type > kLastNode) return Error::kInvalidValue;
      say(fmt::format("a node of type {} is not there: semaphores, allocations, batches and conditions of graphs",
                      parameters->type));
      return Error::kNotSupported;
  }
}

bool has_twice(const std::vector<GraphEdge>& edges) {
  std::vector<const GraphNode*> from;
  for (const GraphEdge& edge : edges) from.push_back(edge.from);
  std::sort(from.begin(), from.end());
  return std::adjacent_find(from.begin(), from.end()) != from.end();
}

Error add_node(State& card, void** result, void* graph, void* const* dependencies, const EdgeData* data,
               std::size_t count, Job job) {
  Graph* found = card.graphs.find(graph);
  if (result == nullptr || found == nullptr || (count != 0 && dependencies == nullptr)) {
    return Error::kInvalidValue;
  }
  std::vector<GraphEdge> edges;
  for (std::size_t d = 0; d < count; ++d) {
    GraphNode* from = card.graphs.find_node(dependencies[d]);
    if (from == nullptr || from->graph != found) return Error::kInvalidValue;
    edges.push_back({from, data == nullptr ? EdgeData{} : data[d]});
  }
  if (has_twice(edges)) return Error::kInvalidValue;
  GraphNode& node = card.graphs.add(*found, std::move(job.work), std::move(edges));
  node.function = job.function;
  *result = node.handle;
  return Error::kSuccess;
}

template <class Parameters>
Error add_node_of(State& card, void** result, void* graph, void* const* dependencies, std::size_t count,
                  const Parameters* parameters) {
  Job job;
  const Error error = job_of(card, parameters, job);
  return error != Error::kSuccess ? error
                                  : add_node(card, result, graph, dependencies, nullptr, count, std::move(job));
}

Error add_any_node(State& card, void** result, void* graph, void* const* dependencies, const EdgeData* data,
                   std::size_t count, const AnyParameters* parameters, bool is_driver) {
  Job job;
  const Error error = job_of(card, parameters, is_driver, job);
  return error != Error::kSuccess ? error
                                  : add_node(card, result, graph, dependencies, data, count, std::move(job));
}

// A kernel keeps what it was launched with besides grid, block and arguments.
Error keep_attributes(State& card, GraphWork& work, const GraphWork& before) {
  auto* launch = std::get_if<LaunchWork>(&work);
  if (launch == nullptr) return Error::kSuccess;
  const LaunchRequest& old = std::get<LaunchWork>(before).request;
  LaunchRequest request = launch->request;
  request.is_cooperative = old.is_cooperative;
  request.is_programmatic = old.is_programmatic;
  request.cluster = old.cluster;
  request.buffer = launch->parameters.data();
  request.buffer_bytes = launch->parameters.size();
  LaunchWork kept;
  const Error error = prepare(card, *launch->kernel, request, kept);
  *launch = std::move(kept);
  return error;
}

// A node keeps its type.
Error change_node(State& card, GraphNode* node, Job job) {
  if (node == nullptr || node->work.index() != job.work.index()) return Error::kInvalidValue;
  if (const Error error = keep_attributes(card, job.work, node->work); error != Error::kSuccess) return error;
  card.graphs.change(*node, std::move(job.work));
  node->function = job.function;
  return Error::kSuccess;
}

template <class Parameters>
Error change_node_of(State& card, void* node, const Parameters* parameters) {
  Job job;
  const Error error = job_of(card, parameters, job);
  return error != Error::kSuccess ? error : change_node(card, card.graphs.find_node(node), std::move(job));
}

Error change_any_node(State& card, void* node, const AnyParameters* parameters, bool is_driver) {
  Job job;
  const Error error = job_of(card, parameters, is_driver, job);
  return error != Error::kSuccess ? error : change_node(card, card.graphs.find_node(node), std::move(job));
}

GraphExec::Node* find_in_exec(State& card, void* exec, const void* node) {
  const std::shared_ptr<GraphExec> found = card.graphs.find_exec(exec);
  if (found == nullptr) return nullptr;
  for (GraphExec::Node& one : found->nodes) {
    if (one.origin == node) return &one;
  }
  return nullptr;
}

Error change_exec(State& card, void* exec, void* node, Job job) {
  GraphExec::Node* found = find_in_exec(card, exec, node);
  if (found == nullptr || found->work.index() != job.work.index()) return Error::kInvalidValue;
  if (const Error error = keep_attributes(card, job.work, found->work); error != Error::kSuccess) return error;
  found->work = std::move(job.work);
  return Error::kSuccess;
}

template <class Parameters>
Error change_exec_of(State& card, void* exec, void* node, const Parameters* parameters) {
  Job job;
  const Error error = job_of(card, parameters, job);
  return error != Error::kSuccess ? error : change_exec(card, exec, node, std::move(job));
}

Error change_any_exec(State& card, void* exec, void* node, const AnyParameters* parameters, bool is_driver) {
  Job job;
  const Error error = job_of(card, parameters, is_driver, job);
  return error != Error::kSuccess ? error : change_exec(card, exec, node, std::move(job));
}

// The work of a node, if it is of this kind.
template <class Work>
Work* work_of_node(State& card, void* node) {
  GraphNode* found = card.graphs.find_node(node);
  return found == nullptr ? nullptr : std::get_if<Work>(&found->work);
}

Error get_kernel(State& card, void* node, KernelParameters* result) {
  auto* work = work_of_node<LaunchWork>(card, node);
  if (work == nullptr || result == nullptr) return Error::kInvalidValue;
  GraphNode& found = *card.graphs.find_node(node);
  found.arguments.clear();
  for (const std::size_t offset : work->offsets) found.arguments.push_back(work->parameters.data() + offset);
  const LaunchRequest& request = work->request;
  const void* function = found.function != nullptr ? found.function : work->kernel;
  *result = {
      const_cast<void*>(function), request.grid, request.block, static_cast<unsigned>(request.dynamic_shared),
      found.arguments.data(),      nullptr};
  return Error::kSuccess;
}

Error get_driver_kernel(State& card, void* node, DriverKernelParameters* result) {
  if (result == nullptr) return Error::kInvalidValue;
  const Error error = get_kernel(card, node, result);
  if (error != Error::kSuccess) return error;
  result->kernel = result->function;
  result->context = nullptr;
  return error;
}

Error get_fill(State& card, void* node, FillParameters* result) {
  const auto* work = work_of_node<FillWork>(card, node);
  if (work == nullptr || result == nullptr) return Error::kInvalidValue;
  *result = {work->to.begin,     work->to.pitch, 0, static_cast<unsigned>(work->value.size()), 0,
             work->extent.height};
  std::memcpy(&result->value, work->value.data(), work->value.size());
  result->width = work->extent.width / work->value.size();
  return Error::kSuccess;
}

Error get_host(State& card, void* node, HostParameters* result) {
  const auto* work = work_of_node<HostWork>(card, node);
  if (work == nullptr || result == nullptr) return Error::kInvalidValue;
  *result = {work->function, work->data};
  return Error::kSuccess;
}

Error get_child(State& card, void* node, void** graph) {
  const auto* work = work_of_node<ChildWork>(card, node);
  if (work == nullptr || graph == nullptr) return Error::kInvalidValue;
  *graph = work->graph->handle();
  return Error::kSuccess;
}

template <class Work>
Error get_event(State& card, void* node, void** event) {
  const auto* work = work_of_node<Work>(card, node);
  if (work == nullptr || event == nullptr) return Error::kInvalidValue;
  *event = work->event;
  return Error::kSuccess;
}

// With what it was launched with, as attributes of launches name it.
Error set_node_attribute(State& card, void* node, int id, const void* value) {
  auto* work = work_of_node<LaunchWork>(card, node);
  if (work == nullptr || value == nullptr || !card.modules.has(work->module, work->module_number))
    return Error::kInvalidValue;
  LaunchAttribute attribute = {};
  attribute.id = id;
  std::memcpy(attribute.bytes, value, sizeof(attribute.bytes));
  LaunchRequest request = work->request;
  set_attribute(request, attribute);
  request.buffer = work->parameters.data();
  request.buffer_bytes = work->parameters.size();
  LaunchWork changed;
  const Error error = prepare(card, *work->kernel, request, changed);
  if (error == Error::kSuccess) *work = std::move(changed);
  return error;
}

Error get_node_attribute(State& card, void* node, int id, void* value) {
  const auto* work = work_of_node<LaunchWork>(card, node);
  if (work == nullptr || value == nullptr) return Error::kInvalidValue;
  const LaunchAttribute attribute = attribute_of(work->request, id);
  std::memcpy(value, attribute.bytes, sizeof(attribute.bytes));
  return Error::kSuccess;
}

Error copy_node_attributes(State& card, void* to, void* from) {
  auto* target = work_of_node<LaunchWork>(card, to);
  const auto* source = work_of_node<LaunchWork>(card, from);
  if (target == nullptr || source == nullptr) return Error::kInvalidValue;
  target->request.cluster = source->request.cluster;
  target->request.is_cooperative = source->request.is_cooperative;
  return Error::kSuccess;
}

Error set_enabled(State& card, void* exec, void* node, unsigned is_enabled) {
  GraphExec::Node* found = find_in_exec(card, exec, node);
  // CUDA: of kernels, copies and fills.
  if (found == nullptr || found->work.index() > kFillNode) return Error::kInvalidValue;
  found->is_enabled = is_enabled != 0;
  return Error::kSuccess;
}

Error get_enabled(State& card, void* exec, void* node, unsigned* is_enabled) {
  const GraphExec::Node* found = find_in_exec(card, exec, node);
  if (found == nullptr || is_enabled == nullptr) return Error::kInvalidValue;
  *is_enabled = found->is_enabled ? 1 : 0;
  return Error::kSuccess;
}

}  // namespace

#define HEDDLE_DEPENDENCIES void **node, void *graph, void *const *dependencies, std::size_t count

HEDDLE_BOTH_CALLS(cudaGraphAddKernelNode, cuGraphAddKernelNode,
                  (HEDDLE_DEPENDENCIES, const KernelParameters* parameters),
                  add_node_of(card, node, graph, dependencies, count, parameters))
HEDDLE_BOTH_CALLS(cudaGraphAddMemsetNode, cuGraphAddMemsetNode,
                  (HEDDLE_DEPENDENCIES, const FillParameters* parameters),
                  add_node_of(card, node, graph, dependencies, count, parameters))
HEDDLE_BOTH_CALLS(cudaGraphAddHostNode, cuGraphAddHostNode,
                  (HEDDLE_DEPENDENCIES, const HostParameters* parameters),
                  add_node_of(card, node, graph, dependencies, count, parameters))
HEDDLE_BOTH_CALLS(cudaGraphAddEmptyNode, cuGraphAddEmptyNode, (HEDDLE_DEPENDENCIES),
                  add_node(card, node, graph, dependencies, nullptr, count, {EmptyWork{}}))

HEDDLE_CUDA_CALL int cuGraphAddKernelNode_v2(HEDDLE_DEPENDENCIES, const DriverKernelParameters* parameters) {
  return driver_call("cuGraphAddKernelNode", [&](State& card) {
    return add_node_of(card, node, graph, dependencies, count, parameters);
  });
}

HEDDLE_CUDA_CALL int cudaGraphAddMemcpyNode(HEDDLE_DEPENDENCIES, const Copy3D* parameters) {
  return call("cudaGraphAddMemcpyNode",
              [&](State& card) { return add_node_of(card, node, graph, dependencies, count, parameters); });
}

HEDDLE_CUDA_CALL int cuGraphAddMemcpyNode(HEDDLE_DEPENDENCIES, const DriverCopy3D* parameters, void*) {
  return driver_call("cuGraphAddMemcpyNode", [&](State& card) {
    return add_node_of(card, node, graph, dependencies, count, parameters);
  });
}

HEDDLE_CUDA_CALL int cudaGraphAddMemcpyNode1D(HEDDLE_DEPENDENCIES, void* to, const void* from, std::size_t bytes,
                                              int kind) {
  return call("cudaGraphAddMemcpyNode1D", [&](State& card) {
    const Copy1D copy{to, from, bytes, kind};
    return add_node_of(card, node, graph, dependencies, count, &copy);
  });
}

namespace {

Error add_child(State& card, HEDDLE_DEPENDENCIES, void* child) {
  const ChildParameters parameters{child};
  return add_node_of(card, node, graph, dependencies, count, &parameters);
}

template <class Work>
Error add_event(State& card, HEDDLE_DEPENDENCIES, void* event) {
  const EventParameters<Work> parameters{event};
  return add_node_of(card, node, graph, dependencies, count, &parameters);
}

template <class Work>
Error change_event(State& card, void* node, void* event) {
  const EventParameters<Work> parameters{event};
  return change_node_of(card, node, &parameters);
}

template <class Work>
Error change_exec_event(State& card, void* exec, void* node, void* event) {
  const EventParameters<Work> parameters{event};
  return change_exec_of(card, exec, node, &parameters);
}

}  // namespace

HEDDLE_BOTH_CALLS(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode, (HEDDLE_DEPENDENCIES, void* child),
                  add_child(card, node, graph, dependencies, count, child))
HEDDLE_BOTH_CALLS(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode, (HEDDLE_DEPENDENCIES, void* event),
                  add_event<RecordWork>(card, node, graph, dependencies, count, event))
HEDDLE_BOTH_CALLS(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode, (HEDDLE_DEPENDENCIES, void* event),
                  add_event<WaitWork>(card, node, graph, dependencies, count, event))

HEDDLE_CUDA_CALL int cudaGraphAddNode_v2(void** node, void* graph, void* const* dependencies,
                                         const EdgeData* data, std::size_t count,
                                         const AnyParameters* parameters) {
  return call("cudaGraphAddNode", [&](State& card) {
    return add_any_node(card, node, graph, dependencies, data, count, parameters, false);
  });
}

// Without the data of edges in CUDA 12.
HEDDLE_CUDA_CALL int cudaGraphAddNode(void** node, void* graph, void* const* dependencies, const void* data,
                                      std::size_t count, const AnyParameters* parameters) {
  if (cudart_major() != 12) {
    return cudaGraphAddNode_v2(node, graph, dependencies, static_cast<const EdgeData*>(data), count, parameters);
  }
  return cudaGraphAddNode_v2(node, graph, dependencies, nullptr, reinterpret_cast<std::size_t>(data),
                             reinterpret_cast<const AnyParameters*>(count));
}

HEDDLE_CUDA_CALL int cuGraphAddNode_v2(void** node, void* graph, void* const* dependencies, const EdgeData* data,
                                       std::size_t count, const AnyParameters* parameters) {
  return driver_call("cuGraphAddNode", [&](State& card) {
    return add_any_node(card, node, graph, dependencies, data, count, parameters, true);
  });
}

HEDDLE_CUDA_CALL int cuGraphAddNode(HEDDLE_DEPENDENCIES, const AnyParameters* parameters) {
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, parameters);
}

#undef HEDDLE_DEPENDENCIES

HEDDLE_BOTH_CALLS(cudaGraphKernelNodeGetParams, cuGraphKernelNodeGetParams,
                  (void* node, KernelParameters* parameters), get_kernel(card, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphKernelNodeSetParams, cuGraphKernelNodeSetParams,
                  (void* node, const KernelParameters* parameters), change_node_of(card, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams,
                  (void* exec, void* node, const KernelParameters* parameters),
                  change_exec_of(card, exec, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams,
                  (void* node, FillParameters* parameters), get_fill(card, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams,
                  (void* node, const FillParameters* parameters), change_node_of(card, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams,
                  (void* exec, void* node, const FillParameters* parameters),
                  change_exec_of(card, exec, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphHostNodeGetParams, cuGraphHostNodeGetParams, (void* node, HostParameters* parameters),
                  get_host(card, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphHostNodeSetParams, cuGraphHostNodeSetParams,
                  (void* node, const HostParameters* parameters), change_node_of(card, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams,
                  (void* exec, void* node, const HostParameters* parameters),
                  change_exec_of(card, exec, node, parameters))
HEDDLE_BOTH_CALLS(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, (void* node, void** graph),
                  get_child(card, node, graph))
HEDDLE_BOTH_CALLS(cudaGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent, (void* node, void** event),
                  get_event<RecordWork>(card, node, event))
HEDDLE_BOTH_CALLS(cudaGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent, (void* node, void** event),
                  get_event<WaitWork>(card, node, event))
HEDDLE_BOTH_CALLS(cudaGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent, (void* node, void* event),
                  change_event<RecordWork>(card, node, event))
HEDDLE_BOTH_CALLS(cudaGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent, (void* node, void* event),
                  change_event<WaitWork>(card, node, event))
HEDDLE_BOTH_CALLS(cudaGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
                  (void* exec, void* node, void* event), change_exec_event<RecordWork>(card, exec, node, event))
HEDDLE_BOTH_CALLS(cudaGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
                  (void* exec, void* node, void* event), change_exec_event<WaitWork>(card, exec, node, event))
HEDDLE_BOTH_CALLS(cudaGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute,
                  (void* node, int id, const void* value), set_node_attribute(card, node, id, value))
HEDDLE_BOTH_CALLS(cudaGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute,
                  (void* node, int id, void* value), get_node_attribute(card, node, id, value))
HEDDLE_BOTH_CALLS(cudaGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, (void* to, void* from),
                  copy_node_attributes(card, to, from))
HEDDLE_BOTH_CALLS(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled, (void* exec, void* node, unsigned is_enabled),
                  set_enabled(card, exec, node, is_enabled))
HEDDLE_BOTH_CALLS(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled, (void* exec, void* node, unsigned* is_enabled),
                  get_enabled(card, exec, node, is_enabled))

HEDDLE_CUDA_CALL int cuGraphKernelNodeGetParams_v2(void* node, DriverKernelParameters* parameters) {
  return driver_call("cuGraphKernelNodeGetParams",
                     [&](State& card) { return get_driver_kernel(card, node, parameters); });
}

HEDDLE_CUDA_CALL int cuGraphKernelNodeSetParams_v2(void* node, const DriverKernelParameters* parameters) {
  return driver_call("cuGraphKernelNodeSetParams",
                     [&](State& card) { return change_node_of(card, node, parameters); });
}

HEDDLE_CUDA_CALL int cuGraphExecKernelNodeSetParams_v2(void* exec, void* node,
                                                       const DriverKernelParameters* parameters) {
  return driver_call("cuGraphExecKernelNodeSetParams",
                     [&](State& card) { return change_exec_of(card, exec, node, parameters); });
}

HEDDLE_CUDA_CALL int cudaGraphMemcpyNodeGetParams(void* node, Copy3D* parameters) {
  return call("cudaGraphMemcpyNodeGetParams", [&](State& card) {
    const auto* work = work_of_node<CopyWork>(card, node);
    if (work == nullptr || parameters == nullptr) return Error::kInvalidValue;
    *parameters = copy_3d_of(*work);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuGraphMemcpyNodeGetParams(void* node, DriverCopy3D* parameters) {
  return driver_call("cuGraphMemcpyNodeGetParams", [&](State& card) {
    const auto* work = work_of_node<CopyWork>(card, node);
    if (work == nullptr || parameters == nullptr) return Error::kInvalidValue;
    *parameters = driver_copy_3d_of(*work);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaGraphMemcpyNodeSetParams(void* node, const Copy3D* parameters) {
  return call("cudaGraphMemcpyNodeSetParams",
              [&](State& card) { return change_node_of(card, node, parameters); });
}

HEDDLE_CUDA_CALL int cuGraphMemcpyNodeSetParams(void* node, const DriverCopy3D* parameters) {
  return driver_call("cuGraphMemcpyNodeSetParams",
                     [&](State& card) { return change_node_of(card, node, parameters); });
}

HEDDLE_CUDA_CALL int cudaGraphMemcpyNodeSetParams1D(void* node, void* to, const void* from, std::size_t bytes,
                                                    int kind) {
  return call("cudaGraphMemcpyNodeSetParams1D", [&](State& card) {
    const Copy1D copy{to, from, bytes, kind};
    return change_node_of(card, node, &copy);
  });
}

HEDDLE_CUDA_CALL int cudaGraphExecMemcpyNodeSetParams(void* exec, void* node, const Copy3D* parameters) {
  return call("cudaGraphExecMemcpyNodeSetParams",
              [&](State& card) { return change_exec_of(card, exec, node, parameters); });
}

HEDDLE_CUDA_CALL int cuGraphExecMemcpyNodeSetParams(void* exec, void* node, const DriverCopy3D* parameters,
                                                    void*) {
  return driver_call("cuGraphExecMemcpyNodeSetParams",
                     [&](State& card) { return change_exec_of(card, exec, node, parameters); });
}

HEDDLE_CUDA_CALL int cudaGraphExecMemcpyNodeSetParams1D(void* exec, void* node, void* to, const void* from,
                                                        std::size_t bytes, int kind) {
  return call("cudaGraphExecMemcpyNodeSetParams1D", [&](State& card) {
    const Copy1D copy{to, from, bytes, kind};
    return change_exec_of(card, exec, node, &copy);
  });
}

HEDDLE_CUDA_CALL int cudaGraphNodeSetParams(void* node, const AnyParameters* parameters) {
  return call("cudaGraphNodeSetParams",
              [&](State& card) { return change_any_node(card, node, parameters, false); });
}

HEDDLE_CUDA_CALL int cuGraphNodeSetParams(void* node, const AnyParameters* parameters) {
  return driver_call("cuGraphNodeSetParams",
                     [&](State& card) { return change_any_node(card, node, parameters, true); });
}

HEDDLE_CUDA_CALL int cudaGraphExecNodeSetParams(void* exec, void* node, const AnyParameters* parameters) {
  return call("cudaGraphExecNodeSetParams",
              [&](State& card) { return change_any_exec(card, exec, node, parameters, false); });
}

HEDDLE_CUDA_CALL int cuGraphExecNodeSetParams(void* exec, void* node, const AnyParameters* parameters) {
  return driver_call("cuGraphExecNodeSetParams",
                     [&](State& card) { return change_any_exec(card, exec, node, parameters, true); });
}
