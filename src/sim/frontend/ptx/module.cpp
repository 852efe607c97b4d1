// SPDX-License-Identifier: Apache-2.0
//
// Modules: their variables in memory, their functions decoded, and launches of their entries.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/lexer.h"

#include <heddle/host/error.h>
#include <heddle/isa/cluster.h>
#include <heddle/sim/ptx.h>

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace heddle::sim {

using namespace ptx;

namespace {

constexpr std::size_t kParamAlignment = 128;

// Whole pages of zeros, which take no memory before they are used.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* begin) const { munmap(begin, bytes); }
};
using Pages = std::unique_ptr<std::byte, Unmap>;

Pages allocate(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) throw InputError(fmt::format("there is no memory for {} bytes of a PTX module", bytes));
  return Pages(static_cast<std::byte*>(made), Unmap{bytes});
}

std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool is_zero(const isa::Dim3& dims) { return dims.x == 0 && dims.y == 0 && dims.z == 0; }

std::uint64_t volume(const isa::Dim3& dims) { return std::uint64_t{dims.x} * dims.y * dims.z; }

std::string text_of(const isa::Dim3& dims) { return fmt::format("{}x{}x{}", dims.x, dims.y, dims.z); }

}  // namespace

void PtxArguments::add_bytes(const void* value, std::size_t bytes, std::size_t alignment) {
  bytes_.resize(aligned(bytes_.size(), std::max<std::size_t>(alignment, 1)));
  const auto* begin = static_cast<const std::byte*>(value);
  bytes_.insert(bytes_.end(), begin, begin + bytes);
}

struct PtxModule::State {
  std::unique_ptr<ModuleText> text;
  Strings strings;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<PtxEntry> entries;
  std::vector<PtxVariable> variables;
  std::vector<Pages> storage;  // of variables that are not placed elsewhere
  std::vector<std::uint64_t> addresses;  // by variable of the module; shared ones are placed at launch

  void decode();
  void place_variables(const PtxPlacing& place);
  void list_entries();
  std::set<std::uint32_t> reachable(std::uint32_t entry) const;
  Program link(std::uint32_t entry) const;
};

void PtxModule::State::decode() {
  for (const std::unique_ptr<FunctionText>& one : text->functions) {
    functions.push_back(nullptr);
    if (!one->has_body) continue;
    functions.back() = std::make_unique<Function>();
    try {
      decode_function(*text, *one, *functions.back(), strings);
    } catch (const Unsupported& error) {
      functions.back()->unsupported = error.what();
    }
  }
}

void PtxModule::State::place_variables(const PtxPlacing& place) {
  std::vector<std::byte*> bytes;  // by variable of the module
  for (const Variable& variable : text->variables) {
    const bool is_placed = variable.space == Space::kGlobal || variable.space == Space::kConst;
    if (!is_placed) {
      addresses.push_back(0);
      bytes.push_back(nullptr);
      continue;
    }
    if (variable.is_extern) {
      refuse(text->name, variable.line, fmt::format("'{}' is declared but not part of the module", variable.name));
    }
    PtxVariable placed{.name = variable.name,
                       .bytes = variable.bytes,
                       .is_constant = variable.space == Space::kConst,
                       .align = variable.align,
                       .is_managed = variable.is_managed};
    if (place) {
      place(placed);
    } else {
      storage.push_back(allocate(variable.bytes));
      placed.host = storage.back().get();
      placed.address = placed.host;
    }
    if (!variable.initial.empty()) {
      std::memcpy(placed.host, variable.initial.data(), variable.initial.size());
    }
    addresses.push_back(reinterpret_cast<std::uint64_t>(placed.address));
    bytes.push_back(placed.host);
    variables.push_back(std::move(placed));
  }
  for (std::size_t v = 0; v < text->variables.size(); ++v) {
    const Variable& variable = text->variables[v];
    for (const Variable::Pointer& pointer : variable.pointers) {
      std::uint64_t value = 0;
      if (const auto found = text->variable_ids.find(pointer.name); found != text->variable_ids.end()) {
        value = addresses[found->second];
      } else if (const auto code = text->function_ids.find(pointer.name); code != text->function_ids.end()) {
        value = kCodeWindow | code->second;
      }
      if (value == 0 || addresses[v] == 0) {
        refuse(text->name, variable.line, fmt::format("'{}' has the address of '{}' as initial value, which is not "
                                                      "known",
                                                      variable.name, pointer.name));
      }
      value += pointer.offset;
      std::memcpy(bytes[v] + pointer.at, &value, sizeof(value));
    }
  }
}

// An entry and all that it can call.
std::set<std::uint32_t> PtxModule::State::reachable(std::uint32_t entry) const {
  std::set<std::uint32_t> found;
  std::vector<std::uint32_t> left = {entry};
  while (!left.empty()) {
    const std::uint32_t number = left.back();
    left.pop_back();
    if (functions[number] == nullptr || !found.insert(number).second) continue;
    const Function& function = *functions[number];
    left.insert(left.end(), function.callees.begin(), function.callees.end());
    if (function.calls_indirectly) {
      for (std::uint32_t other = 0; other < functions.size(); ++other) {
        if (functions[other] != nullptr && !functions[other]->text->is_entry) left.push_back(other);
      }
    }
  }
  return found;
}

// Shared memory: the variables of known length one behind the other, then the dynamic part.
Program PtxModule::State::link(std::uint32_t entry) const {
  Program program;
  program.text = text.get();
  program.functions = &functions;
  program.entry = functions[entry].get();
  program.addresses = addresses;
  program.shared_offsets.resize(functions.size());
  std::uint64_t end = machine::kSharedBase;
  std::set<std::uint32_t> named;
  for (const std::uint32_t number : reachable(entry)) {
    const Function& function = *functions[number];
    program.local_bytes += function.local_bytes;
    named.insert(function.module_variables.begin(), function.module_variables.end());
    program.shared_offsets[number].resize(function.text->variables.size());
    for (const std::uint32_t id : function.shared_variables) {
      const Variable& variable = function.text->variables[id];
      end = aligned(end, variable.align);
      program.shared_offsets[number][id] = end;
      end += variable.bytes;
    }
  }
  std::uint64_t dynamic_alignment = 16;
  for (const std::uint32_t id : named) {
    const Variable& variable = text->variables[id];
    if (variable.space != Space::kShared) continue;
    if (variable.bytes == 0) {
      dynamic_alignment = std::max<std::uint64_t>(dynamic_alignment, variable.align);
      continue;
    }
    end = aligned(end, variable.align);
    program.addresses[id] = end;
    end += variable.bytes;
  }
  bool has_dynamic = false;
  for (const std::uint32_t id : named) {
    if (text->variables[id].space != Space::kShared || text->variables[id].bytes != 0) continue;
    program.addresses[id] = aligned(end, dynamic_alignment);
    has_dynamic = true;
  }
  program.static_shared_bytes = (has_dynamic ? aligned(end, dynamic_alignment) : end) - machine::kSharedBase;
  return program;
}

void PtxModule::State::list_entries() {
  for (std::uint32_t number = 0; number < functions.size(); ++number) {
    const FunctionText& function = *text->functions[number];
    if (!function.is_entry || functions[number] == nullptr) continue;
    const Program program = link(number);
    PtxEntry entry{.name = function.name,
                   .parameter_bytes = function.parameter_bytes,
                   .parameter_offsets = {},
                   .parameter_sizes = {},
                   .max_threads = function.max_threads,
                   .required_block = function.required_threads,
                   .required_cluster = function.required_cluster,
                   .static_shared_bytes = program.static_shared_bytes,
                   .local_bytes = program.local_bytes,
                   .instructions = function.statements.size(),
                   .unsupported = {}};
    for (const std::uint32_t one : reachable(number)) {
      if (entry.unsupported.empty()) entry.unsupported = functions[one]->unsupported;
    }
    for (const Parameter& parameter : function.parameters) {
      entry.parameter_offsets.push_back(parameter.offset);
      entry.parameter_sizes.push_back(parameter.bytes);
    }
    entries.push_back(std::move(entry));
  }
}

PtxModule::PtxModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
PtxModule::PtxModule(PtxModule&&) noexcept = default;
PtxModule& PtxModule::operator=(PtxModule&&) noexcept = default;
PtxModule::~PtxModule() = default;

PtxModule PtxModule::load(std::string text, std::string name, const PtxPlacing& place) {
  auto state = std::make_unique<State>();
  state->text = parse(std::move(text), std::move(name));
  state->decode();
  state->place_variables(place);
  state->list_entries();
  return PtxModule(std::move(state));
}

const std::vector<PtxEntry>& PtxModule::entries() const { return state_->entries; }
const std::vector<PtxVariable>& PtxModule::variables() const { return state_->variables; }
std::string PtxModule::target() const { return state_->text->target; }

const PtxEntry* PtxModule::find(std::string_view entry) const {
  for (const PtxEntry& one : state_->entries) {
    if (one.name == entry) return &one;
  }
  return nullptr;
}

namespace {

// What a launch of a PTX entry can get wrong beside what check_launch() finds.
void check_ptx_launch(const std::string& module, const PtxEntry& entry, const PtxLaunch& launch,
                      std::size_t parameter_bytes) {
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("launch of {} in {}: {}", entry.name, module, why));
  };
  if (parameter_bytes != entry.parameter_bytes) {
    fail(fmt::format("{} bytes of parameters; it takes {}", parameter_bytes, entry.parameter_bytes));
  }
  if (launch.block.x == 0 || launch.block.y == 0 || launch.block.z == 0) {
    fail(fmt::format("a block of {} threads; each extent is at least 1", text_of(launch.block)));
  }
  if (volume(launch.block) > machine::kMaxThreads) {
    fail(fmt::format("{} threads in a CTA; 1 to {}", volume(launch.block), machine::kMaxThreads));
  }
  if (entry.max_threads != 0 && volume(launch.block) > entry.max_threads) {
    fail(fmt::format("{} threads in a CTA; the kernel's .maxntid is {}", volume(launch.block), entry.max_threads));
  }
  if (!is_zero(entry.required_block) && launch.block != entry.required_block) {
    fail(fmt::format("a block of {} threads; the kernel's .reqntid is {}", text_of(launch.block),
                     text_of(entry.required_block)));
  }
  if (!is_zero(entry.required_cluster) && !is_zero(launch.cluster) && launch.cluster != entry.required_cluster) {
    fail(fmt::format("a cluster of {} CTAs; the kernel's .reqnctapercluster is {}", text_of(launch.cluster),
                     text_of(entry.required_cluster)));
  }
}

}  // namespace

Report PtxModule::launch(std::string_view entry, const LaunchOptions& options, const PtxLaunch& asked,
                         const void* parameters, std::size_t parameter_bytes) const {
  const std::string& module = state_->text->name;
  const PtxEntry* known = find(entry);
  if (known == nullptr) {
    std::string names;
    for (const PtxEntry& one : state_->entries) names += (names.empty() ? "" : ", ") + one.name;
    throw InputError(fmt::format("{} has no entry '{}'; it has {}", module, entry, names.empty() ? "none" : names));
  }
  if (!known->unsupported.empty()) throw InputError(known->unsupported);
  check_ptx_launch(module, *known, asked, parameter_bytes);
  PtxLaunch launch = asked;
  if (is_zero(launch.cluster)) launch.cluster = is_zero(known->required_cluster) ? isa::Dim3{} : known->required_cluster;
  const std::uint32_t number = state_->text->function_ids.find(entry)->second;
  const Program program = state_->link(number);
  const auto threads = static_cast<std::uint32_t>(volume(launch.block));
  const std::size_t shared_bytes = program.static_shared_bytes + launch.dynamic_shared_bytes;
  check_launch(options, {.grid = launch.grid, .cluster = launch.cluster, .threads = threads},
               {.threads = threads, .shared_bytes = shared_bytes, .shared_alignment = 16, .run = nullptr});
  // The module's variables are global memory, too.
  GlobalMemory memory(options.memory);
  if (!state_->storage.empty()) {
    for (const PtxVariable& variable : state_->variables) {
      memory.add_at(reinterpret_cast<std::uint64_t>(variable.address), variable.name, variable.host, variable.bytes,
                    !variable.is_constant);
    }
  }
  LaunchOptions with_variables = options;
  with_variables.memory = &memory;
  Pages params = allocate(aligned(parameter_bytes, kParamAlignment));
  if (parameter_bytes != 0) std::memcpy(params.get(), parameters, parameter_bytes);
  Interpreter interpreter(with_variables, launch, program, threads, shared_bytes, params.get());
  return interpreter.run();
}

std::vector<std::string> ptx_instruction_forms() {
  std::vector<std::string> forms;
  for (const Form& form : FormTable::get().all()) forms.push_back(form.pattern);
  return forms;
}

}  // namespace heddle::sim
