// SPDX-License-Identifier: Apache-2.0
//
// Capturing streams into graphs.
#include "runtime/calls/graph_call.h"
#include "runtime/version.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace heddle::runtime;

namespace {

Error edges_of(State& card, const Graph& graph, void* const* nodes, const EdgeData* data, std::size_t count,
               std::vector<GraphEdge>& edges) {
  if (count != 0 && nodes == nullptr) return Error::kInvalidValue;
  for (std::size_t n = 0; n < count; ++n) {
    GraphNode* node = card.graphs.find_node(nodes[n]);
    if (node == nullptr || node->graph != &graph) return Error::kInvalidValue;
    edges.push_back({node, data == nullptr ? EdgeData{} : data[n]});
  }
  return Error::kSuccess;
}

bool is_blocking(const State& card, const void* stream) {
  const Stream* found = card.streams.find(stream);
  return found == nullptr || (found->flags & 1) == 0;
}

Error begin_capture(State& card, void* stream, int mode) {
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  Graph& graph = card.graphs.create();
  const Error error =
      card.captures.begin(stream, is_blocking(card, stream), mode, card.graphs.share(graph), true, {});
  if (error != Error::kSuccess) card.graphs.destroy(graph.handle());
  return error;
}

Error begin_capture_to(State& card, void* stream, void* graph, void* const* nodes, const EdgeData* data,
                       std::size_t count, int mode) {
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  Graph* found = card.graphs.find(graph);
  std::vector<GraphEdge> edges;
  if (found == nullptr) return Error::kInvalidValue;
  if (const Error error = edges_of(card, *found, nodes, data, count, edges); error != Error::kSuccess)
    return error;
  return card.captures.begin(stream, is_blocking(card, stream), mode, card.graphs.share(*found), false,
                             std::move(edges));
}

Error end_capture(State& card, void* stream, void** graph) {
  if (graph != nullptr) *graph = nullptr;
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  Graph* made = nullptr;
  const Error error = card.captures.end(card.graphs, stream, made);
  if (made == nullptr) return error;
  if (graph != nullptr) {
    *graph = made->handle();
  } else {  // nobody could destroy it
    card.graphs.destroy(made->handle());
  }
  return error;
}

Error get_info(State& card, void* stream, int* status, std::uint64_t* id, void** graph, void*** nodes,
               EdgeData** data, std::size_t* count) {
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  if (status == nullptr) return Error::kInvalidValue;
  Captures::Sequence* sequence = card.captures.find(stream);
  *status = sequence == nullptr ? kNotCapturing : sequence->is_valid ? kCapturing : kInvalidated;
  if (sequence == nullptr) {
    // CUDA: the legacy stream cannot be asked while another one captures.
    bool is_captured = false;
    return card.captures.admit(stream, is_captured);
  }
  sequence->told_nodes.clear();
  sequence->told_data.clear();
  for (const GraphEdge& edge : sequence->streams.at(stream).next) {
    sequence->told_nodes.push_back(edge.from->handle);
    sequence->told_data.push_back(edge.data);
  }
  if (id != nullptr) *id = sequence->id;
  if (graph != nullptr) *graph = sequence->graph->handle();
  if (nodes != nullptr) *nodes = sequence->told_nodes.data();
  if (data != nullptr) *data = sequence->told_data.data();
  if (count != nullptr) *count = sequence->told_nodes.size();
  return Error::kSuccess;
}

Error update_dependencies(State& card, void* stream, void* const* nodes, const EdgeData* data, std::size_t count,
                          unsigned flags) {
  constexpr unsigned kSet = 1;
  if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
  Captures::Sequence* sequence = card.captures.find(stream);
  if (sequence == nullptr) return Error::kIllegalState;
  if (flags > kSet) return Error::kInvalidValue;
  std::vector<GraphEdge> edges;
  const Error error = edges_of(card, *sequence->graph, nodes, data, count, edges);
  if (error != Error::kSuccess) return error;
  std::vector<GraphEdge>& next = sequence->streams.at(stream).next;
  if (flags == kSet) next.clear();
  next.insert(next.end(), edges.begin(), edges.end());
  return Error::kSuccess;
}

Error exchange_mode(int* mode) {
  if (mode == nullptr || *mode < kGlobal || *mode > kRelaxed) return Error::kInvalidValue;
  *mode = Captures::exchange_mode(*mode);
  return Error::kSuccess;
}

}  // namespace

HEDDLE_BOTH_CALLS(cudaStreamBeginCapture, cuStreamBeginCapture_v2, (void* stream, int mode),
                  begin_capture(card, stream, mode))
HEDDLE_BOTH_CALLS(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph,
                  (void* stream, void* graph, void* const* nodes, const EdgeData* data, std::size_t count,
                   int mode),
                  begin_capture_to(card, stream, graph, nodes, data, count, mode))
HEDDLE_BOTH_CALLS(cudaStreamEndCapture, cuStreamEndCapture, (void* stream, void** graph),
                  end_capture(card, stream, graph))
HEDDLE_BOTH_CALLS(cudaStreamIsCapturing, cuStreamIsCapturing, (void* stream, int* status),
                  get_info(card, stream, status, nullptr, nullptr, nullptr, nullptr, nullptr))
HEDDLE_BOTH_CALLS(cudaStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2,
                  (void* stream, int* status, std::uint64_t* id, void** graph, void*** nodes, std::size_t* count),
                  get_info(card, stream, status, id, graph, nodes, nullptr, count))
HEDDLE_BOTH_CALLS(cudaStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3,
                  (void* stream, int* status, std::uint64_t* id, void** graph, void*** nodes, EdgeData** data,
                   std::size_t* count),
                  get_info(card, stream, status, id, graph, nodes, data, count))
HEDDLE_BOTH_CALLS(cudaStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2,
                  (void* stream, void* const* nodes, const EdgeData* data, std::size_t count, unsigned flags),
                  update_dependencies(card, stream, nodes, data, count, flags))
HEDDLE_BOTH_CALLS(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int* mode),
                  exchange_mode(mode))

// In CUDA 12 it ends with the number; in CUDA 13 it is what _v3 was.
HEDDLE_CUDA_CALL int cudaStreamGetCaptureInfo(void* stream, int* status, std::uint64_t* id, void** graph,
                                              void*** nodes, EdgeData** data, std::size_t* count) {
  return cudart_major() == 12
             ? cudaStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr)
             : cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, data, count);
}

HEDDLE_CUDA_CALL int cuStreamGetCaptureInfo(void* stream, int* status, std::uint64_t* id) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

// Without the data of edges in CUDA 12.
HEDDLE_CUDA_CALL int cudaStreamUpdateCaptureDependencies(void* stream, void* const* nodes, const void* data,
                                                         std::size_t count, unsigned flags) {
  if (cudart_major() != 12) {
    return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, static_cast<const EdgeData*>(data), count,
                                                  flags);
  }
  return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, reinterpret_cast<std::size_t>(data),
                                                static_cast<unsigned>(count));
}

HEDDLE_CUDA_CALL int cuStreamUpdateCaptureDependencies(void* stream, void* const* nodes, std::size_t count,
                                                       unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}
