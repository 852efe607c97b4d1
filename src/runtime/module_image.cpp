// SPDX-License-Identifier: Apache-2.0
#include "runtime/module_image.h"

#include "runtime/fat_binary.h"
#include "runtime/host_pages.h"
#include "runtime/kept_ptx.h"
#include "runtime/machine_code.h"
#include "runtime/options.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

namespace heddle::runtime {

namespace {

// A module has a few megabytes; one of a damaged length should not take all memory.
constexpr std::uint64_t kMaxImage = std::uint64_t{1} << 30;

Error load_module(State& card, void** result, Module* module) {
  if (const Error error = module->load(card.memory); error != Error::kSuccess) {
    card.modules.remove(module, card.memory);
    return error;
  }
  *result = module;
  return Error::kSuccess;
}

Error load_bytes(State& card, void** result, std::vector<std::byte> image) {
  return load_module(card, result, card.modules.add(std::move(image)));
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::vector<const void*> FatWrapper::units() const {
  std::vector<const void*> all;
  for (const void* const* unit = prelinked; readable_bytes(unit) >= sizeof(*unit) && *unit != nullptr; ++unit) {
    all.push_back(*unit);
  }
  return all;
}

std::optional<std::vector<std::byte>> read_file(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    say(fmt::format("there is no file '{}' to load a module from: {}", path, std::strerror(errno)));
    return std::nullopt;
  }
  const std::unique_ptr<const int, decltype([](const int* one) { close(*one); })> closed(&file);
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    say(fmt::format("'{}' is no ordinary file, so no module can be loaded from it", path));
    return std::nullopt;
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > kMaxImage) {
    say(fmt::format("'{}' has {} bytes; a module has at most {}", path, bytes, kMaxImage));
    return std::nullopt;
  }
  std::vector<std::byte> image(bytes);
  std::size_t done = 0;
  while (done < image.size()) {
    const ssize_t got = read(file, image.data() + done, image.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // shorter than it was, or not readable: what is there is judged as an image
    done += static_cast<std::size_t>(got);
  }
  image.resize(done);
  return image;
}

Error choose_ptx(std::span<const std::byte> bytes, std::string& best_text, bool is_one_of_several) {
  if (is_elf(bytes)) {
    const MachineCode code = read_machine_code(bytes);
    best_text = kept_ptx(code.kernels);
    if (!best_text.empty()) return Error::kSuccess;
    say(
        fmt::format("a module is {}, which cannot be run. Give PTX, or a fat binary that has some; docs/exec.md "
                    "says how, for each tool",
                    describe(code)));
    return Error::kNoKernelImageForDevice;
  }
  if (!is_fat_binary(bytes)) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    best_text.assign(text, strnlen(text, bytes.size()));
    const PtxTarget target = ptx_target(best_text);
    if (target.arch == 0 || can_run(target, options().sm())) return Error::kSuccess;
    say(fmt::format("PTX for {} cannot be run by sm_{}; compile it for that, or choose --arch", target.name(),
                    options().sm()));
    return Error::kInvalidPtx;
  }
  const std::uint32_t arch = options().sm();
  PtxTarget best;
  std::vector<std::string> embedded;
  std::string machine_code;  // the first; what is for other cards is mostly of the same kernels
  for (const FatImage& image : read_fat_binary(bytes)) {
    if (image.kind == FatImage::Kind::kOther) continue;
    std::string text = unpack_ptx(image);
    if (image.kind == FatImage::Kind::kMachineCode) {
      const MachineCode code = read_machine_code(std::as_bytes(std::span(text)));
      text = kept_ptx(code.kernels);
      if (text.empty()) {
        const bool is_first = machine_code.empty();
        machine_code = is_first ? fmt::format("{} for sm_{}", describe(code), image.arch)
                                : fmt::format("{}, sm_{}", machine_code, image.arch);
        continue;
      }
    }
    const PtxTarget target = ptx_target(text);
    embedded.push_back("PTX for " + target.name());
    if (!can_run(target, arch) || (best.arch != 0 && !is_better(target, best))) continue;
    best = target;
    best_text = std::move(text);
  }
  if (best.arch == 0 && is_one_of_several) return Error::kNoKernelImageForDevice;
  if (!machine_code.empty()) embedded.insert(embedded.begin(), std::move(machine_code));
  if (best.arch == 0) {
    say(
        fmt::format("the program has no PTX that sm_{} can run. It has {}. Compile it with "
                    "-gencode arch=compute_{}a,code=compute_{}a, or choose --arch",
                    arch, list_of(embedded), arch, arch));
    return Error::kNoKernelImageForDevice;
  }
  return Error::kSuccess;
}

std::span<const std::byte> image_at(const void* begin) {
  const std::size_t there = readable_bytes(begin);
  const std::span<const std::byte> all(static_cast<const std::byte*>(begin), there);
  if (is_fat_binary(all)) return all.first(std::min<std::uint64_t>(fat_binary_bytes(all), there));
  if (is_elf(all)) return all.first(elf_bytes(all));
  return all.first(strnlen(static_cast<const char*>(begin), std::min<std::uint64_t>(there, kMaxImage)));
}

Error load_image(State& card, void** result, const void* image) {
  if (result == nullptr || image == nullptr) return Error::kInvalidValue;
  if (readable_bytes(image) >= sizeof(FatWrapper)) {
    FatWrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    if (wrapper.is_linked()) return load_module(card, result, card.modules.add(wrapper.units()));
    if (wrapper.magic == FatWrapper::kMagic) image = wrapper.image;
  }
  const std::span<const std::byte> bytes = image_at(image);
  if (bytes.empty()) return Error::kInvalidKernelImage;
  return load_bytes(card, result, {bytes.begin(), bytes.end()});
}

Error load_image_file(State& card, void** result, const char* path) {
  if (result == nullptr || path == nullptr) return Error::kInvalidValue;
  std::optional<std::vector<std::byte>> image = read_file(path);
  if (!image) return Error::kFileNotFound;
  if (image->empty()) return Error::kInvalidKernelImage;
  return load_bytes(card, result, *std::move(image));
}

Error find_in_module(State& card, Module& module, void** result, const char* name) {
  if (result == nullptr || name == nullptr) return Error::kInvalidValue;
  Kernel* kernel = module.kernel(name);
  if (kernel == nullptr) return Error::kSymbolNotFound;
  card.modules.add_kernel(&module, kernel, name);
  *result = kernel;
  return Error::kSuccess;
}

}  // namespace heddle::runtime
