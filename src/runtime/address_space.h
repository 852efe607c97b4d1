// SPDX-License-Identifier: Apache-2.0
//
// The addresses of the card: one range that is reserved in the process and that nothing in the program can touch,
// so that host code which follows a pointer of the card faults, as it does beside a real one. The bytes behind an
// address are elsewhere.
//
// An address that was given back is not given again before the whole range has been used once: what still points
// there points to nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace heddle::runtime {

class AddressSpace {
 public:
  // Reserves up to `bytes`, and less where the process may not have as much. Throws std::bad_alloc if there is
  // nothing.
  explicit AddressSpace(std::uint64_t bytes = kBytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // The first of `bytes` addresses that nobody has; 0 if there are not as many in a row.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment = kAlignment);
  void give_back(std::uint64_t begin);

  bool contains(std::uint64_t address) const { return address - begin_ < end_ - begin_; }

  static constexpr std::uint64_t kAlignment = 512;
  static constexpr std::uint64_t kGap =
      65536;  // at least, between two: reaching beyond one does not reach the next
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 44;

 private:
  std::uint64_t place(std::uint64_t from, std::uint64_t bytes, std::uint64_t alignment) const;

  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t next_ = 0;                       // where the search for the next begins
  std::map<std::uint64_t, std::uint64_t> live_;  // begin and end of what is taken
};

}  // namespace heddle::runtime
