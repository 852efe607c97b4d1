// SPDX-License-Identifier: Apache-2.0
//
// Streams that capture: what is asked of them becomes nodes of a graph in place of running. Events carry a
// capture from one stream to another. What would tie a capture to work that runs is an error, as on hardware, and
// ends the capture: it is invalid from then on.
#pragma once

#include "runtime/graph.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

namespace heddle::runtime {

// As CUDA's headers number them.
enum CaptureMode : int { kGlobal, kThreadLocal, kRelaxed };
enum CaptureStatus : int { kNotCapturing, kCapturing, kInvalidated };

class Captures {
 public:
  struct Sequence {
    std::uint64_t id = 0;
    std::shared_ptr<Graph> graph;
    bool owns_graph = true;
    const void* origin = nullptr;
    int mode = kGlobal;
    std::thread::id thread;
    bool is_valid = true;
    struct Stream {
      bool is_blocking = true;
      std::vector<GraphEdge> next;  // what the next node of the stream depends on
    };
    std::map<const void*, Stream> streams;
    // What the program was told to be next: the lists stay as they are until it asks again.
    std::vector<void*> told_nodes = {};
    std::vector<EdgeData> told_data = {};
  };

  // The capture that the stream takes part in; null: none.
  Sequence* find(const void* stream);

  // Whether a capture adds to the graph, which then may not go away.
  bool has(const Graph& graph) const;

  Error begin(const void* stream, bool is_blocking, int mode, std::shared_ptr<Graph> graph, bool owns_graph,
              std::vector<GraphEdge> dependencies);
  // The graph is null where the capture was invalid, or others than its first stream were not joined to it.
  Error end(Graphs& graphs, const void* stream, Graph*& graph);

  // Before work in a stream: whether it is captured. An error if it may not be there at all.
  Error admit(const void* stream, bool& is_captured);
  // A node that follows what the stream has captured so far.
  Error add(Graphs& graphs, const void* stream, GraphWork work, bool is_programmatic = false);

  void record(const void* event, const void* stream);  // of a stream that captures
  void forget(const void* event) { events_.erase(event); }
  // False: neither the event nor the stream has to do with a capture.
  bool wait(const void* stream, bool is_blocking, const void* event, bool was_recorded, Error& error);

  // What a host that waits for the event, for the stream, or for all, gets.
  Error admit_wait_for_event(const void* event);
  Error admit_wait(const void* stream);
  Error admit_wait_for_all();
  // Calls that may wait for the card, such as cudaMalloc, unless the thread's mode is relaxed.
  Error admit_unsafe();
  // Taking and giving back memory, in a stream or, without one, at once. In a stream that captures it is not
  // there.
  bool is_captured(const void* stream) { return find(stream) != nullptr; }
  // Something that went wrong spoils a capture, if the stream is in one.
  void invalidate(const void* stream);
  Error admit_memory(std::optional<const void*> stream);
  // The graph of a capture that this thread began, or any; null: nothing captures.
  Graph* graph_of_thread();
  // Of this thread.
  static int exchange_mode(int mode);

  // Before it is destroyed: nobody can end the capture that it began, and the graph is given up.
  void drop_stream(Graphs& graphs, const void* stream);
  void clear();

 private:
  struct Recorded {
    std::uint64_t id = 0;
    std::vector<GraphEdge> next;
  };

  Sequence* find_sequence(std::uint64_t id);
  void drop(Graphs& graphs, Sequence& sequence, bool keeps_graph);

  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::unordered_map<const void*, Recorded> events_;
  std::uint64_t count_ = 0;
};

}  // namespace heddle::runtime
