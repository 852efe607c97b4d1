// SPDX-License-Identifier: Apache-2.0
//
// cuGetExportTable: what a CUDA runtime that is linked into a program or a library asks of the driver beside its
// documented calls. A table is a row of functions, found by a number of 16 bytes; the first word of most is the
// length. None of it is documented: which tables are asked for, and which of their functions with what, was
// learnt by serving them to runtimes of CUDA 12.9 to 13.4, and from what others found out before
// (github.com/vosen/ZLUDA). A function that nobody was seen to call is refused by its number.
#include "runtime/driver_call.h"
#include "runtime/hmac_md2.h"
#include "runtime/linked_runtime.h"
#include "runtime/options.h"

#include <fmt/format.h>

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

using namespace heddle::runtime;

extern "C" int cuModuleLoadFatBinary(void** module, const void* image);
extern "C" int cuDevicePrimaryCtxRetain(void** context, int device);
extern "C" int cuDeviceGetUuid_v2(void* uuid, int device);
extern "C" int cuDeviceGetAttribute(int* value, int attribute, int device);
extern "C" int cuDriverGetVersion(int* version);
extern "C" int cuCtxGetCurrent(void** context);
extern "C" int cuCtxGetId(void* context, unsigned long long* id);

namespace {

using Uuid = std::array<std::uint8_t, 16>;

enum Table : int {
  kCudart,
  kToolsThreadStorage,
  kToolsHooks,
  kContextStorage,
  kHandshake,
  kContextChecks,
  kContexts,
  kTables
};

constexpr const char* kTableNames[kTables] = {
    "for the runtime",   "for threads of tools",   "for hooks of tools", "for context storage",
    "for the handshake", "for checks of contexts", "of contexts"};

int refuse_slot(Table table, int slot) {
  say(fmt::format("the program's CUDA runtime calls function {} of the driver's table {}, which is not there",
                  slot, kTableNames[table]));
  return static_cast<int>(Error::kNotSupported);
}

template <Table table, int slot>
int refused() noexcept {
  return refuse_slot(table, slot);
}

// The table `table` with `slots` functions, all of them refused.
template <Table table, std::size_t... slot>
constexpr auto refusing(std::index_sequence<slot...>) {
  return std::array<const void*, sizeof...(slot)>{
      reinterpret_cast<const void*>(&refused<table, static_cast<int>(slot)>)...};
}

// The runtime keeps a value of its own in each context, and gives it up in a destructor of the program.
using Storage = std::map<std::pair<const void*, const void*>, void*>;
Storage& storage() {
  static auto* all = new Storage;
  return *all;
}

const void* context_or_current(const void* context) {
  void* current = nullptr;
  if (context == nullptr) cuDevicePrimaryCtxRetain(&current, 0);
  return context != nullptr ? context : current;
}

int put_storage(void* context, void* key, void* value, void*) {
  return driver_call("cuGetExportTable", [&](State&) {
    storage()[{context_or_current(context), key}] = value;
    return Error::kSuccess;
  });
}

int drop_storage(void* context, void* key) {
  return driver_call("cuGetExportTable", [&](State&) {
    storage().erase({context_or_current(context), key});
    return Error::kSuccess;
  });
}

int get_storage(void** value, void* context, void* key) {
  return driver_call("cuGetExportTable", [&](State&) {
    const auto found = storage().find({context_or_current(context), key});
    if (value == nullptr || found == storage().end()) return Error::kInvalidHandle;
    *value = found->second;
    return Error::kSuccess;
  });
}

int primary_context(void** context, int device) { return cuDevicePrimaryCtxRetain(context, device); }

int load_module(void** module, const void* wrapper) { return cuModuleLoadFatBinary(module, wrapper); }

int load_module_with(void** module, const void* wrapper, void*, void*, unsigned) {
  return cuModuleLoadFatBinary(module, wrapper);
}

int load_image_with(const void* image, void** module, void*, void*, unsigned) {
  return cuModuleLoadFatBinary(module, image);
}

int device_of_context(void*, int* device) { return give(device, 0); }

int nothing() { return 0; }

// Which calls a tool wants to be told of: none.
std::array<std::uint32_t, 1024> call_flags;
std::array<std::uint32_t, 16> tool_flags;

void give_call_flags(void** flags, std::size_t* count) {
  *flags = call_flags.data();
  *count = call_flags.size();
}

void give_tool_flags(void** flags, std::size_t* count) {
  *flags = tool_flags.data();
  *count = 14;
}

int check_context(void*, unsigned* flags, const void**) { return give(flags, 0U); }

int handshake(unsigned version, std::uint64_t seconds, std::uint64_t* answer);

// Made when first asked for; the length of a table in bytes is its first word.
struct Tables {
  std::array<const void*, 13> cudart = refusing<kCudart>(std::make_index_sequence<13>());
  std::array<const void*, 4> thread_storage = refusing<kToolsThreadStorage>(std::make_index_sequence<4>());
  std::array<const void*, 7> hooks = refusing<kToolsHooks>(std::make_index_sequence<7>());
  std::array<const void*, 4> context_storage = refusing<kContextStorage>(std::make_index_sequence<4>());
  std::array<const void*, 3> hand = refusing<kHandshake>(std::make_index_sequence<3>());
  std::array<const void*, 4> checks = refusing<kContextChecks>(std::make_index_sequence<4>());

  std::array<const void*, 95> contexts = refusing<kContexts>(std::make_index_sequence<95>());

  Tables() {
    const auto put = [](auto& table, std::size_t slot, auto* function) {
      table[slot] = reinterpret_cast<const void*>(function);
    };
    const auto size = [](auto& table) { table[0] = reinterpret_cast<const void*>(sizeof(table)); };
    size(cudart), size(thread_storage), size(hooks), size(hand), size(checks), size(contexts);
    put(cudart, 1, load_module);
    put(cudart, 2, primary_context);
    put(cudart, 6, load_module_with);
    put(cudart, 7, nothing);
    put(cudart, 8, load_image_with);
    put(cudart, 12, nothing);
    put(thread_storage, 2, cuCtxGetCurrent);
    put(hooks, 2, give_call_flags);
    put(hooks, 6, give_tool_flags);
    put(context_storage, 0, put_storage);
    put(context_storage, 1, drop_storage);
    put(context_storage, 2, get_storage);
    put(hand, 1, handshake);
    put(checks, 2, check_context);
    put(checks, 3, nothing);
    put(contexts, 3, device_of_context);
    put(contexts, 4, cuCtxGetId);
  }
};

const Tables& tables() {
  static const Tables* all = new Tables;  // as long as the process
  return *all;
}

// The runtime makes sure that it talks to a driver that knows it: a keyed hash over the process, the tables and
// the devices.
int handshake(unsigned version, std::uint64_t seconds, std::uint64_t* answer) {
  if (answer == nullptr) return driver_code(Error::kInvalidValue);
  constexpr Md2Digest kKey = {0x14, 0x6A, 0xDD, 0xAE, 0x53, 0xA9, 0xA7, 0x52,
                              0xAA, 0x08, 0x41, 0x36, 0x0B, 0xF5, 0x5A, 0x9F};
  struct {
    int driver = 0;
    unsigned runtime;
    std::uint32_t process;
    std::uint32_t thread;
    const void* cudart;
    const void* table;
    const void* function;
    std::uint64_t seconds;
    Uuid uuid = {};
    int domain = 0;
    int bus = 0;
    int slot = 0;
    int padding = 0;
  } asked = {.runtime = version,
             .process = static_cast<std::uint32_t>(getpid()),
             .thread = static_cast<std::uint32_t>(pthread_self()),
             .cudart = tables().cudart.data(),
             .table = tables().hand.data(),
             .function = tables().hand[1],
             .seconds = seconds};
  cuDriverGetVersion(&asked.driver);
  cuDeviceGetUuid_v2(&asked.uuid, 0);
  cuDeviceGetAttribute(&asked.domain, 50, 0);
  cuDeviceGetAttribute(&asked.bus, 33, 0);
  cuDeviceGetAttribute(&asked.slot, 34, 0);
  std::array<std::uint8_t, sizeof(asked)> message;
  std::memcpy(message.data(), &asked, sizeof(asked));
  const Md2Digest digest = hmac_md2(kKey, std::span(message).first(sizeof(asked) - sizeof(asked.padding)));
  std::memcpy(answer, digest.data(), digest.size());
  return 0;
}

struct Known {
  Uuid id;
  const void* table;
};

const void* find_table(const Uuid& id) {
  const Tables& all = tables();
  const Known known[] = {
      {{0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9},
       all.cudart.data()},
      {{0x42, 0xD8, 0x5A, 0x81, 0x23, 0xF6, 0xCB, 0x47, 0x82, 0x98, 0xF6, 0xE7, 0x8A, 0x3A, 0xEC, 0xDC},
       all.thread_storage.data()},
      {{0xA0, 0x94, 0x79, 0x8C, 0x2E, 0x74, 0x2E, 0x74, 0x93, 0xF2, 0x08, 0x00, 0x20, 0x0C, 0x0A, 0x66},
       all.hooks.data()},
      {{0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11, 0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93},
       all.context_storage.data()},
      {{0xD4, 0x08, 0x20, 0x55, 0xBD, 0xE6, 0x70, 0x4B, 0x8D, 0x34, 0xBA, 0x12, 0x3C, 0x66, 0xE1, 0xF2},
       all.hand.data()},
      {{0x26, 0x3E, 0x88, 0x60, 0x7C, 0xD2, 0x61, 0x43, 0x92, 0xF6, 0xBB, 0xD5, 0x00, 0x6D, 0xFA, 0x7E},
       all.checks.data()},
      {{0x21, 0x31, 0x8C, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8C, 0xA6, 0x41, 0xFF, 0x73, 0x24, 0xC8, 0xF2},
       all.contexts.data()},
  };
  for (const Known& one : known) {
    if (one.id == id) return one.table;
  }
  return nullptr;
}

}  // namespace

HEDDLE_CUDA_CALL int cuGetExportTable(const void** table, const void* id) {
  note_linked_runtime();
  return driver_call_with(
      "cuGetExportTable",
      [&](State&) {
        Uuid wanted;
        std::memcpy(wanted.data(), id, wanted.size());
        *table = find_table(wanted);
        if (options().says_calls) {
          std::string text;
          for (const std::uint8_t byte : wanted) text += fmt::format("{:02x}", byte);
          say(fmt::format("table {} is {}", text, *table != nullptr ? "there" : "not there"));
        }
        return *table != nullptr ? Error::kSuccess : Error::kInvalidValue;
      },
      table, id);
}
