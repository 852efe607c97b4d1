// SPDX-License-Identifier: Apache-2.0
//
// A runtime that is linked into the program, without symbols: it gives contexts to its threads by tables that
// nobody has described, so that from then on every thread has the one of the card.
#pragma once

namespace heddle::runtime {

void note_linked_runtime() noexcept;

}  // namespace heddle::runtime
