// SPDX-License-Identifier: Apache-2.0
//
// Modules: their variables in memory, their functions decoded, and launches of their entries.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/lexer.h"
#include "sim/machine/floating_point.h"
#include "sim/machine/volume.h"

#include <heddle/host/error.h>
#include <heddle/isa/cluster.h>
#include <heddle/sim/ptx.h>

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>

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
  std::vector<std::uint32_t> all_functions;  // that are no entries
  std::vector<PtxEntry> entries;
  std::unordered_map<std::string_view, std::size_t> entry_ids;  // by name
  std::vector<PtxVariable> variables;
  std::vector<Pages> storage;            // of variables that are not placed elsewhere
  std::vector<std::uint64_t> addresses;  // by variable of the module; shared ones are placed at launch
  bool launches_dependents = false;

  void decode();
  void place_variables(const PtxPlacing& place);
  void list_entries();
  class Needs;
  std::optional<std::set<std::uint32_t>> callees(std::uint32_t entry) const;
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
      refuse(text->name, variable.line,
             fmt::format("'{}' is declared but not part of the module", variable.name));
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
        refuse(text->name, variable.line,
               fmt::format("'{}' has the address of '{}' as initial value, which is not "
                           "known",
                           variable.name, pointer.name));
      }
      value += pointer.offset;
      std::memcpy(bytes[v] + pointer.at, &value, sizeof(value));
    }
  }
}

// What an entry and the functions that it can call need, added up one by one: shared memory holds the variables
// of known length one behind the other, first those of functions and then those of the module, and then the
// dynamic part.
class PtxModule::State::Needs {
 public:
  explicit Needs(const ModuleText& text) : text_(&text) {}

  // `place` is told the offset of each shared variable of the function.
  template <class Place>
  void add(const Function& function, const Place& place) {
    local_bytes += function.local_bytes;
    if (unsupported.empty()) unsupported = function.unsupported;
    for (const std::uint32_t id : function.module_variables) {
      if (text_->variables[id].space == Space::kShared) named_.insert(id);
    }
    for (const std::uint32_t id : function.shared_variables) {
      const Variable& variable = function.text->variables[id];
      end_ = aligned(end_, variable.align);
      place(id, end_);
      end_ += variable.bytes;
    }
  }
  void add(const Function& function) {
    add(function, [](std::uint32_t, std::uint64_t) {});
  }

  // The bytes of static shared memory; `place` is told the address of each shared variable of the module.
  template <class Place>
  std::uint64_t finish(const Place& place) const {
    std::uint64_t end = end_;
    std::uint64_t dynamic_alignment = 16;
    bool has_dynamic = false;
    for (const std::uint32_t id : named_) {
      const Variable& variable = text_->variables[id];
      if (variable.bytes == 0) {
        dynamic_alignment = std::max<std::uint64_t>(dynamic_alignment, variable.align);
        has_dynamic = true;
        continue;
      }
      end = aligned(end, variable.align);
      place(id, end);
      end += variable.bytes;
    }
    if (has_dynamic) end = aligned(end, dynamic_alignment);
    for (const std::uint32_t id : named_) {
      if (text_->variables[id].bytes == 0) place(id, end);
    }
    return end - machine::kSharedBase;
  }

  std::uint64_t local_bytes = 0;
  std::string unsupported;  // the first that is not

 private:
  const ModuleText* text_;
  std::uint64_t end_ = machine::kSharedBase;
  std::set<std::uint32_t> named_;  // shared variables of the module
};

// The functions that an entry can call without a pointer; nothing if it can come to a call through one: then
// it can call all that are no entries.
std::optional<std::set<std::uint32_t>> PtxModule::State::callees(std::uint32_t entry) const {
  std::set<std::uint32_t> seen;
  std::vector<std::uint32_t> left = {entry};
  while (!left.empty()) {
    const std::uint32_t number = left.back();
    left.pop_back();
    if (functions[number] == nullptr || !seen.insert(number).second) continue;
    if (functions[number]->calls_indirectly) return std::nullopt;
    left.insert(left.end(), functions[number]->callees.begin(), functions[number]->callees.end());
  }
  seen.erase(entry);
  return seen;
}

Program PtxModule::State::link(std::uint32_t entry) const {
  Program program;
  program.text = text.get();
  program.functions = &functions;
  program.entry = functions[entry].get();
  program.addresses = addresses;
  program.shared_offsets.resize(functions.size());
  Needs needs(*text);
  const auto add = [&](std::uint32_t number) {
    std::vector<std::uint64_t>& offsets = program.shared_offsets[number];
    offsets.resize(functions[number]->text->variables.size());
    needs.add(*functions[number], [&](std::uint32_t id, std::uint64_t offset) { offsets[id] = offset; });
  };
  if (const auto called = callees(entry)) {
    for (const std::uint32_t number : *called) add(number);
  } else {
    for (const std::uint32_t number : all_functions) add(number);
  }
  add(entry);
  program.local_bytes = needs.local_bytes;
  program.static_shared_bytes =
      needs.finish([&](std::uint32_t id, std::uint64_t address) { program.addresses[id] = address; });
  return program;
}

void PtxModule::State::list_entries() {
  for (std::uint32_t number = 0; number < functions.size(); ++number) {
    if (functions[number] != nullptr && !functions[number]->text->is_entry) all_functions.push_back(number);
  }
  // Added up once for all entries that can call any function.
  Needs of_all(*text);
  for (const std::uint32_t number : all_functions) of_all.add(*functions[number]);
  for (std::uint32_t number = 0; number < functions.size(); ++number) {
    const FunctionText& function = *text->functions[number];
    if (!function.is_entry || functions[number] == nullptr) continue;
    const std::optional<std::set<std::uint32_t>> called = callees(number);
    Needs needs = called ? Needs(*text) : of_all;
    if (called) {
      for (const std::uint32_t one : *called) needs.add(*functions[one]);
    }
    needs.add(*functions[number]);
    PtxEntry entry{.name = function.name,
                   .parameter_bytes = function.parameter_bytes,
                   .parameter_offsets = {},
                   .parameter_sizes = {},
                   .parameter_names = {},
                   .parameter_is_float = {},
                   .max_threads = function.max_threads,
                   .required_block = function.required_threads,
                   .required_cluster = function.required_cluster,
                   .static_shared_bytes = needs.finish([](std::uint32_t, std::uint64_t) {}),
                   .local_bytes = needs.local_bytes,
                   .instructions = function.statements.size(),
                   .unsupported = needs.unsupported};
    for (const Parameter& parameter : function.parameters) {
      entry.parameter_offsets.push_back(parameter.offset);
      entry.parameter_sizes.push_back(parameter.bytes);
      entry.parameter_names.push_back(parameter.name);
      entry.parameter_is_float.push_back(parameter.is_float);
    }
    entries.push_back(std::move(entry));
  }
  for (std::size_t e = 0; e < entries.size(); ++e) entry_ids.emplace(entries[e].name, e);
}

PtxModule::PtxModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
PtxModule::PtxModule(PtxModule&&) noexcept = default;
PtxModule& PtxModule::operator=(PtxModule&&) noexcept = default;
PtxModule::~PtxModule() = default;

PtxModule PtxModule::load(std::string text, std::string name, const PtxPlacing& place) {
  const machine::DefaultFloatingPoint floating_point;  // numbers of the text are rounded
  auto state = std::make_unique<State>();
  state->launches_dependents = text.find("griddepcontrol.launch_dependents") != std::string::npos;
  state->text = parse(std::move(text), std::move(name));
  state->decode();
  state->place_variables(place);
  state->list_entries();
  return PtxModule(std::move(state));
}

const std::vector<PtxEntry>& PtxModule::entries() const { return state_->entries; }
const std::vector<PtxVariable>& PtxModule::variables() const { return state_->variables; }
std::string PtxModule::target() const { return state_->text->target; }
bool PtxModule::launches_dependents() const { return state_->launches_dependents; }

const PtxEntry* PtxModule::find(std::string_view entry) const {
  const auto found = state_->entry_ids.find(entry);
  return found == state_->entry_ids.end() ? nullptr : &state_->entries[found->second];
}

namespace {

// What a launch of a PTX entry can get wrong beside what check_launch() finds.
void check_ptx_launch(const std::string& module, const PtxEntry& entry, const PtxLaunch& launch,
                      const void* parameters, std::size_t parameter_bytes) {
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("launch of {} in {}: {}", entry.name, module, why));
  };
  if (parameters == nullptr && parameter_bytes != 0) {
    fail(fmt::format("{} bytes of parameters at a null pointer", parameter_bytes));
  }
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
    fail(
        fmt::format("{} threads in a CTA; the kernel's .maxntid is {}", volume(launch.block), entry.max_threads));
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

// Before all memory is taken: every lane of a resident warp has eight bytes of each virtual register.
void check_register_memory(const std::string& module, const Program& program, std::uint32_t sms,
                           const PtxLaunch& launch) {
  constexpr std::uint64_t kBytes = 32 * 8;
  const std::uint64_t warps = (volume(launch.block) + 31) / 32;
  const std::uint64_t ctas = std::min(volume(launch.grid), std::max<std::uint64_t>(sms, volume(launch.cluster)));
  const double wanted =
      static_cast<double>(program.entry->row_count) * kBytes * static_cast<double>(warps * ctas);
  const double have = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (wanted <= have / 2) return;
  throw InputError(
      fmt::format("launch of {} in {}: {} virtual registers in {} warps at once take {:.1f} GB; at most half of "
                  "the {:.1f} GB of this machine. Fewer SMs or threads take less",
                  program.entry->name, module, program.entry->row_count, warps * ctas, wanted / 1e9, have / 1e9));
}

}  // namespace

Report PtxModule::launch(std::string_view entry, const LaunchOptions& options, const PtxLaunch& asked,
                         const void* parameters, std::size_t parameter_bytes) const {
  const std::string& module = state_->text->name;
  const PtxEntry* known = find(entry);
  if (known == nullptr) {
    std::string names;
    constexpr std::size_t kMostNames = 8;
    for (std::size_t e = 0; e < std::min(state_->entries.size(), kMostNames); ++e) {
      names += (names.empty() ? "" : ", ") + state_->entries[e].name;
    }
    if (state_->entries.size() > kMostNames)
      names += fmt::format(" and {} more", state_->entries.size() - kMostNames);
    throw InputError(
        fmt::format("{} has no entry '{}'; it has {}", module, entry, names.empty() ? "none" : names));
  }
  if (!known->unsupported.empty()) throw InputError(known->unsupported);
  check_ptx_launch(module, *known, asked, parameters, parameter_bytes);
  PtxLaunch launch = asked;
  if (is_zero(launch.cluster))
    launch.cluster = is_zero(known->required_cluster) ? isa::Dim3{} : known->required_cluster;
  const std::uint32_t number = state_->text->function_ids.find(entry)->second;
  const Program program = state_->link(number);
  const auto threads = static_cast<std::uint32_t>(volume(launch.block));
  const std::size_t shared_bytes = program.static_shared_bytes + launch.dynamic_shared_bytes;
  check_launch(options, {.grid = launch.grid, .cluster = launch.cluster, .threads = threads},
               {.threads = threads, .shared_bytes = shared_bytes, .shared_alignment = 16, .run = nullptr});
  check_register_memory(module, program, options.sms, launch);
  // The module's variables are global memory, too.
  GlobalMemory memory(options.memory);
  if (!state_->storage.empty()) {
    for (const PtxVariable& variable : state_->variables) {
      memory.add_at(reinterpret_cast<std::uint64_t>(variable.address), variable.name, variable.host,
                    variable.bytes, !variable.is_constant);
    }
  }
  DeviceHeap own_heap;
  if (launch.heap == nullptr) launch.heap = &own_heap;
  launch.heap->add_to(memory);
  LaunchOptions with_variables = options;
  with_variables.memory = &memory;
  Pages params = allocate(aligned(parameter_bytes, kParamAlignment));
  if (parameter_bytes != 0) std::memcpy(params.get(), parameters, parameter_bytes);
  Interpreter interpreter(with_variables, launch, program, threads, shared_bytes, params.get(), memory);
  return interpreter.run();
}

std::vector<std::string> ptx_instruction_forms() {
  std::vector<std::string> forms;
  for (const Form& form : FormTable::get().all()) forms.push_back(form.pattern);
  return forms;
}

}  // namespace heddle::sim
