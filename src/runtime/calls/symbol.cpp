// SPDX-License-Identifier: Apache-2.0
//
// Variables of modules, by what the host code calls them.
#include "runtime/copy.h"
#include "runtime/state.h"

#include <fmt/format.h>

using namespace heddle::runtime;

namespace {

const heddle::sim::PtxVariable* find(State& card, const void* handle, Error& error) {
  const Symbol* symbol = card.modules.find_symbol(handle);
  error = Error::kInvalidSymbol;
  if (symbol == nullptr) return nullptr;
  if (const Error load = symbol->module->load(card.memory); load != Error::kSuccess) {
    error = load;
    return nullptr;
  }
  const heddle::sim::PtxVariable* variable = symbol->module->variable(symbol->name);
  if (variable != nullptr) error = Error::kSuccess;
  return variable;
}

Error copy_part(State& card, const void* handle, std::size_t offset, std::size_t bytes, int kind, void* to,
                const void* from) {
  Error error = Error::kSuccess;
  const heddle::sim::PtxVariable* variable = find(card, handle, error);
  if (variable == nullptr) return error;
  const int other = to == nullptr ? kHostToDevice : kDeviceToHost;
  if (kind != other && kind != kDeviceToDevice && kind != kDefault) return Error::kInvalidMemcpyDirection;
  if (offset > variable->bytes || bytes > variable->bytes - offset) {
    say(fmt::format("a copy of {} bytes at byte {} of the variable {}, which has {}", bytes, offset,
                    variable->name, variable->bytes));
    return Error::kInvalidValue;
  }
  auto* place = static_cast<std::byte*>(variable->address) + offset;
  return copy(card, to == nullptr ? place : to, from == nullptr ? place : from, bytes, kind);
}

}  // namespace

HEDDLE_CUDA_CALL int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                                        std::size_t offset, int kind) {
  return call("cudaMemcpyToSymbol", [&](State& card) {
    if (from == nullptr) return Error::kInvalidValue;
    return copy_part(card, symbol, offset, bytes, kind, nullptr, from);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                             std::size_t offset, int kind, void* stream) {
  return call_on("cudaMemcpyToSymbolAsync", stream, [&](State& card) {
    if (from == nullptr) return Error::kInvalidValue;
    return copy_part(card, symbol, offset, bytes, kind, nullptr, from);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                          int kind) {
  return call("cudaMemcpyFromSymbol", [&](State& card) {
    if (to == nullptr) return Error::kInvalidValue;
    return copy_part(card, symbol, offset, bytes, kind, to, nullptr);
  });
}

HEDDLE_CUDA_CALL int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                               std::size_t offset, int kind, void* stream) {
  return call_on("cudaMemcpyFromSymbolAsync", stream, [&](State& card) {
    if (to == nullptr) return Error::kInvalidValue;
    return copy_part(card, symbol, offset, bytes, kind, to, nullptr);
  });
}

HEDDLE_CUDA_CALL int cudaGetSymbolAddress(void** address, const void* symbol) {
  return call("cudaGetSymbolAddress", [&](State& card) {
    Error error = Error::kSuccess;
    const heddle::sim::PtxVariable* variable = find(card, symbol, error);
    if (address == nullptr) return Error::kInvalidValue;
    if (variable != nullptr) *address = variable->address;
    return error;
  });
}

HEDDLE_CUDA_CALL int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return call("cudaGetSymbolSize", [&](State& card) {
    Error error = Error::kSuccess;
    const heddle::sim::PtxVariable* variable = find(card, symbol, error);
    if (bytes == nullptr) return Error::kInvalidValue;
    if (variable != nullptr) *bytes = variable->bytes;
    return error;
  });
}
