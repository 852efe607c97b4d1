// SPDX-License-Identifier: Apache-2.0
//
// What `heddle matmul` needs of grouped matmuls, and of FP8 with float scales on Hopper.
#pragma once

#include "commands.h"

#include "matmul.h"
#include "matmul/reference/matmul_grouped_reference.h"

namespace heddle::tool {

struct Grouped {
  reference::MatmulGroupedCase matmul;

  std::vector<std::string> configs(const DeviceId& device) const;
  std::string choice(const DeviceId& device) const;
  RunOutcome run(const DeviceId& device, const RunOptions& options);
  double host_bytes() const;
  std::string types() const;
  bool is_exact() const { return matmul.data == reference::MatmulData::kIntegers; }
};

// Whether the options ask for one.
bool is_grouped(const MatmulOptions& options);

// The rows of each group, or their ends, and what they are. Throws where they are no rows of A.
std::vector<std::int32_t> group_numbers_of(const MatmulOptions& options);
GroupRows group_rows_of(const MatmulOptions& options);

// Throws InputError for options that do not go together.
Grouped grouped_of(const MatmulOptions& options, MatmulElement a_type, MatmulElement b_type,
                   MatmulElement out_type);

}  // namespace heddle::tool
