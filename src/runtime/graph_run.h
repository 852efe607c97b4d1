// SPDX-License-Identifier: Apache-2.0
//
// A launch of a graph. Its nodes run one after the other, in one of the orders that the dependencies allow; which
// of them may run beside one another on a card is told to StreamOrder, a branch as a stream.
#pragma once

#include "runtime/state.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::runtime {

class GraphRun {
 public:
  GraphRun(std::shared_ptr<const GraphExec> exec, const void* stream);

  // Runs nodes up to the next one that is a function of the host, or to the end.
  Error advance(State& card);
  // The function that advance() stopped at; none at the end. It is called without the lock.
  const std::optional<HostWork>& host() const { return host_; }

 private:
  const void* handle_of(std::size_t chain) const { return chain == 0 ? stream_ : branches_[chain - 1]; }
  void begin(State& card);
  Error run_nodes(State& card);
  Error run_node(State& card, const GraphWork& work, const void* stream);
  void finish(State& card);

  std::shared_ptr<const GraphExec> exec_;
  const void* stream_;
  std::vector<const void*> branches_;
  std::vector<StreamOrder::Clock> done_;  // when a node is, if there are branches
  std::size_t next_ = 0;
  std::uint64_t resets_ = 0;  // of the card when it began
  std::optional<HostWork> host_;
};

}  // namespace heddle::runtime
