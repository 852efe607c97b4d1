// SPDX-License-Identifier: Apache-2.0
//
// mutants [--kernel NAME] [--mutation NAME] [--every N] [--from FIRST] [--jobs N] [--list] [--write FILE]: plants
// every mistake of heddle/testing/ptx_mutants.h at every place of the kernels, as nvcc compiles them, and sees
// that each is noticed: by a report, by a formal finding that the kernel as it is does not have, or by a wrong
// result. One that is not must be known as equivalent. Exit status 1 if any is missed.
// --every N takes one of N places of the large kernels, --from FIRST begins with another than the first; --jobs N
// judges so many at a time; --write puts the table into a document.
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
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::test {
namespace {

// Mistakes at one place that nothing shows, and why. A place is known by its text, which moves less than its
// line.
struct Known {
  std::string_view kernel;    // empty: any
  std::string_view mutation;  // likewise
  std::string_view place;     // what stands there in the source; likewise
  std::string_view reason;
};

const Known kSurvivors[] = {
#include "survivors.inc"
};

// The source's text at "copy.cu:87"; of files that have the same name, that of each.
std::string text_at(const std::string& place) {
  static const std::multimap<std::string, std::string> kFiles = [] {
    std::multimap<std::string, std::string> files;
    for (const char* folder : {"examples", "kernels", "include"}) {
      const std::filesystem::path root = std::filesystem::path(HEDDLE_SOURCE_DIR) / folder;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        files.emplace(entry.path().filename().string(), entry.path().string());
      }
    }
    return files;
  }();
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return "";
  std::string text;
  const auto [begin, end] = kFiles.equal_range(place.substr(0, colon));
  for (auto file = begin; file != end; ++file) {
    std::ifstream in(file->second);
    std::string line;
    for (int number = std::atoi(place.c_str() + colon + 1); number > 0 && std::getline(in, line);) --number;
    text += line + "\n";
  }
  return text;
}

const Known* find_known(const MutantKernel& kernel, const sim::PtxMutant& mutant) {
  const std::string text = text_at(mutant.place);
  for (const Known& one : kSurvivors) {
    if ((one.kernel.empty() || one.kernel == kernel.name) &&
        (one.mutation.empty() || one.mutation == mutant.mutation) &&
        (one.place.empty() || text.find(one.place) != std::string::npos)) {
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

// What a run ends with: nothing, a code, or a wrong result; and what it tells as formal.
struct Verdict {
  std::string code;
  std::set<std::string> formal;  // "exit_in_flight copy.cu:87 copy.cu:91"

  bool is_well() const { return code.empty(); }
};

constexpr std::string_view kFormalLine = "\n<formal> ";

Verdict read_verdict(const std::string& printed, int status) {
  Verdict verdict;
  for (std::size_t at = printed.find(kFormalLine); at != std::string::npos; at = printed.find(kFormalLine, at)) {
    at += kFormalLine.size();
    verdict.formal.insert(printed.substr(at, printed.find('\n', at) - at));
  }
  if (!WIFEXITED(status)) {
    verdict.code = fmt::format("signal {}", WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    const std::string own = printed.substr(0, printed.find(kFormalLine));
    const std::size_t begin = own.find('[');
    const std::size_t end = own.find(']');
    const bool is_code = begin != std::string::npos && end != std::string::npos && end > begin && begin <= 200;
    verdict.code = is_code ? own.substr(begin + 1, end - begin - 1) : std::string(kWrong);
  }
  return verdict;
}

// In a process of its own, so that a mistake can do no harm here.
Verdict verdict_of(const MutantKernel& kernel, int (*run)(), const std::string& text, std::uint64_t seed = 0) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    alarm(kSeconds);
    int status = 1;
    std::string formal;
    try {
      const sim::PtxModule module = sim::PtxModule::load(text, kernel.ptx + ".ptx");
      const sim::PtxInstead instead(module);
      sim::LaunchOptions options;
      const auto strategy =
          sim::explore::make_strategy(seed == 0 ? sim::Schedule{} : sim::Schedule::random(seed));
      options.strategy = strategy.get();
      const sim::explore::Guided guided(options, [&](const sim::Report& report) {
        for (const sim::Diagnosis& one : report.formal) {
          formal += fmt::format("{}{} {}", kFormalLine, name_of(one.code), fmt::join(one.places, " "));
        }
      });
      status = run();
    } catch (const std::exception& error) {
      std::printf("[refused] %s\n", error.what());
    }
    std::printf("%s\n", formal.c_str());
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
  return read_verdict(printed, status);
}

// kUnreached: nothing comes to the place, or what is wrong there makes no difference; shown by a trap. kHolds: a
// wait that only holds its thread back; shown by traps after it.
enum class Fate : std::uint8_t { kReported, kFormal, kWrongResult, kUnreached, kHolds, kSurvived, kMissed };

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
bool is_verdict(const std::string& code) {
  return !code.empty() && code != "unsupported" && code != "refused" && !code.starts_with("signal");
}

// One run of a kernel, and what the kernel as it is tells in it as formal.
struct Run {
  int (*run)();
  std::set<std::string> formal;
};

// A kernel as it is.
struct Ground {
  std::string text;
  std::vector<Run> runs;          // the short one and the longer one
  std::vector<std::size_t> last;  // waits for the cluster barrier after which nobody does anything
};

bool is_reached(const Outcome& one, const Ground& ground, const Run& run) {
  sim::PtxMutant trap = one.mutant;
  trap.by = "trap;";
  trap.also_at = 0;
  if (verdict_of(*one.kernel, run.run, trap.apply(ground.text)).is_well()) return false;
  if (one.mutant.probe.empty()) return true;
  sim::PtxMutant probe = one.mutant;
  probe.by = probe.probe;
  return !verdict_of(*one.kernel, run.run, probe.apply(ground.text)).is_well();
}

// A wait that is left out, or that waits for something else: whether that matters to nobody but its thread.
bool only_holds(const Outcome& one, const Ground& ground) {
  const std::string trapped =
      sim::with_traps_after(ground.text, one.kernel->entry, one.mutant.begin, ground.last);
  return !trapped.empty() && std::all_of(ground.runs.begin(), ground.runs.end(), [&](const Run& run) {
    return verdict_of(*one.kernel, run.run, trapped).is_well();
  });
}

// Round robin, then with rings that go round often, then a few other schedules.
void judge(Outcome& one, const Ground& ground) {
  const std::string changed = one.mutant.apply(ground.text);
  const auto is_noticed = [&](const Run& run, std::uint64_t seed) {
    const Verdict verdict = verdict_of(*one.kernel, run.run, changed, seed);
    if (is_verdict(verdict.code)) {
      one.fate = verdict.code == kWrong ? Fate::kWrongResult : Fate::kReported;
      one.code = verdict.code;
      return true;
    }
    if (!verdict.is_well()) return false;
    for (const std::string& told : verdict.formal) {
      if (run.formal.contains(told)) continue;
      one.fate = Fate::kFormal;
      one.code = told.substr(0, told.find(' '));
      return true;
    }
    return false;
  };
  std::vector<const Run*> reached;
  for (const Run& run : ground.runs) {
    if (is_noticed(run, 0)) return;
    if (is_reached(one, ground, run)) reached.push_back(&run);
  }
  if (reached.empty()) {
    one.fate = Fate::kUnreached;
    return;
  }
  if (only_holds(one, ground)) {
    one.fate = Fate::kHolds;
    return;
  }
  if (find_known(*one.kernel, one.mutant) != nullptr) {
    one.fate = Fate::kSurvived;
    return;
  }
  constexpr std::uint64_t kSeeds = 4;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (is_noticed(*reached.front(), seed)) return;
  }
}

using Grounds = std::map<const MutantKernel*, Ground>;

// Each process has every so-manieth of them, and writes a line for each: its number, its fate and its code. What
// a process that ends early has not judged stays missed.
void judge_all(std::vector<Outcome>& all, const Grounds& grounds, std::size_t jobs) {
  if (jobs == 1) {
    for (Outcome& one : all) judge(one, grounds.at(one.kernel));
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
      judge(all[i], grounds.at(all[i].kernel));
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

// Whether the kernel is right as it is.
bool prepare(Ground& ground, const MutantKernel& kernel, const std::string& text) {
  ground.text = text;
  bool is_clean = true;
  for (int (*run)() : {kernel.run, kernel.run_longer}) {
    if (run == nullptr) continue;
    const Verdict verdict = verdict_of(kernel, run, text);
    if (!verdict.is_well()) fmt::print("{}: without a mistake it ends with {}\n", kernel.name, verdict.code);
    is_clean = is_clean && verdict.is_well();
    ground.runs.push_back({run, verdict.formal});
  }
  for (const std::size_t wait : sim::cluster_waits_in(text, kernel.entry)) {
    const std::string trapped = sim::with_traps_after(text, kernel.entry, wait);
    const bool is_last = std::all_of(ground.runs.begin(), ground.runs.end(), [&](const Run& run) {
      return verdict_of(kernel, run.run, trapped).is_well();
    });
    if (is_last) ground.last.push_back(wait);
  }
  return is_clean;
}

std::vector<Outcome> run_all(const Options& options, bool& is_clean) {
  std::vector<Outcome> all;
  Grounds grounds;
  for (const MutantKernel& kernel : mutant_kernels()) {
    std::size_t number = 0;
    if (!options.kernel.empty() && kernel.name != options.kernel) continue;
    const std::string text = text_of(kernel);
    if (!options.list) is_clean = prepare(grounds[&kernel], kernel, text) && is_clean;
    for (sim::PtxMutant& mutant : sim::ptx_mutants(text, kernel.entry)) {
      if (!options.mutation.empty() && mutant.mutation != options.mutation) continue;
      if (kernel.is_large && number++ % options.every != options.from) continue;
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
                     counts[Fate::kSurvived] + counts[Fate::kMissed],
                     counts[Fate::kUnreached] + counts[Fate::kHolds]);
}

std::string table_of(const std::vector<Outcome>& all, std::size_t every) {
  std::string text =
      every == 1
          ? ""
          : fmt::format("\nAll of them, but one in {} of the two for Blackwell, in the order of the text.\n",
                        every);
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
      if (one.mutant.mutation != mutation.name || one.fate == Fate::kUnreached || one.fate == Fate::kHolds)
        continue;
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
  using Names = std::map<std::string, std::vector<std::string>>;
  Names reasons, held;
  for (const Outcome& one : all) {
    const std::string name = fmt::format("`{}`", one.mutant.name());
    if (one.fate == Fate::kHolds) held[one.kernel->name].push_back(name);
    if (one.fate != Fate::kSurvived && one.fate != Fate::kMissed) continue;
    const Known* known = find_known(*one.kernel, one.mutant);
    reasons[known == nullptr ? "not explained yet" : std::string(known->reason)].push_back(name);
  }
  const auto list = [&](const char* title, const Names& lines) {
    if (lines.empty()) return;
    text += fmt::format("\n{}\n\n", title);
    for (const auto& [what, names] : lines)
      text += fmt::format("- {}: {} ({})\n", what, names.size(), fmt::join(names, ", "));
  };
  list("Not noticed, and why:", reasons);
  list(
      "Waits after which their threads do nothing but wait and exit, so that they only hold a CTA that something "
      "else "
      "holds, too; shown by traps at all that comes after them:",
      held);
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
      "more make no difference in the run, {} only hold their threads\n",
      all.size() - counts[Fate::kUnreached] - counts[Fate::kHolds], counts[Fate::kReported],
      counts[Fate::kFormal], counts[Fate::kWrongResult], counts[Fate::kSurvived], counts[Fate::kMissed],
      counts[Fate::kUnreached], counts[Fate::kHolds]);
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
