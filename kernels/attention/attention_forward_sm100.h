// SPDX-License-Identifier: Apache-2.0
//
// Forward attention on Blackwell, for every head of every batch: the roles of attention_sm100.h at the work that
// Hopper's kernel has too.
#pragma once

#include "attention_forward.h"
#include "attention_sm100.h"

namespace heddle::inline HEDDLE_TARGET {

template <Element T, AttentionSm100Config config, class Score = PlainScores,
          class KBackend = MmaInputBackend<config.stages>, class VBackend = MmaInputBackend<config.stages>>
using AttentionForwardSm100 =
    AttentionSm100<T, config,
                   AttentionForward<T, attention_steps(config, config.tiles* config.kRows), config.kRows, Score>,
                   KBackend, VBackend>;

}  // namespace heddle::inline HEDDLE_TARGET
