// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork.h"

#include "runtime/state.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>

namespace heddle::runtime {

namespace {

std::atomic<State*> forked_card = nullptr;
thread_local bool is_ours = false;  // the lock, while this thread forks

// Nobody is waited for: what holds the lock may itself wait for this thread, as a kernel that polls does.
void before() {
  State* const card = forked_card;
  is_ours = card != nullptr && card->mutex.try_lock();
}

void in_parent() {
  if (is_ours) forked_card.load()->mutex.unlock();
}

// What its parent has done is not told by a child.
void forget_work(State& card) {
  card.launches_of_parent = card.launches;
  card.instructions = 0;
  card.seconds = card.processor_seconds = 0;
  card.formal = card.accepted = {};
  card.pct = {};
  card.searches = {};
}

// A lock knows its thread by a number that the child's thread does not have, so that it is made anew.
void in_child() {
  make_state_anew();
  State* const card = forked_card;
  if (card == nullptr) return;
  new (&card->mutex) std::recursive_mutex;
  if (is_ours) {
    forget_work(*card);
  } else {
    card->is_lost = true;
  }
}

// From the start on: a program may fork while another thread makes the card.
[[maybe_unused]] const int is_registered = pthread_atfork(before, in_parent, in_child);

}  // namespace

void survive_forks(State& card) { forked_card = &card; }

}  // namespace heddle::runtime
