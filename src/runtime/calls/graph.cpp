// SPDX-License-Identifier: Apache-2.0
//
// Graphs as such: making them, and asking for their nodes and dependencies.
#include "runtime/calls/graph_call.h"
#include "runtime/version.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

using namespace heddle::runtime;

namespace {

Error create_graph(State& card, void** graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return Error::kInvalidValue;
  *graph = card.graphs.create().handle();
  return Error::kSuccess;
}

Error destroy_graph(State& card, void* graph) {
  const Graph* found = card.graphs.find(graph);
  if (found == nullptr || found->is_child || card.captures.has(*found)) return Error::kInvalidValue;
  card.graphs.destroy(graph);
  return Error::kSuccess;
}

Error clone_graph(State& card, void** clone, void* graph) {
  const Graph* found = card.graphs.find(graph);
  if (clone == nullptr || found == nullptr) return Error::kInvalidValue;
  *clone = card.graphs.clone(*found).handle();
  return Error::kSuccess;
}

Error find_in_clone(State& card, void** result, void* original, void* clone) {
  const Graph* found = card.graphs.find(clone);
  if (result == nullptr || found == nullptr) return Error::kInvalidValue;
  for (const auto& node : found->nodes()) {
    if (node->original != original) continue;
    *result = node->handle;
    return Error::kSuccess;
  }
  return Error::kInvalidValue;
}

struct Link {
  void* from;
  void* to;
  EdgeData data;
};

// CUDA: without room, the count alone is given; room that is not needed gets null.
Error give_list(const std::vector<Link>& list, void** from, void** to, EdgeData* data, std::size_t* count) {
  if (count == nullptr) return Error::kInvalidValue;
  if (from == nullptr && to == nullptr) {
    *count = list.size();
    return Error::kSuccess;
  }
  for (std::size_t l = 0; l < *count; ++l) {
    const Link link = l < list.size() ? list[l] : Link{};
    if (from != nullptr) from[l] = link.from;
    if (to != nullptr) to[l] = link.to;
    if (data != nullptr) data[l] = link.data;
  }
  *count = std::min(*count, list.size());
  return Error::kSuccess;
}

Error get_nodes(State& card, void* graph, void** nodes, std::size_t* count, bool only_roots) {
  const Graph* found = card.graphs.find(graph);
  if (found == nullptr) return Error::kInvalidValue;
  std::vector<Link> list;
  for (const auto& node : found->nodes()) {
    if (!only_roots || node->dependencies.empty()) list.push_back({node->handle, nullptr, {}});
  }
  return give_list(list, nodes, nullptr, nullptr, count);
}

Error get_edges(State& card, void* graph, void** from, void** to, EdgeData* data, std::size_t* count) {
  const Graph* found = card.graphs.find(graph);
  if (found == nullptr || (from == nullptr) != (to == nullptr)) return Error::kInvalidValue;
  std::vector<Link> list;
  for (const auto& node : found->nodes()) {
    for (const GraphEdge& edge : node->dependencies) list.push_back({edge.from->handle, node->handle, edge.data});
  }
  return give_list(list, from, to, data, count);
}

Error get_dependencies(State& card, void* node, void** nodes, EdgeData* data, std::size_t* count) {
  const GraphNode* found = card.graphs.find_node(node);
  if (found == nullptr) return Error::kInvalidValue;
  std::vector<Link> list;
  for (const GraphEdge& edge : found->dependencies) list.push_back({edge.from->handle, nullptr, edge.data});
  return give_list(list, nodes, nullptr, data, count);
}

Error get_dependents(State& card, void* node, void** nodes, EdgeData* data, std::size_t* count) {
  const GraphNode* found = card.graphs.find_node(node);
  if (found == nullptr) return Error::kInvalidValue;
  std::vector<Link> list;
  for (const auto& other : found->graph->nodes()) {
    for (const GraphEdge& edge : other->dependencies) {
      if (edge.from == found) list.push_back({other->handle, nullptr, edge.data});
    }
  }
  return give_list(list, nodes, nullptr, data, count);
}

// Both ends of each edge must be nodes of the graph; nothing is changed before all are looked at.
Error find_ends(State& card, void* graph, void* const* from, void* const* to, std::size_t count,
                std::vector<std::pair<GraphNode*, GraphNode*>>& ends) {
  const Graph* found = card.graphs.find(graph);
  if (found == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return Error::kInvalidValue;
  for (std::size_t e = 0; e < count; ++e) {
    GraphNode* first = card.graphs.find_node(from[e]);
    GraphNode* second = card.graphs.find_node(to[e]);
    if (first == nullptr || second == nullptr || first == second) return Error::kInvalidValue;
    if (first->graph != found || second->graph != found) return Error::kInvalidValue;
    ends.emplace_back(first, second);
  }
  return Error::kSuccess;
}

Error add_edges(State& card, void* graph, void* const* from, void* const* to, const EdgeData* data,
                std::size_t count) {
  std::vector<std::pair<GraphNode*, GraphNode*>> ends;
  if (const Error error = find_ends(card, graph, from, to, count, ends); error != Error::kSuccess) return error;
  for (const auto& end : ends) {
    const auto is_same = [&](const GraphEdge& edge) { return edge.from == end.first; };
    const auto& there = end.second->dependencies;
    if (std::any_of(there.begin(), there.end(), is_same)) return Error::kInvalidValue;
  }
  for (std::size_t e = 0; e < count; ++e) {
    ends[e].second->dependencies.push_back({ends[e].first, data == nullptr ? EdgeData{} : data[e]});
  }
  return Error::kSuccess;
}

Error remove_edges(State& card, void* graph, void* const* from, void* const* to, std::size_t count) {
  std::vector<std::pair<GraphNode*, GraphNode*>> ends;
  if (const Error error = find_ends(card, graph, from, to, count, ends); error != Error::kSuccess) return error;
  for (const auto& [from_node, to_node] : ends) {
    const auto is_same = [from = from_node](const GraphEdge& edge) { return edge.from == from; };
    if (std::none_of(to_node->dependencies.begin(), to_node->dependencies.end(), is_same))
      return Error::kInvalidValue;
  }
  for (const auto& end : ends) {
    std::erase_if(end.second->dependencies, [&](const GraphEdge& edge) { return edge.from == end.first; });
  }
  return Error::kSuccess;
}

Error destroy_node(State& card, void* node) {
  GraphNode* found = card.graphs.find_node(node);
  if (found == nullptr || card.captures.has(*found->graph)) return Error::kInvalidValue;
  card.graphs.remove(*found);
  return Error::kSuccess;
}

Error get_type(State& card, void* node, int* type) {
  const GraphNode* found = card.graphs.find_node(node);
  if (found == nullptr || type == nullptr) return Error::kInvalidValue;
  *type = found->type();
  return Error::kSuccess;
}

}  // namespace

HEDDLE_BOTH_CALLS(cudaGraphCreate, cuGraphCreate, (void** graph, unsigned flags),
                  create_graph(card, graph, flags))
HEDDLE_BOTH_CALLS(cudaGraphDestroy, cuGraphDestroy, (void* graph), destroy_graph(card, graph))
HEDDLE_BOTH_CALLS(cudaGraphClone, cuGraphClone, (void** clone, void* graph), clone_graph(card, clone, graph))
HEDDLE_BOTH_CALLS(cudaGraphNodeFindInClone, cuGraphNodeFindInClone, (void** node, void* original, void* clone),
                  find_in_clone(card, node, original, clone))
HEDDLE_BOTH_CALLS(cudaGraphGetNodes, cuGraphGetNodes, (void* graph, void** nodes, std::size_t* count),
                  get_nodes(card, graph, nodes, count, false))
HEDDLE_BOTH_CALLS(cudaGraphGetRootNodes, cuGraphGetRootNodes, (void* graph, void** nodes, std::size_t* count),
                  get_nodes(card, graph, nodes, count, true))
HEDDLE_BOTH_CALLS(cudaGraphDestroyNode, cuGraphDestroyNode, (void* node), destroy_node(card, node))
HEDDLE_BOTH_CALLS(cudaGraphNodeGetType, cuGraphNodeGetType, (void* node, int* type), get_type(card, node, type))

// CUDA 12.3 gave edges data, under new names (_v2) at first. The driver kept them; the runtime gave them the old
// names in CUDA 13.
HEDDLE_BOTH_CALLS(cudaGraphGetEdges_v2, cuGraphGetEdges_v2,
                  (void* graph, void** from, void** to, EdgeData* data, std::size_t* count),
                  get_edges(card, graph, from, to, data, count))
HEDDLE_BOTH_CALLS(cudaGraphNodeGetDependencies_v2, cuGraphNodeGetDependencies_v2,
                  (void* node, void** nodes, EdgeData* data, std::size_t* count),
                  get_dependencies(card, node, nodes, data, count))
HEDDLE_BOTH_CALLS(cudaGraphNodeGetDependentNodes_v2, cuGraphNodeGetDependentNodes_v2,
                  (void* node, void** nodes, EdgeData* data, std::size_t* count),
                  get_dependents(card, node, nodes, data, count))
HEDDLE_BOTH_CALLS(cudaGraphAddDependencies_v2, cuGraphAddDependencies_v2,
                  (void* graph, void* const* from, void* const* to, const EdgeData* data, std::size_t count),
                  add_edges(card, graph, from, to, data, count))
HEDDLE_BOTH_CALLS(cudaGraphRemoveDependencies_v2, cuGraphRemoveDependencies_v2,
                  (void* graph, void* const* from, void* const* to, const EdgeData*, std::size_t count),
                  remove_edges(card, graph, from, to, count))

HEDDLE_CUDA_CALL int cuGraphGetEdges(void* graph, void** from, void** to, std::size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

HEDDLE_CUDA_CALL int cuGraphNodeGetDependencies(void* node, void** nodes, std::size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

HEDDLE_CUDA_CALL int cuGraphNodeGetDependentNodes(void* node, void** nodes, std::size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

HEDDLE_CUDA_CALL int cuGraphAddDependencies(void* graph, void* const* from, void* const* to, std::size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

HEDDLE_CUDA_CALL int cuGraphRemoveDependencies(void* graph, void* const* from, void* const* to,
                                               std::size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

// The data of edges comes before the count in CUDA 13, and does not come at all in CUDA 12.
HEDDLE_CUDA_CALL int cudaGraphGetEdges(void* graph, void** from, void** to, void* data, std::size_t* count) {
  return cudart_major() == 12 ? cudaGraphGetEdges_v2(graph, from, to, nullptr, static_cast<std::size_t*>(data))
                              : cudaGraphGetEdges_v2(graph, from, to, static_cast<EdgeData*>(data), count);
}

HEDDLE_CUDA_CALL int cudaGraphNodeGetDependencies(void* node, void** nodes, void* data, std::size_t* count) {
  return cudart_major() == 12
             ? cudaGraphNodeGetDependencies_v2(node, nodes, nullptr, static_cast<std::size_t*>(data))
             : cudaGraphNodeGetDependencies_v2(node, nodes, static_cast<EdgeData*>(data), count);
}

HEDDLE_CUDA_CALL int cudaGraphNodeGetDependentNodes(void* node, void** nodes, void* data, std::size_t* count) {
  return cudart_major() == 12
             ? cudaGraphNodeGetDependentNodes_v2(node, nodes, nullptr, static_cast<std::size_t*>(data))
             : cudaGraphNodeGetDependentNodes_v2(node, nodes, static_cast<EdgeData*>(data), count);
}

HEDDLE_CUDA_CALL int cudaGraphAddDependencies(void* graph, void* const* from, void* const* to, const void* data,
                                              std::size_t count) {
  return cudart_major() == 12
             ? cudaGraphAddDependencies_v2(graph, from, to, nullptr, reinterpret_cast<std::size_t>(data))
             : cudaGraphAddDependencies_v2(graph, from, to, static_cast<const EdgeData*>(data), count);
}

HEDDLE_CUDA_CALL int cudaGraphRemoveDependencies(void* graph, void* const* from, void* const* to,
                                                 const void* data, std::size_t count) {
  const bool is_12 = cudart_major() == 12;
  return cudaGraphRemoveDependencies_v2(graph, from, to, nullptr,
                                        is_12 ? reinterpret_cast<std::size_t>(data) : count);
}
