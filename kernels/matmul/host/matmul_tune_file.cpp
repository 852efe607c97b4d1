// SPDX-License-Identifier: Apache-2.0
#include "matmul_tune_file.h"

#include "matmul_checks.h"
#include "matmul_first_use.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace heddle {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (std::size_t from = 0;;) {
    const std::size_t to = line.find(separator, from);
    fields.push_back(trimmed(line.substr(from, to - from)));
    if (to == std::string_view::npos) return fields;
    from = to + 1;
  }
}

template <class Value, std::size_t count>
Value value_called(std::string_view name, const std::array<std::pair<std::string_view, Value>, count>& known,
                   const char* what) {
  std::string names;
  for (const auto& [text, value] : known) {
    if (text == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", text);
  }
  throw InputError(fmt::format("{} '{}'; known are {}", what, name, names));
}

constexpr std::array<std::pair<std::string_view, MatmulElement>, 2> kInputs = {
    {{"bf16", MatmulElement::kBf16}, {"fp16", MatmulElement::kFp16}}};
constexpr std::array<std::pair<std::string_view, MatmulElement>, 3> kOutputs = {
    {{"bf16", MatmulElement::kBf16}, {"fp16", MatmulElement::kFp16}, {"fp32", MatmulElement::kFp32}}};
constexpr std::array<std::pair<std::string_view, OperandLayout>, 2> kLayouts = {
    {{"nk", OperandLayout::kKMajor}, {"kn", OperandLayout::kMnMajor}}};

template <class Value, std::size_t count>
std::string_view name_in(const std::array<std::pair<std::string_view, Value>, count>& known, Value of) {
  for (const auto& [text, value] : known) {
    if (value == of) return text;
  }
  return known[0].first;
}

// "1,2,3", with each number from its least to the most of all.
bool read_three(std::string_view text, const std::array<std::int64_t, 3>& least, std::int64_t most,
                const std::array<std::int64_t*, 3>& to) {
  const std::vector<std::string_view> numbers = fields_of(text, ',');
  if (numbers.size() != 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    const char* const last = numbers[i].data() + numbers[i].size();
    const auto [end, error] = std::from_chars(numbers[i].data(), last, *to[i]);
    if (error != std::errc() || end != last || *to[i] < least[i] || *to[i] > most) return false;
  }
  return true;
}

void read_shape(std::string_view text, MatmulProblem& problem) {
  constexpr std::int64_t kMost = 1 << 30;
  if (!read_three(text, {1, 1, 1}, kMost, {&problem.m, &problem.n, &problem.k}))
    throw InputError(fmt::format("shape '{}'; M,N,K with each 1 to {}, as in 4096,4096,4096", text, kMost));
}

constexpr std::string_view kRows = "rows ";

// Behind the layout, which says how long rows are.
void read_rows(std::string_view text, MatmulProblem& problem) {
  constexpr std::int64_t kMost = matmul_checks::kMaxExtent - 1;  // as checked_pitch has it
  const std::array<std::int64_t, 3> packed = pitches_of(problem);
  if (!text.starts_with(kRows) || !read_three(text.substr(kRows.size()), packed, kMost,
                                              {&problem.a_pitch, &problem.b_pitch, &problem.out_pitch})) {
    throw InputError(fmt::format("rows of A, B and the output '{}'; '{}{}' would pass, and each up to {}", text,
                                 kRows, fmt::join(packed, ","), kMost));
  }
}

bool is_as_packed(const MatmulProblem& problem) {
  MatmulProblem packed = problem;
  packed.a_pitch = packed.b_pitch = packed.out_pitch = 0;
  return row_steps_of(problem) == row_steps_of(packed);
}

MatmulTuned read_line(std::string_view line) {
  const std::vector<std::string_view> fields = fields_of(line, ';');
  if (fields.size() != 6 && fields.size() != 7) {
    throw InputError(fmt::format(
        "it has {} fields; 'GPU; M,N,K; input; output; layout of B; configuration' has 6, and 'rows' may follow",
        fields.size()));
  }
  if (fields[0].empty()) throw InputError("the GPU has no name; 'NVIDIA H200' is one");
  MatmulTuned tuned{.gpu = std::string(fields[0]), .problem = {}};
  read_shape(fields[1], tuned.problem);
  tuned.problem.a_type = value_called(fields[2], kInputs, "type of the inputs");
  tuned.problem.b_type = tuned.problem.a_type;
  tuned.problem.out_type = value_called(fields[3], kOutputs, "type of the output");
  tuned.problem.b_layout = value_called(fields[4], kLayouts, "layout of B");
  if (fields.size() == 7) read_rows(fields[6], tuned.problem);
  tuned.problem.config = std::string(fields[5]);
  (void)read_matmul_sm90_choice(tuned.problem, {}, tuned.problem.config);
  return tuned;
}

// The first had no rows.
constexpr std::string_view kFirstVersion = "version 1";
std::string version_of_library() { return fmt::format("version {}", kMatmulTuneFileVersion); }

// What was found among other configurations need not be the fastest of these.
std::string kernels_of_library() { return "kernels " + matmul_kernels_id(); }

bool is_version(std::string_view line) { return line.starts_with("version"); }

void check_version(std::string_view line) {
  const std::vector<std::string_view> fields = fields_of(line, ';');
  if (fields[0] != version_of_library() && fields[0] != kFirstVersion) {
    throw InputError(fmt::format("it is of '{}'; this library reads '{}' and '{}'", fields[0], kFirstVersion,
                                 version_of_library()));
  }
  const std::string kernels = kernels_of_library();
  if (fields.size() != 2 || fields[1] != kernels) {
    throw InputError(fmt::format(
        "it was made for '{}', and this library has '{}': what was fastest need not be. Another file, or none, "
        "would pass",
        fields.size() < 2 ? "" : fields[1], kernels));
  }
}

std::string first_line() { return version_of_library() + "; " + kernels_of_library(); }

std::string text_of(const MatmulTuned& tuned) {
  const MatmulProblem& p = tuned.problem;
  const std::string rows = is_as_packed(p) ? "" : fmt::format("; {}{}", kRows, fmt::join(pitches_of(p), ","));
  return fmt::format("{}; {},{},{}; {}; {}; {}; {}{}", tuned.gpu, p.m, p.n, p.k, name_in(kInputs, p.a_type),
                     name_in(kOutputs, p.out_type), name_in(kLayouts, p.b_layout), p.config, rows);
}

// A line of a file, and what it says about a choice, if anything.
struct Line {
  std::string text;
  std::optional<MatmulTuned> tuned;
};

std::vector<Line> lines_of(const std::string& path) {
  // What is no file may have no end, and to open it may wait for a writer. What cannot be looked at cannot be
  // opened either, and that says why.
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (exists(status) && !is_regular_file(status))
    throw InputError(fmt::format("matmul: tune file '{}' cannot be read: it is no ordinary file", path));
  std::ifstream file(path);
  if (!file)
    throw InputError(fmt::format("matmul: tune file '{}' cannot be read: {}", path, std::strerror(errno)));
  std::vector<Line> lines;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    lines.push_back({line, std::nullopt});
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    try {
      if (is_version(text)) {
        check_version(text);
      } else {
        lines.back().tuned = read_line(text);
      }
    } catch (const InputError& error) {
      // It may quote a line of any length.
      throw InputError(fmt::format("matmul: tune file '{}', line {}: {:.1000}", path, number, error.what()));
    }
  }
  if (file.bad())
    throw InputError(fmt::format("matmul: tune file '{}' cannot be read: {}", path, std::strerror(errno)));
  return lines;
}

// What is there and may not be looked at is not missing: reading it says why.
bool is_missing(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
}

[[noreturn]] void refuse_to_write(const std::string& path) {
  throw InputError(fmt::format("matmul: tune file '{}' cannot be written: {}", path, std::strerror(errno)));
}

// Held by one of all threads and processes at a time, for the life of the object.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_ < 0) refuse_to_write(path);
    while (flock(file_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      close(file_);
      refuse_to_write(path);
    }
  }
  ~FileLock() { close(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

// Whoever reads meanwhile sees the old file or the new one.
void replace(const std::string& path, const std::string& text) {
  const std::string made = fmt::format("{}.{}", path, getpid());
  std::ofstream file(made, std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(made.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  std::remove(made.c_str());
  errno = error;
  refuse_to_write(path);
}

bool is_same(const MatmulProblem& x, const MatmulProblem& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.a_type == y.a_type && x.out_type == y.out_type &&
         x.b_layout == y.b_layout && row_steps_of(x) == row_steps_of(y);
}

// The library's file, read when it is first asked for.
struct Library {
  std::mutex mutex;
  bool is_read = false;
  std::string path;  // where what is found is kept; empty: nowhere
  std::vector<MatmulTuned> lines;
  std::atomic<std::uint64_t> version = 0;
};

Library& library() {
  static Library one;
  return one;
}

// What a program did not ask for in so many words does not end it.
void say(const std::string& error) {
  std::fputs(fmt::format("heddle: {}; going on without it\n", error).c_str(), stderr);
}

std::vector<MatmulTuned> tuned_of(const std::vector<Line>& lines) {
  std::vector<MatmulTuned> tuned;
  for (const Line& line : lines) {
    if (line.tuned) tuned.push_back(*line.tuned);
  }
  return tuned;
}

void read_once(Library& of) {
  if (of.is_read) return;
  of.is_read = true;
  const std::string path = matmul_tune_path();
  if (path.empty() || (matmul_tunes_first_use() && is_missing(path))) {
    of.path = path;
    return;
  }
  try {
    of.lines = tuned_of(lines_of(path));
    of.path = path;
  } catch (const InputError& error) {
    say(error.what());
  }
}

}  // namespace

std::string matmul_kernels_id() {
  std::uint64_t mixed = 0xcbf29ce484222325u;
  for (const OperandLayout layout : {OperandLayout::kKMajor, OperandLayout::kMnMajor}) {
    for (const std::string& name : matmul_sm90_configs({.b_layout = layout}, false, false)) {
      for (const char c : name + ",") mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
  }
  return fmt::format("{:08x}", mixed >> 32);
}

std::vector<MatmulTuned> read_matmul_tune_file(const std::string& path) { return tuned_of(lines_of(path)); }

void add_to_matmul_tune_file(const std::string& path, const std::vector<MatmulTuned>& lines) {
  const FileLock lock(path);
  const std::vector<Line> there = is_missing(path) ? std::vector<Line>() : lines_of(path);
  std::string text;
  if (there.empty()) text = first_line() + "\n";
  for (const Line& line : there) {
    const bool is_replaced = line.tuned && std::ranges::any_of(lines, [&](const MatmulTuned& other) {
                               return line.tuned->gpu == other.gpu && is_same(line.tuned->problem, other.problem);
                             });
    if (is_replaced) continue;
    // What is put behind it may be of this version.
    text += (is_version(trimmed(line.text)) ? first_line() : line.text) + "\n";
  }
  for (const MatmulTuned& tuned : lines) text += text_of(tuned) + "\n";
  replace(path, text);
}

void matmul_use_tune_file(const std::string& path) {
  std::vector<MatmulTuned> lines = path.empty() ? std::vector<MatmulTuned>() : read_matmul_tune_file(path);
  const std::lock_guard lock(library().mutex);
  library().lines = std::move(lines);
  library().path = path;
  library().is_read = true;
  ++library().version;
}

void keep_tuned_matmul_choice(const MatmulTuned& tuned) {
  const std::lock_guard lock(library().mutex);
  read_once(library());
  library().lines.push_back(tuned);
  ++library().version;
  if (library().path.empty()) return;
  try {
    std::error_code ignored;  // where there is no such folder, writing says so
    std::filesystem::create_directories(std::filesystem::path(library().path).parent_path(), ignored);
    add_to_matmul_tune_file(library().path, {tuned});
  } catch (const InputError& error) {
    say(error.what());
    library().path.clear();
  }
}

std::uint64_t matmul_tune_file_version() { return library().version; }

std::optional<MatmulSm90Choice> tuned_matmul_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  if (needs.is_fused || needs.is_simulated) return std::nullopt;
  const std::lock_guard lock(library().mutex);
  read_once(library());
  for (auto tuned = library().lines.rbegin(); tuned != library().lines.rend(); ++tuned) {
    if (tuned->gpu != needs.gpu || !is_same(tuned->problem, problem)) continue;
    // Found with a larger workspace, it need not fit into this one.
    const MatmulSm90Choice choice = read_matmul_sm90_choice(tuned->problem, needs, tuned->problem.config);
    if (can_run(choice.instance, problem, needs, choice.splits) && fits_workspace(problem, needs, choice))
      return choice;
  }
  return std::nullopt;
}

}  // namespace heddle
