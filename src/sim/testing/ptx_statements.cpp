// SPDX-License-Identifier: Apache-2.0
#include "sim/testing/ptx_statements.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace heddle::sim::testing {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (c != ',' || depth != 0) continue;
    const std::string_view one = trimmed(text.substr(begin, i - begin));
    if (!one.empty()) operands.emplace_back(one);
    begin = i + 1;
  }
  return operands;
}

// Which source line a statement is of: the innermost of the chain of inlined places that lies in the kernel's own
// file. That is the file of the outermost place, unless it is the entry that all kernels of this library share.
class Places {
 public:
  using At = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // file, line, column

  void read(std::string_view loc) {
    const std::vector<std::uint32_t> numbers = numbers_of(loc.substr(4));
    if (numbers.size() < 3) return;
    current_ = {numbers[0], numbers[1], numbers[2]};
    const std::size_t inlined = loc.find("inlined_at");
    outer_.erase(current_);
    if (inlined == std::string_view::npos) return;
    const std::vector<std::uint32_t> outer = numbers_of(loc.substr(inlined + 10));
    if (outer.size() >= 3) outer_[current_] = {outer[0], outer[1], outer[2]};
  }
  void read_file(std::string_view line) {
    const std::vector<std::uint32_t> numbers = numbers_of(line.substr(5));
    const std::size_t first = line.find('"');
    const std::size_t last = line.rfind('"');
    if (numbers.empty() || first == last) return;
    files_[numbers[0]] = line.substr(first + 1, last - first - 1);
  }

  // Where the statement that comes is from, and where that is inlined.
  std::vector<At> chain() const {
    std::vector<At> chain = {current_};
    for (auto next = outer_.find(current_); next != outer_.end() && chain.size() < 64;
         next = outer_.find(chain.back())) {
      chain.push_back(next->second);
    }
    return chain;
  }

  std::string name(std::vector<At> chain) const {
    while (chain.size() > 1 && file_of(chain.back()).find("heddle/isa/") != std::string::npos) chain.pop_back();
    const std::string own = file_of(chain.back());
    for (const At& one : chain) {
      if (file_of(one) == own) {
        return own.substr(own.rfind('/') + 1) + ":" + std::to_string(std::get<1>(one));
      }
    }
    return "";
  }

 private:
  std::string file_of(At at) const {
    const auto found = files_.find(std::get<0>(at));
    return found == files_.end() ? "" : found->second;
  }

  static std::vector<std::uint32_t> numbers_of(std::string_view text) {
    std::vector<std::uint32_t> numbers;
    while (!(text = text.substr(std::min(text.size(), text.find_first_not_of(kSpace)))).empty()) {
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc{}) break;
      numbers.push_back(number);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return numbers;
  }

  At current_ = {};
  std::map<At, At> outer_;  // where each place is inlined, as the last .loc had it
  std::map<std::uint32_t, std::string> files_;
};

}  // namespace

std::string Statement::text() const {
  std::string text = guard + name;
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? " " : ", ") + operands[i];
  return text + ";";
}

Statement Statement::with(std::size_t operand, std::string other) const {
  Statement changed = *this;
  changed.operands[operand] = std::move(other);
  return changed;
}

std::vector<Statement> read_statements(std::string_view text, std::string_view entry) {
  std::vector<Statement> statements;
  Places places;
  std::vector<std::vector<Places::At>> chains;  // of the statements; files are told after them
  int depth = 0;                                // of braces: 0 outside functions
  std::string header;                           // of the function that comes
  bool is_wanted = false;                       // its body
  std::string pending;                          // a statement that goes on
  std::size_t begin = 0;                        // of it
  std::size_t line = 0;
  const auto add = [&](Statement one) {
    one.line = line;
    one.is_in_entry = is_wanted;
    statements.push_back(std::move(one));
    chains.push_back(is_wanted ? places.chain() : std::vector<Places::At>{});
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find('\n', at), text.size());
    const std::string_view whole = text.substr(at, next - at);
    const std::string_view code = whole.substr(0, whole.find("//"));
    const std::string_view clean = trimmed(code);
    ++line;
    const std::size_t here = at;
    at = next + 1;
    if (clean.starts_with(".loc")) {
      places.read(clean);
      continue;
    }
    if (clean.starts_with(".file")) {
      places.read_file(clean);
      continue;
    }
    if (clean.starts_with(".section")) break;  // of debug information
    if (depth == 0) {
      header += clean;
      if (clean.find('{') == std::string_view::npos) {
        if (clean.ends_with(';')) header.clear();
        continue;
      }
      // A variable with an initialiser ends on its line.
      if (clean.find(';') != std::string_view::npos) {
        header.clear();
        continue;
      }
      is_wanted = header.find(".entry") != std::string::npos && header.find(entry) != std::string::npos;
      header.clear();
      depth = 1;
      continue;
    }
    int inner = 0;  // braces of operands
    for (std::size_t i = 0; i < code.size(); ++i) {
      const char c = code[i];
      if (pending.empty()) {
        if (kSpace.find(c) != std::string_view::npos) continue;
        if (c == '{' || c == '}') {
          depth += c == '{' ? 1 : -1;
          Statement brace;
          brace.is_brace = true;
          brace.by_brace = c == '{' ? -1 : 1;
          brace.begin = here + i;
          brace.end = here + i + 1;
          if (depth > 0) add(std::move(brace));
          if (depth == 0) is_wanted = false;
          continue;
        }
        begin = here + i;
      }
      if (c == '{') ++inner;
      if (c == '}') --inner;
      if (c == ':' && inner == 0 && pending.find_first_of(" \t.,@") == std::string::npos &&
          (i + 1 == code.size() || code[i + 1] != ':') && (i == 0 || code[i - 1] != ':')) {
        Statement label;
        label.is_label = true;
        label.begin = begin;
        label.end = here + i + 1;
        add(std::move(label));
        pending.clear();
        continue;
      }
      if (c != ';') {
        pending += c;
        continue;
      }
      std::string_view body = trimmed(pending);
      Statement one;
      if (body.starts_with('@')) {
        const std::size_t end = body.find_first_of(kSpace);
        one.guard = std::string(body.substr(0, end)) + " ";
        body = trimmed(body.substr(std::min(end, body.size())));
      }
      const std::size_t end = std::min(body.find_first_of(kSpace), body.size());
      one.name = body.substr(0, end);
      one.operands = split_operands(body.substr(end));
      one.begin = begin;
      one.end = here + i + 1;
      add(std::move(one));
      pending.clear();
    }
    if (!pending.empty()) pending += ' ';
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (statements[i].is_in_entry) statements[i].place = places.name(std::move(chains[i]));
  }
  return statements;
}

}  // namespace heddle::sim::testing
