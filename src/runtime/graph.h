// SPDX-License-Identifier: Apache-2.0
//
// Graphs: nodes of work with dependencies between them, and what is made of one to be launched.
//
// Handles of graphs, nodes and executable graphs are numbers that are never given again.
#pragma once

#include "runtime/error_code.h"
#include "runtime/graph_memory.h"
#include "runtime/work.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace heddle::runtime {

// As CUDA's headers lay it out.
struct EdgeData {
  std::uint8_t from_port;
  std::uint8_t to_port;
  std::uint8_t type;
  std::uint8_t reserved[5];

  static constexpr std::uint8_t kProgrammatic = 1;
};
static_assert(sizeof(EdgeData) == 8);

struct GraphNode;

struct GraphEdge {
  GraphNode* from = nullptr;
  EdgeData data = {};
};

struct GraphNode {
  void* handle = nullptr;
  Graph* graph = nullptr;
  GraphWork work;
  std::vector<GraphEdge> dependencies;
  const void* original = nullptr;  // of a clone: the handle of the node that it was made from
  const void* function = nullptr;  // of a kernel node: how the program calls the kernel
  std::vector<void*> arguments;    // of a kernel node: what its parameters were asked for as
  int type() const { return static_cast<int>(work.index()); }
};

class Graph {
 public:
  explicit Graph(void* handle) : handle_(handle) {}

  void* handle() const { return handle_; }
  bool is_child = false;                     // of a node, to which it belongs
  std::size_t level = 0;                     // so many graphs around it
  std::shared_ptr<GraphMemory> memory = {};  // that was taken while it was captured
  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }

  GraphNode& add(void* handle, GraphWork work, std::vector<GraphEdge> dependencies);
  void remove(GraphNode& node);

  // Whether `from` has to be over before `to` begins.
  bool reaches(const GraphNode& from, const GraphNode& to) const;

 private:
  void* handle_;
  std::vector<std::unique_ptr<GraphNode>> nodes_;
};

// A graph that can be launched: its nodes and those of its child graphs, each after all that it depends on.
//
// Nodes that follow one another make a chain, which takes the place of a stream; the first is the stream that the
// graph is launched in.
struct GraphExec {
  struct Node {
    const void* origin = nullptr;  // the handle of the node that it was made from
    GraphWork work;
    std::vector<std::size_t> dependencies;
    std::size_t chain = 0;
    bool is_enabled = true;
  };
  std::vector<Node> nodes;
  std::size_t chains = 1;
  std::uint64_t flags = 0;
  std::vector<std::shared_ptr<GraphMemory>> memory = {};  // of the graphs that it was made from
};

// Empty if dependencies go in a circle.
std::shared_ptr<GraphExec> flatten(const Graph& graph);

class Graphs {
 public:
  Graph& create();
  Graph* find(const void* handle);
  std::shared_ptr<Graph> share(const Graph& graph) const { return graphs_.at(graph.handle()); }
  bool destroy(const void* handle);
  Graph& clone(const Graph& graph, std::size_t level = 0);

  // Of a graph in it the node gets a copy of its own.
  GraphNode& add(Graph& graph, GraphWork work, std::vector<GraphEdge> dependencies);
  void change(GraphNode& node, GraphWork work);  // to work of the same kind
  GraphNode* find_node(const void* handle);
  void remove(GraphNode& node);

  void* add(std::shared_ptr<GraphExec> exec);
  std::shared_ptr<GraphExec> find_exec(const void* handle) const;
  bool destroy_exec(const void* handle);

 private:
  void* next_handle();
  std::shared_ptr<Graph> clone_child(const Graph& graph, const Graph& parent);
  void copy_nodes(const Graph& from, Graph& to);
  void forget(const Graph& graph);

  std::unordered_map<const void*, std::shared_ptr<Graph>> graphs_;  // child graphs, too
  std::unordered_map<const void*, GraphNode*> nodes_;
  std::unordered_map<const void*, std::shared_ptr<GraphExec>> execs_;
  std::uint64_t count_ = 0;
};

}  // namespace heddle::runtime
