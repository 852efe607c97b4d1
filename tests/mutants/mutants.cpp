// SPDX-License-Identifier: Apache-2.0
//
// mutants [--kernel NAME] [--mutation NAME] [--every N] [--from FIRST] [--jobs N] [--list] [--write FILE]: plants
// every mistake of heddle/testing/ptx_mutants.h at every place of the kernels, as nvcc compiles them, and sees
// that each is noticed: by a report, or by a wrong result. One that is not must be known as equivalent. Exit
// status 1 if any is missed.
// --every N takes one of N, --from FIRST begins with another than the first of all; --jobs N judges so many at a
// time; --write puts the table into a document.
#include "../docs/generated_table.h"
#include "kernels.h"

#include "sim/explore/guided.h"
#include "sim/explore/strategy.h"

#include <heddle/sim/ptx.h>
#include <heddle/testing/ptx_mutants.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::test {
namespace {

// Mistakes at one place that nothing shows, and why.
struct Known {
  std::string_view kernel;
  std::string_view mutation;  // empty: any
  std::string_view place;     // likewise
  std::string_view reason;
};

const Known kSurvivors[] = {
#include "survivors.inc"
};

const Known* find_known(const MutantKernel& kernel, const sim::PtxMutant& mutant) {
  for (const Known& one : kSurvivors) {
    if (one.kernel == kernel.name && (one.mutation.empty() || one.mutation == mutant.mutation) &&
        (one.place.empty() || one.place == mutant.place)) {
      return &one;
    }
  }
  return nullptr;
}

constexpr std::string_view kWrong = "wrong result";
constexpr unsigned kSeconds = 120;

std::string text_of(const MutantKernel& kernel) {
  std::ifstream file(std::string(HEDDLE_PTX_DIR) + "/" + kernel.ptx + ".ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What a run ends with: nothing, a code, or a wrong result. In a process of its own, so that a mistake can do no
// harm here.
std::string verdict_of(const MutantKernel& kernel, const std::string& text, std::uint64_t seed,
                       bool is_strict = false) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    alarm(kSeconds);
    int status = 1;
    try {
      const sim::PtxModule module = sim::PtxModule::load(text, kernel.ptx + ".ptx");
      const sim::PtxInstead instead(module);
      sim::LaunchOptions options;
      const auto strategy =
          sim::explore::make_strategy(seed == 0 ? sim::Schedule{} : sim::Schedule::random(seed));
      options.strategy = strategy.get();
      options.strict = is_strict;
      const sim::explore::Guided guided(options);
      status = kernel.run();
    } catch (const std::exception& error) {
      std::printf("[refused] %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  close(ends[1]);
  std::string printed;
  char part[4096];
  for (ssize_t n = 0; (n = read(ends[0], part, sizeof(part))) > 0;)
    printed.append(part, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return fmt::format("signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  const std::size_t begin = printed.find('[');
  const std::size_t end = printed.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin || begin > 200)
    return std::string(kWrong);
  return printed.substr(begin + 1, end - begin - 1);
}

enum class Fate : std::uint8_t { kReported, kFormal, kWrongResult, kUnreached, kSurvived, kMissed };

struct Outcome {
  const MutantKernel* kernel;
  sim::PtxMutant mutant;
  Fate fate = Fate::kMissed;
  std::string code;  // of a report
};

struct Options {
  std::string kernel;
  std::string mutation;
  std::size_t every = 1;
  std::size_t from = 0;
  std::size_t jobs = 1;
  bool list = false;
  std::string write;
};

// What the model refuses says nothing of the mistake, and neither does a run that is cut off.
bool is_verdict(const std::string& verdict) {
  return !verdict.empty() && verdict != "unsupported" && verdict != "refused" && !verdict.starts_with("signal");
}

// Round robin, then as strictly as can be, then a few other schedules.
void judge(Outcome& one, const std::string& text, const std::string& strict_without) {
  const std::string changed = one.mutant.apply(text);
  const auto is_noticed = [&](const std::string& verdict) {
    if (!is_verdict(verdict)) return false;
    one.fate = verdict == kWrong ? Fate::kWrongResult : Fate::kReported;
    one.code = verdict;
    return true;
  };
  if (is_noticed(verdict_of(*one.kernel, changed, 0))) return;
  sim::PtxMutant trap = one.mutant;
  trap.by = "trap;";
  trap.also_at = 0;
  if (verdict_of(*one.kernel, trap.apply(text), 0).empty()) {
    one.fate = Fate::kUnreached;
    return;
  }
  if (!one.mutant.probe.empty()) {
    sim::PtxMutant probe = one.mutant;
    probe.by = probe.probe;
    if (verdict_of(*one.kernel, probe.apply(text), 0).empty()) {
      one.fate = Fate::kUnreached;
      return;
    }
  }
  one.code = verdict_of(*one.kernel, changed, 0, true);
  if (is_verdict(one.code) && one.code != strict_without) {
    one.fate = Fate::kFormal;
    return;
  }
  one.code.clear();
  if (find_known(*one.kernel, one.mutant) != nullptr) {
    one.fate = Fate::kSurvived;
    return;
  }
  constexpr std::uint64_t kSeeds = 4;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (is_noticed(verdict_of(*one.kernel, changed, seed))) return;
  }
}

// A kernel as it is, and what it ends with as strictly as can be.
struct Ground {
  std::string text;
  std::string strict_without;
};

using Grounds = std::map<const MutantKernel*, Ground>;

void judge(Outcome& one, const Grounds& grounds) {
  const Ground& ground = grounds.at(one.kernel);
  judge(one, ground.text, ground.strict_without);
}

// Each process has every so-manieth of them, and writes a line for each: its number, its fate and its code. What
// a process that ends early has not judged stays missed.
void judge_all(std::vector<Outcome>& all, const Grounds& grounds, std::size_t jobs) {
  if (jobs == 1) {
    for (Outcome& one : all) judge(one, grounds);
    return;
  }
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (std::size_t job = 0; job < jobs; ++job) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    for (std::size_t i = job; i < all.size(); i += jobs) {
      judge(all[i], grounds);
      const std::string line = fmt::format("{} {} {}\n", i, static_cast<int>(all[i].fate), all[i].code);
      if (write(ends[1], line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string lines;
  char part[4096];
  for (ssize_t n = 0; (n = read(ends[0], part, sizeof(part))) > 0;) {
    lines.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  std::istringstream in(lines);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::size_t number = 0;
    int fate = 0;
    words >> number >> fate >> std::ws;
    all[number].fate = static_cast<Fate>(fate);
    std::getline(words, all[number].code);
  }
}

std::vector<Outcome> run_all(const Options& options, bool& is_clean) {
  std::vector<Outcome> all;
  Grounds grounds;
  std::size_t number = 0;
  for (const MutantKernel& kernel : mutant_kernels()) {
    if (!options.kernel.empty() && kernel.name != options.kernel) continue;
    const std::string text = text_of(kernel);
    if (!options.list) {
      const std::string verdict = verdict_of(kernel, text, 0);
      grounds[&kernel] = {text, verdict_of(kernel, text, 0, true)};
      if (!verdict.empty()) fmt::print("{}: without a mistake it ends with {}\n", kernel.name, verdict);
      is_clean = is_clean && verdict.empty();
    }
    for (sim::PtxMutant& mutant : sim::ptx_mutants(text, kernel.entry)) {
      if (!options.mutation.empty() && mutant.mutation != options.mutation) continue;
      if (number++ % options.every != options.from) continue;
      all.push_back({&kernel, std::move(mutant), Fate::kMissed, ""});
    }
  }
  if (!options.list) judge_all(all, grounds, options.jobs);
  return all;
}

using Counts = std::map<Fate, std::size_t>;

std::string row(const std::string& name, Counts counts) {
  const std::size_t planted = counts[Fate::kReported] + counts[Fate::kFormal] + counts[Fate::kWrongResult] +
                              counts[Fate::kSurvived] + counts[Fate::kMissed];
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name, planted, counts[Fate::kReported],
                     counts[Fate::kFormal], counts[Fate::kWrongResult],
                     counts[Fate::kSurvived] + counts[Fate::kMissed], counts[Fate::kUnreached]);
}

std::string table_of(const std::vector<Outcome>& all, std::size_t every) {
  std::string text = every == 1 ? "" : fmt::format("\nOne in {} of them, in the order of the text.\n", every);
  text +=
      "\n| kernel | mutants | reported | told as formal | wrong result alone | not noticed | no mistake in this "
      "run |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  Counts sum;
  for (const MutantKernel& kernel : mutant_kernels()) {
    Counts counts;
    for (const Outcome& one : all) {
      if (one.kernel != &kernel) continue;
      ++counts[one.fate];
      ++sum[one.fate];
    }
    text += row(kernel.name, counts);
  }
  text += row("all", sum);
  text += "\n| mistake | what happens | places | verdicts |\n| --- | --- | --- | --- |\n";
  for (const sim::PtxMutation& mutation : sim::ptx_mutations()) {
    std::map<std::string, std::size_t> verdicts;
    std::size_t count = 0;
    for (const Outcome& one : all) {
      if (one.mutant.mutation != mutation.name || one.fate == Fate::kUnreached) continue;
      ++count;
      const bool is_code = one.fate == Fate::kReported || one.fate == Fate::kFormal;
      ++verdicts[is_code ? fmt::format("`{}`{}", one.code, one.fate == Fate::kFormal ? " (formal)" : "")
                 : one.fate == Fate::kWrongResult ? std::string(kWrong)
                                                  : "not noticed"];
    }
    if (count == 0) continue;
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [verdict, times] : verdicts) sorted.emplace_back(times, verdict);
    std::sort(sorted.rbegin(), sorted.rend());
    std::string list;
    for (const auto& [times, verdict] : sorted)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", times, verdict);
    text += fmt::format("| {}: `{}` | {} | {} | {} |\n", mutation.family, mutation.name, mutation.meaning, count,
                        list);
  }
  text += "\nNot noticed, and why:\n\n";
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Outcome& one : all) {
    if (one.fate != Fate::kSurvived && one.fate != Fate::kMissed) continue;
    const Known* known = find_known(*one.kernel, one.mutant);
    reasons[known == nullptr ? "not explained yet" : std::string(known->reason)].push_back(
        fmt::format("`{}`", one.mutant.name()));
  }
  for (const auto& [reason, names] : reasons) {
    text += fmt::format("- {}: {} ({})\n", reason, names.size(), fmt::join(names, ", "));
  }
  return text + "\n";
}

int run(const Options& options) {
  bool is_clean = true;
  const std::vector<Outcome> all = run_all(options, is_clean);
  Counts counts;
  for (const Outcome& one : all) {
    ++counts[one.fate];
    if (options.list || one.fate == Fate::kMissed || !options.mutation.empty()) {
      fmt::print("{}{}: {}, line {}: {} {}\n", !options.list && one.fate == Fate::kMissed ? "missed: " : "",
                 one.kernel->name, one.mutant.name(), one.mutant.line, one.mutant.instruction, one.code);
    }
  }
  if (options.list) return 0;
  fmt::print(
      "{} places: {} reported, {} told as formal, {} with a wrong result, {} known to survive, {} missed; {} "
      "more make no difference in the run\n",
      all.size() - counts[Fate::kUnreached], counts[Fate::kReported], counts[Fate::kFormal],
      counts[Fate::kWrongResult], counts[Fate::kSurvived], counts[Fate::kMissed], counts[Fate::kUnreached]);
  if (!options.write.empty()) {
    const GeneratedTable table{.program = "mutants",
                               .begin = "<!-- mutants: made by mutants --write -->\n",
                               .end = "<!-- end of mutants -->",
                               .text = table_of(all, options.every)};
    std::string program = "mutants", flag = "--write", file = options.write;
    char* words[] = {program.data(), flag.data(), file.data()};
    if (keep_table(table, 3, words) != 0) return 1;
  }
  return counts[Fate::kMissed] == 0 && is_clean ? 0 : 1;
}

}  // namespace
}  // namespace heddle::test

int main(int argc, char** argv) {
  heddle::test::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--list") {
      options.list = true;
      continue;
    }
    ++i;
    if (word == "--kernel") {
      options.kernel = value;
    } else if (word == "--mutation") {
      options.mutation = value;
    } else if (word == "--every" && std::atoi(value.c_str()) > 0) {
      options.every = static_cast<std::size_t>(std::atoi(value.c_str()));
    } else if (word == "--from" && std::atoi(value.c_str()) > 0) {
      options.from = static_cast<std::size_t>(std::atoi(value.c_str()));
    } else if (word == "--jobs" && std::atoi(value.c_str()) > 0) {
      options.jobs = static_cast<std::size_t>(std::atoi(value.c_str()));
    } else if (word == "--write") {
      options.write = value;
    } else {
      std::fprintf(
          stderr,
          "mutants [--kernel NAME] [--mutation NAME] [--every N] [--from FIRST] [--jobs N] [--list] [--write "
          "FILE]\n");
      return 2;
    }
  }
  return heddle::test::run(options);
}
