// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork.h"

#include "runtime/state.h"

#include <pthread.h>

#include <mutex>
#include <new>

namespace heddle::runtime {

namespace {

State* forked_card = nullptr;
thread_local bool is_ours = false;  // the lock, while this thread forks

// Nobody is waited for: what holds the lock may itself wait for this thread, as a kernel that polls does.
void before() { is_ours = forked_card->mutex.try_lock(); }

void in_parent() {
  if (is_ours) forked_card->mutex.unlock();
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
  new (&forked_card->mutex) std::recursive_mutex;
  if (is_ours) {
    forget_work(*forked_card);
  } else {
    forked_card->is_lost = true;
  }
}

}  // namespace

void survive_forks(State& card) {
  forked_card = &card;
  pthread_atfork(before, in_parent, in_child);
}

}  // namespace heddle::runtime
