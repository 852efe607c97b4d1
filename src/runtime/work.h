// SPDX-License-Identifier: Apache-2.0
//
// Pieces of work of the card, as they are asked for: a launch, a copy, a fill and what else a stream or a node of
// a graph holds. Each is a value, so that it can run now, or later and many times.
#pragma once

#include <heddle/isa/sreg.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace heddle::runtime {

class Graph;
class Module;
struct Kernel;

struct LaunchRequest {
  isa::Dim3 grid = {};
  isa::Dim3 block = {};
  isa::Dim3 cluster = {0, 0, 0};  // 0: what the kernel asks for, or none
  std::size_t dynamic_shared = 0;
  bool is_cooperative = false;
  bool is_programmatic = false;  // it may begin before the launch before it in the stream is over
  const void* stream = nullptr;
  void** arguments = nullptr;    // a pointer to each
  const void* buffer = nullptr;  // or all of them, laid out as the kernel expects
  std::size_t buffer_bytes = 0;
};

// A launch that has been looked at: it can run, now or as a node of a graph, any number of times.
struct LaunchWork {
  const Kernel* kernel = nullptr;
  const Module* module = nullptr;  // of the kernel, which goes with it
  std::uint64_t module_number = 0;
  LaunchRequest request;  // without arguments
  std::vector<std::byte> parameters;
  std::vector<std::size_t> offsets;  // of each in them
};

// Slices of rows of bytes: `pitch` from one row to the next, `slice` from one slice to the next.
struct Box {
  void* begin = nullptr;
  std::size_t pitch = 0;
  std::size_t slice = 0;
};
struct Extent {
  std::size_t width = 0;  // bytes
  std::size_t height = 1;
  std::size_t depth = 1;
};

struct CopyWork {
  Box to;
  Box from;
  Extent extent;
  int kind = 0;
};

struct FillWork {
  Box to;
  std::vector<std::byte> value;  // of 1, 2 or 4 bytes, over and over
  Extent extent;
};

struct HostWork {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
};

struct RecordWork {
  void* event = nullptr;
};

struct WaitWork {
  void* event = nullptr;
};

struct ChildWork {
  std::shared_ptr<Graph> graph;
};

struct EmptyWork {};

// In the order of cudaGraphNodeType.
using GraphWork =
    std::variant<LaunchWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork>;

}  // namespace heddle::runtime
