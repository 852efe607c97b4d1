// SPDX-License-Identifier: Apache-2.0
//
// Command lines, one argument on each line of the input: refused by a sentence, or parsed; then what `exec` and
// `check` make of their options before anything runs. No command does.
#include "command_line.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>
#include <heddle/sim/schedule.h>
#include <heddle/sim/trace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

void judge(const std::vector<const char*>& arguments) {
  using namespace heddle;
  // Made once, which takes longer than all else; of the last input nothing may show in the next.
  static tool::CommandLine* const line = new tool::CommandLine;
  line->exec = {};
  line->check = {};
  line->parse(static_cast<int>(arguments.size()), arguments.data());
  const tool::ScheduleOptions* schedules = nullptr;
  const std::vector<std::string>* accepted = nullptr;
  if (line->exec_command->parsed()) {
    schedules = &line->exec;
    accepted = &line->exec.accept;
    if (!line->exec.trace.empty()) sim::Trace::check_path(line->exec.trace);
  } else if (line->check_command->parsed()) {
    schedules = &line->check;
    accepted = &line->check.accept;
  }
  if (schedules == nullptr) return;
  for (const std::string& rule : *accepted) (void)sim::AcceptRule::parse(rule);
  if (schedules->schedule.empty()) return;
  const sim::ReplayToken token = sim::ReplayToken::parse(schedules->schedule, "program");
  if (sim::ReplayToken::parse(token.text(), "program").text() != token.text()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words = {"heddle"};
  std::string word;
  for (std::size_t i = 0; i < size && words.size() < 40; ++i) {
    if (data[i] == '\n') {
      words.push_back(word);
      word.clear();
    } else if (data[i] != 0) {  // no argument has one
      word += static_cast<char>(data[i]);
    }
  }
  std::vector<const char*> arguments;
  for (const std::string& one : words) arguments.push_back(one.c_str());
  try {
    judge(arguments);
  } catch (const CLI::ParseError& error) {
    if (std::string(error.what()).empty()) __builtin_trap();
  } catch (const heddle::InputError&) {
  }
  return 0;
}
