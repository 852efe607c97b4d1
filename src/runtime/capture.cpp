// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture.h"

#include "runtime/message.h"

#include <algorithm>
#include <utility>

namespace heddle::runtime {

namespace {

thread_local int thread_mode = kGlobal;

// The legacy default stream, by both of its names.
bool is_legacy(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 1; }

void add_all(std::vector<GraphEdge>& to, const std::vector<GraphEdge>& from) {
  for (const GraphEdge& edge : from) {
    const auto is_same = [&](const GraphEdge& other) { return other.from == edge.from; };
    if (std::none_of(to.begin(), to.end(), is_same)) to.push_back(edge);
  }
}

}  // namespace

Captures::Sequence* Captures::find(const void* stream) {
  for (const auto& sequence : sequences_) {
    if (sequence->streams.contains(stream)) return sequence.get();
  }
  return nullptr;
}

Captures::Sequence* Captures::find_sequence(std::uint64_t id) {
  for (const auto& sequence : sequences_) {
    if (sequence->id == id) return sequence.get();
  }
  return nullptr;
}

bool Captures::has(const Graph& graph) const {
  return std::any_of(sequences_.begin(), sequences_.end(),
                     [&](const auto& one) { return one->graph.get() == &graph; });
}

Error Captures::begin(const void* stream, bool is_blocking, int mode, std::shared_ptr<Graph> graph,
                      bool owns_graph, std::vector<GraphEdge> dependencies) {
  if (mode < kGlobal || mode > kRelaxed) return Error::kInvalidValue;
  if (is_legacy(stream)) return Error::kStreamCaptureUnsupported;
  if (find(stream) != nullptr) return Error::kIllegalState;
  auto made = std::make_unique<Sequence>();
  made->id = ++count_;
  made->graph = std::move(graph);
  made->owns_graph = owns_graph;
  made->origin = stream;
  made->mode = mode;
  made->thread = std::this_thread::get_id();
  made->streams[stream] = {is_blocking, std::move(dependencies)};
  sequences_.push_back(std::move(made));
  return Error::kSuccess;
}

void Captures::drop(Graphs& graphs, Sequence& sequence, bool keeps_graph) {
  if (!keeps_graph && sequence.owns_graph) graphs.destroy(sequence.graph->handle());
  std::erase_if(events_, [&](const auto& one) { return one.second.id == sequence.id; });
  std::erase_if(sequences_, [&](const auto& one) { return one.get() == &sequence; });
}

Error Captures::end(Graphs& graphs, const void* stream, Graph*& graph) {
  graph = nullptr;
  Sequence* sequence = find(stream);
  if (sequence == nullptr) return Error::kIllegalState;
  if (sequence->origin != stream) {
    sequence->is_valid = false;
    return Error::kStreamCaptureUnmatched;
  }
  // As an H200 has it: the capture ends there, too.
  if (sequence->mode != kRelaxed && sequence->thread != std::this_thread::get_id()) {
    drop(graphs, *sequence, false);
    return Error::kStreamCaptureWrongThread;
  }
  Error error = sequence->is_valid ? Error::kSuccess : Error::kStreamCaptureInvalidated;
  const std::vector<GraphEdge>& last = sequence->streams[stream].next;
  for (const auto& [other, forked] : sequence->streams) {
    for (const GraphEdge& edge : forked.next) {
      const auto is_joined = [&](const GraphEdge& end) {
        return end.from->graph->reaches(*edge.from, *end.from);
      };
      if (error == Error::kSuccess && std::none_of(last.begin(), last.end(), is_joined)) {
        error = Error::kStreamCaptureUnjoined;
      }
    }
  }
  if (error == Error::kSuccess) graph = sequence->graph.get();
  drop(graphs, *sequence, error == Error::kSuccess);
  return error;
}

Error Captures::admit(const void* stream, bool& is_captured) {
  is_captured = false;
  if (sequences_.empty()) return Error::kSuccess;
  if (const Sequence* sequence = find(stream)) {
    is_captured = true;
    return sequence->is_valid ? Error::kSuccess : Error::kStreamCaptureInvalidated;
  }
  if (!is_legacy(stream)) return Error::kSuccess;
  Error error = Error::kSuccess;
  for (const auto& sequence : sequences_) {
    for (const auto& [handle, one] : sequence->streams) {
      if (!one.is_blocking) continue;
      sequence->is_valid = false;
      error = Error::kStreamCaptureImplicit;
    }
  }
  return error;
}

Error Captures::add(Graphs& graphs, const void* stream, GraphWork work, bool is_programmatic) {
  Sequence& sequence = *find(stream);
  std::vector<GraphEdge>& next = sequence.streams[stream].next;
  std::vector<GraphEdge> following(1);  // what needs memory comes first: without it nothing has changed
  std::vector<GraphEdge> dependencies = next;
  const bool follows_kernel =
      dependencies.size() == 1 && std::holds_alternative<LaunchWork>(dependencies[0].from->work);
  if (is_programmatic && follows_kernel) dependencies[0].data = {1, 0, EdgeData::kProgrammatic, {}};
  following[0].from = &graphs.add(*sequence.graph, std::move(work), std::move(dependencies));
  next = std::move(following);
  return Error::kSuccess;
}

void Captures::record(const void* event, const void* stream) {
  const Sequence& sequence = *find(stream);
  events_[event] = {sequence.id, sequence.streams.at(stream).next};
}

bool Captures::wait(const void* stream, bool is_blocking, const void* event, bool was_recorded, Error& error) {
  Sequence* own = find(stream);
  const auto found = events_.find(event);
  Sequence* other = found == events_.end() ? nullptr : find_sequence(found->second.id);
  if (own == nullptr && other == nullptr) return false;
  const auto invalidate = [](Sequence* sequence) {
    if (sequence != nullptr) sequence->is_valid = false;
  };
  error = Error::kSuccess;
  if ((own != nullptr && !own->is_valid) || (other != nullptr && !other->is_valid)) {
    error = Error::kStreamCaptureInvalidated;
  } else if (other == nullptr) {
    if (!was_recorded) return true;
    invalidate(own);
    error = Error::kStreamCaptureIsolation;
  } else if (own != nullptr && own != other) {
    invalidate(own);
    invalidate(other);
    error = Error::kStreamCaptureMerge;
  } else if (is_legacy(stream)) {
    invalidate(other);
    error = Error::kStreamCaptureImplicit;
  } else {
    Sequence::Stream& joined =
        other->streams.try_emplace(stream, Sequence::Stream{is_blocking, {}}).first->second;
    add_all(joined.next, found->second.next);
  }
  return true;
}

// Of one that was last recorded in a capture that goes on.
Error Captures::admit_wait_for_event(const void* event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return Error::kSuccess;
  find_sequence(found->second.id)->is_valid = false;
  return Error::kCapturedEvent;
}

Error Captures::admit_wait(const void* stream) {
  bool is_captured = false;
  const Error error = admit(stream, is_captured);
  if (error != Error::kSuccess || !is_captured) return error;
  find(stream)->is_valid = false;
  return Error::kStreamCaptureUnsupported;
}

Error Captures::admit_wait_for_all() {
  for (const auto& sequence : sequences_) sequence->is_valid = false;
  return sequences_.empty() ? Error::kSuccess : Error::kStreamCaptureUnsupported;
}

Error Captures::admit_unsafe() {
  if (thread_mode == kRelaxed) return Error::kSuccess;
  Error error = Error::kSuccess;
  for (const auto& sequence : sequences_) {
    const bool is_own = sequence->thread == std::this_thread::get_id();
    if (is_own ? sequence->mode == kRelaxed : thread_mode != kGlobal || sequence->mode != kGlobal) continue;
    sequence->is_valid = false;
    error = Error::kStreamCaptureUnsupported;
  }
  return error;
}

void Captures::invalidate(const void* stream) {
  if (Sequence* sequence = find(stream)) sequence->is_valid = false;
}

Error Captures::admit_memory(std::optional<const void*> stream) {
  if (sequences_.empty()) return Error::kSuccess;
  if (!stream) return admit_unsafe();
  bool is_captured = false;
  const Error error = admit(*stream, is_captured);
  if (error != Error::kSuccess || !is_captured) return error;
  find(*stream)->is_valid = false;
  say("memory that a stream takes or gives back while it captures is not there");
  return Error::kNotSupported;
}

Graph* Captures::graph_of_thread() {
  const auto is_own = [](const auto& one) { return one->thread == std::this_thread::get_id(); };
  auto found = std::find_if(sequences_.begin(), sequences_.end(), is_own);
  if (found == sequences_.end()) found = sequences_.begin();
  return found == sequences_.end() ? nullptr : (*found)->graph.get();
}

int Captures::exchange_mode(int mode) { return std::exchange(thread_mode, mode); }

void Captures::drop_stream(Graphs& graphs, const void* stream) {
  Sequence* sequence = find(stream);
  if (sequence == nullptr) return;
  sequence->is_valid = false;
  if (sequence->origin == stream) drop(graphs, *sequence, false);
}

void Captures::clear() {
  sequences_.clear();
  events_.clear();
}

}  // namespace heddle::runtime
