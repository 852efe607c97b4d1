// SPDX-License-Identifier: Apache-2.0
#include "matmul_tune_file.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string_view>

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

void read_shape(std::string_view text, MatmulProblem& problem) {
  const std::vector<std::string_view> numbers = fields_of(text, ',');
  std::int64_t* const to[] = {&problem.m, &problem.n, &problem.k};
  bool is_shape = numbers.size() == 3;
  for (std::size_t i = 0; is_shape && i < 3; ++i) {
    const char* const last = numbers[i].data() + numbers[i].size();
    const auto [end, error] = std::from_chars(numbers[i].data(), last, *to[i]);
    is_shape = error == std::errc() && end == last && *to[i] >= 1 && *to[i] <= (1u << 30);
  }
  if (!is_shape) {
    throw InputError(fmt::format("shape '{}'; M,N,K with each 1 to {}, as in 4096,4096,4096", text, 1u << 30));
  }
}

MatmulTuned read_line(std::string_view line) {
  const std::vector<std::string_view> fields = fields_of(line, ';');
  if (fields.size() != 6) {
    throw InputError(fmt::format(
        "it has {} fields; 'GPU; M,N,K; input; output; layout of B; configuration' has 6", fields.size()));
  }
  if (fields[0].empty()) throw InputError("the GPU has no name; 'NVIDIA H200' is one");
  MatmulTuned tuned{.gpu = std::string(fields[0]), .problem = {}};
  read_shape(fields[1], tuned.problem);
  tuned.problem.a_type = value_called(fields[2], kInputs, "type of the inputs");
  tuned.problem.b_type = tuned.problem.a_type;
  tuned.problem.out_type = value_called(fields[3], kOutputs, "type of the output");
  tuned.problem.b_layout = value_called(fields[4], kLayouts, "layout of B");
  tuned.problem.config = std::string(fields[5]);
  (void)read_matmul_sm90_choice(tuned.problem, {}, tuned.problem.config);
  return tuned;
}

// The library's file, read when it is first asked for.
struct Library {
  std::mutex mutex;
  bool is_read = false;
  std::vector<MatmulTuned> lines;
  std::atomic<std::uint64_t> version = 0;
};

Library& library() {
  static Library one;
  return one;
}

bool is_same(const MatmulProblem& x, const MatmulProblem& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.a_type == y.a_type && x.out_type == y.out_type &&
         x.b_layout == y.b_layout;
}

}  // namespace

std::vector<MatmulTuned> read_matmul_tune_file(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw InputError(fmt::format("matmul: tune file '{}' cannot be read: {}", path, std::strerror(errno)));
  std::vector<MatmulTuned> lines;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    try {
      lines.push_back(read_line(text));
    } catch (const InputError& error) {
      throw InputError(fmt::format("matmul: tune file '{}', line {}: {}", path, number, error.what()));
    }
  }
  if (file.bad())
    throw InputError(fmt::format("matmul: tune file '{}' cannot be read: {}", path, std::strerror(errno)));
  return lines;
}

void add_to_matmul_tune_file(const std::string& path, const std::vector<MatmulTuned>& lines) {
  std::ofstream file(path, std::ios::app);
  for (const MatmulTuned& tuned : lines) {
    const MatmulProblem& p = tuned.problem;
    file << fmt::format("{}; {},{},{}; {}; {}; {}; {}\n", tuned.gpu, p.m, p.n, p.k, name_in(kInputs, p.a_type),
                        name_in(kOutputs, p.out_type), name_in(kLayouts, p.b_layout), p.config);
  }
  file.close();
  if (!file)
    throw InputError(fmt::format("matmul: tune file '{}' cannot be written: {}", path, std::strerror(errno)));
}

void matmul_use_tune_file(const std::string& path) {
  std::vector<MatmulTuned> lines = path.empty() ? std::vector<MatmulTuned>() : read_matmul_tune_file(path);
  const std::lock_guard lock(library().mutex);
  library().lines = std::move(lines);
  library().is_read = true;
  ++library().version;
}

std::uint64_t matmul_tune_file_version() { return library().version; }

std::optional<MatmulSm90Choice> tuned_matmul_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  const std::lock_guard lock(library().mutex);
  if (!library().is_read) {
    if (const char* path = std::getenv("HEDDLE_TUNE_FILE"); path != nullptr && *path != '\0') {
      library().lines = read_matmul_tune_file(path);
    }
    library().is_read = true;
  }
  if (needs.is_fused || needs.is_simulated) return std::nullopt;
  for (auto tuned = library().lines.rbegin(); tuned != library().lines.rend(); ++tuned) {
    if (tuned->gpu != needs.gpu || !is_same(tuned->problem, problem)) continue;
    const MatmulSm90Choice choice = read_matmul_sm90_choice(problem, needs, tuned->problem.config);
    if (workspace_of(problem, needs, choice) <= needs.workspace_bytes) return choice;
  }
  return std::nullopt;
}

}  // namespace heddle
