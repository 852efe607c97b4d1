// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

namespace heddle::runtime {

GraphNode& Graph::add(void* handle, GraphWork work, std::vector<GraphEdge> dependencies) {
  nodes_.push_back(std::make_unique<GraphNode>());
  GraphNode& node = *nodes_.back();
  node.handle = handle;
  node.graph = this;
  node.work = std::move(work);
  node.dependencies = std::move(dependencies);
  return node;
}

void Graph::remove(GraphNode& node) {
  for (const auto& other : nodes_) {
    std::erase_if(other->dependencies, [&](const GraphEdge& edge) { return edge.from == &node; });
  }
  std::erase_if(nodes_, [&](const auto& one) { return one.get() == &node; });
}

bool Graph::reaches(const GraphNode& from, const GraphNode& to) const {
  std::unordered_set<const GraphNode*> seen = {&to};
  std::vector<const GraphNode*> left = {&to};
  while (!left.empty()) {
    const GraphNode& node = *left.back();
    left.pop_back();
    if (&node == &from) return true;
    for (const GraphEdge& edge : node.dependencies) {
      if (seen.insert(edge.from).second) left.push_back(edge.from);
    }
  }
  return false;
}

namespace {

// Appends the graph's nodes, each after what it depends on; those without dependencies in it get `before`. Gives
// the last ones: those that nothing in it depends on.
std::optional<std::vector<std::size_t>> append(const Graph& graph, const std::vector<std::size_t>& before,
                                               GraphExec& exec) {
  std::unordered_map<const GraphNode*, std::vector<std::size_t>> ends;  // of a node: what its dependents wait for
  std::unordered_map<const GraphNode*, std::vector<std::size_t>> dependents;
  std::vector<std::size_t> waits_for;  // of each node: so many others
  std::set<std::size_t> ready;         // the one that was made first is taken first
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const GraphNode& node = *graph.nodes()[n];
    for (const GraphEdge& edge : node.dependencies) dependents[edge.from].push_back(n);
    waits_for.push_back(node.dependencies.size());
    if (waits_for.back() == 0) ready.insert(n);
  }
  if (graph.memory != nullptr) exec.memory.push_back(graph.memory);
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const GraphNode& node = *graph.nodes()[*ready.begin()];
    ready.erase(ready.begin());
    for (const std::size_t n : dependents[&node]) {
      if (--waits_for[n] == 0) ready.insert(n);
    }
    std::vector<std::size_t> dependencies = node.dependencies.empty() ? before : std::vector<std::size_t>();
    for (const GraphEdge& edge : node.dependencies) {
      dependencies.insert(dependencies.end(), ends[edge.from].begin(), ends[edge.from].end());
    }
    if (const auto* child = std::get_if<ChildWork>(&node.work)) {
      auto last = append(*child->graph, dependencies, exec);
      if (!last) return std::nullopt;
      ends[&node] = last->empty() ? dependencies : std::move(*last);
      continue;
    }
    exec.nodes.push_back({.origin = node.handle, .work = node.work, .dependencies = std::move(dependencies)});
    // Model: a kernel that depends on another programmatically and on something else as a whole waits for both.
    if (auto* launch = std::get_if<LaunchWork>(&exec.nodes.back().work)) {
      launch->request.is_programmatic =
          node.dependencies.size() == 1 && node.dependencies[0].data.type == EdgeData::kProgrammatic;
    }
    ends[&node] = {exec.nodes.size() - 1};
  }
  if (done != graph.nodes().size()) return std::nullopt;  // dependencies go in a circle
  std::vector<std::size_t> last;
  for (const auto& node : graph.nodes()) {
    if (dependents[node.get()].empty()) last.insert(last.end(), ends[node.get()].begin(), ends[node.get()].end());
  }
  return last;
}

}  // namespace

std::shared_ptr<GraphExec> flatten(const Graph& graph) {
  auto exec = std::make_shared<GraphExec>();
  if (!append(graph, {}, *exec)) return nullptr;
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> tails;  // the last node of each chain
  for (std::size_t n = 0; n < exec->nodes.size(); ++n) {
    GraphExec::Node& node = exec->nodes[n];
    std::size_t chain = kNone;
    for (const std::size_t d : node.dependencies) {
      if (chain == kNone && tails[exec->nodes[d].chain] == d) chain = exec->nodes[d].chain;
    }
    if (chain == kNone) {
      chain = tails.size();
      tails.push_back(n);
    }
    tails[chain] = n;
    node.chain = chain;
  }
  exec->chains = std::max<std::size_t>(tails.size(), 1);
  return exec;
}

void* Graphs::next_handle() {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 40;  // none of a stream's or an event's
  constexpr std::uint64_t kStep = 16;
  return reinterpret_cast<void*>(kFirst + kStep * count_++);
}

Graph& Graphs::create() {
  auto made = std::make_shared<Graph>(next_handle());
  Graph& graph = *made;
  graphs_.emplace(graph.handle(), std::move(made));
  return graph;
}

Graph* Graphs::find(const void* handle) {
  const auto found = graphs_.find(handle);
  return found == graphs_.end() ? nullptr : found->second.get();
}

void Graphs::forget(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    nodes_.erase(node->handle);
    if (const auto* child = std::get_if<ChildWork>(&node->work)) {
      forget(*child->graph);
      graphs_.erase(child->graph->handle());
    }
  }
}

bool Graphs::destroy(const void* handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) return false;
  forget(*found->second);
  graphs_.erase(handle);
  return true;
}

void Graphs::copy_nodes(const Graph& from, Graph& to) {
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : from.nodes()) {
    GraphNode& copy = add(to, node->work, {});
    copy.original = node->handle;
    copy.function = node->function;
    copies[node.get()] = &copy;
  }
  for (const auto& node : from.nodes()) {
    for (const GraphEdge& edge : node->dependencies)
      copies[node.get()]->dependencies.push_back({copies[edge.from], edge.data});
  }
}

Graph& Graphs::clone(const Graph& graph, std::size_t level) {
  constexpr std::size_t kMostNested = 500;
  if (level > kMostNested) throw InputError(fmt::format("graphs in graphs, more than {} deep", kMostNested));
  Graph& copy = create();
  copy.level = level;
  copy.memory = graph.memory;
  try {
    copy_nodes(graph, copy);
  } catch (...) {
    destroy(copy.handle());  // nobody has its handle
    throw;
  }
  return copy;
}

std::shared_ptr<Graph> Graphs::clone_child(const Graph& graph, const Graph& parent) {
  Graph& child = clone(graph, parent.level + 1);
  child.is_child = true;
  return share(child);
}

GraphNode& Graphs::add(Graph& graph, GraphWork work, std::vector<GraphEdge> dependencies) {
  // A graph that is put into itself again and again doubles each time.
  constexpr std::size_t kMostNodes = std::size_t{1} << 21;
  if (nodes_.size() >= kMostNodes) throw std::bad_alloc();
  auto* child = std::get_if<ChildWork>(&work);
  if (child != nullptr) child->graph = clone_child(*child->graph, graph);
  const void* cloned = child == nullptr ? nullptr : child->graph->handle();
  try {
    // The place first: without memory for it the graph stays as it is.
    void* handle = next_handle();
    GraphNode*& place = nodes_[handle];
    place = &graph.add(handle, std::move(work), std::move(dependencies));
    return *place;
  } catch (...) {
    if (cloned != nullptr) destroy(cloned);
    throw;
  }
}

void Graphs::change(GraphNode& node, GraphWork work) {
  if (auto* child = std::get_if<ChildWork>(&work)) {
    child->graph = clone_child(*child->graph, *node.graph);
    destroy(std::get<ChildWork>(node.work).graph->handle());
  }
  node.work = std::move(work);
}

GraphNode* Graphs::find_node(const void* handle) {
  const auto found = nodes_.find(handle);
  return found == nodes_.end() ? nullptr : found->second;
}

void Graphs::remove(GraphNode& node) {
  nodes_.erase(node.handle);
  if (const auto* child = std::get_if<ChildWork>(&node.work)) destroy(child->graph->handle());
  node.graph->remove(node);
}

void* Graphs::add(std::shared_ptr<GraphExec> exec) {
  void* handle = next_handle();
  execs_.emplace(handle, std::move(exec));
  return handle;
}

std::shared_ptr<GraphExec> Graphs::find_exec(const void* handle) const {
  const auto found = execs_.find(handle);
  return found == execs_.end() ? nullptr : found->second;
}

bool Graphs::destroy_exec(const void* handle) { return execs_.erase(handle) != 0; }

}  // namespace heddle::runtime
