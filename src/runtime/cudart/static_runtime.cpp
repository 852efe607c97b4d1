// SPDX-License-Identifier: Apache-2.0
//
// Programs that have the CUDA runtime linked in, as nvcc links them unless told otherwise. The functions of that
// runtime are in the program's symbol table; before the program's first constructor runs, each of them gets a
// jump to the function of the same name here. So it is never used, and nothing has to be known about how it talks
// to a driver.
//
// x86-64 only. The runtime in a program without a symbol table, and in a library, is left alone:
// calls/export_table.cpp serves it.
#include "runtime/message.h"
#include "runtime/refuse.h"

#include <fmt/format.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle::runtime {

namespace {

// The program's file, as long as it is looked at.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0) {
      const auto bytes = static_cast<std::size_t>(status.st_size);
      void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(mapped), bytes};
    }
    if (file >= 0) close(file);
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes_.data() + offset);
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Function {
  std::string_view name;
  std::uint64_t address = 0;  // as linked
  std::uint64_t room = 0;     // up to where the next one begins; what is between the two is padding
};

// The functions that the file defines, by its symbol table; none if it has no such table.
std::vector<Function> functions_of(const MappedFile& file) {
  std::vector<Function> functions;
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return functions;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return functions;
  for (const Elf64_Shdr& section : std::span(sections, header->e_shnum)) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const std::uint64_t count = section.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.at<Elf64_Sym>(section.sh_offset, count);
    const auto* text = file.at<char>(names.sh_offset, names.sh_size);
    if (symbols == nullptr || text == nullptr) continue;
    for (const Elf64_Sym& symbol : std::span(symbols, count)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_name >= names.sh_size) continue;
      const char* name = text + symbol.st_name;
      functions.push_back(
          {{name, strnlen(name, names.sh_size - symbol.st_name)}, symbol.st_value, symbol.st_size});
    }
  }
  std::sort(functions.begin(), functions.end(),
            [](const Function& one, const Function& other) { return one.address < other.address; });
  for (std::size_t f = functions.size(); f-- > 1;) {
    Function& before = functions[f - 1];
    const Function& after = functions[f];
    const bool is_same = after.address == before.address;  // two names of it
    before.room = is_same ? after.room : after.address - before.address;
  }
  return functions;
}

// How far the program was moved from where it was linked.
std::uint64_t load_offset() {
  std::uint64_t offset = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uint64_t*>(result) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &offset);
  return offset;
}

// mov rax, target; jmp rax
constexpr std::size_t kJumpBytes = 12;

bool write_jump(std::uint64_t address, const void* target) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  auto* begin = reinterpret_cast<void*>(address / page * page);
  const std::size_t bytes = address + kJumpBytes - reinterpret_cast<std::uint64_t>(begin);
  if (mprotect(begin, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  std::array<unsigned char, kJumpBytes> code = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0};
  std::memcpy(code.data() + 2, &target, sizeof(target));
  std::memcpy(reinterpret_cast<void*>(address), code.data(), kJumpBytes);
  return mprotect(begin, bytes, PROT_READ | PROT_EXEC) == 0;
}

// Variants for the default stream of each thread do what the call itself does.
std::string_view without_stream_suffix(std::string_view name) {
  const bool is_variant = name.ends_with("_ptsz") || name.ends_with("_ptds");
  return is_variant ? name.substr(0, name.size() - 5) : name;
}

void redirect() {
  const MappedFile file("/proc/self/exe");
  std::vector<Function> functions = functions_of(file);
  std::erase_if(functions,
                [](const Function& f) { return !f.name.starts_with("cuda") && !f.name.starts_with("__cuda"); });
  bool has_runtime = false;
  for (const Function& f : functions) has_runtime |= f.name == "__cudaRegisterFatBinary";
  if (!has_runtime) return;
  std::unordered_map<std::string_view, const void*> ours;
  for (unsigned c = 0; c < kKnownCallCount; ++c) ours.emplace(kKnownCalls[c].name, kKnownCalls[c].function);
  const std::uint64_t moved = load_offset();
  for (const Function& f : functions) {
    auto found = ours.find(f.name);
    if (found == ours.end()) found = ours.find(without_stream_suffix(f.name));
    if (found == ours.end()) continue;
    if (f.room < kJumpBytes || !write_jump(moved + f.address, found->second)) {
      say(fmt::format("{} is linked into the program with {} bytes of room, and cannot be redirected", f.name,
                      f.room));
    }
  }
}

#if defined(__x86_64__)
[[gnu::constructor]] void redirect_static_runtime() { redirect(); }
#endif

}  // namespace

}  // namespace heddle::runtime
