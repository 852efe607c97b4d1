// SPDX-License-Identifier: Apache-2.0
//
// Children that a program forks. One that is forked between calls has a card like its parent's. One that is
// forked while another thread is in a call has a state that nobody finishes: all its calls say that CUDA is not
// initialised, as every call of a forked child does beside a real card.
#pragma once

namespace heddle::runtime {

struct State;

void survive_forks(State& card);
// In a child: the thread that was making the card, if one was, is not there.
void make_state_anew();

}  // namespace heddle::runtime
