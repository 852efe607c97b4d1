// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/sim/accept.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace heddle::sim {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// As much of a text as a message can quote.
std::string_view quoted(std::string_view text) { return text.substr(0, 100); }

// More than anybody writes by hand; a file may have no end.
constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

std::string read_bounded(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[4096];
  while (file && text.size() <= kMaxFileBytes) {
    file.read(piece, sizeof(piece));
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > kMaxFileBytes) {
    throw InputError(fmt::format("the suppression file '{}' has more than {} bytes, which no such file has", path,
                                 kMaxFileBytes));
  }
  if (!file.eof()) throw InputError(fmt::format("the suppression file '{}' cannot be read", path));
  return text;
}

FaultCode acceptable_code(std::string_view name) {
  const std::optional<FaultCode> code = find_fault_code(name);
  if (code && rule_of(*code).is_acceptable) return *code;
  std::vector<std::string_view> names;
  for (const FaultRule& rule : kFaultRules) {
    if (rule.is_acceptable) names.push_back(rule.name);
  }
  throw InputError(fmt::format("{} '{}' {}; {} can be accepted", code ? "the mistake" : "there is no mistake",
                               quoted(name), code ? "ends a launch whatever is accepted" : "to accept",
                               fmt::join(names, ", ")));
}

// A name that no file of a program can have: a folder, a line and a column, a set of characters without an end.
std::string_view why_no_file(std::string_view file) {
  if (file.ends_with('/')) return "names a folder; FOLDER/* for all files in it";
  if (file.find_first_of("\n\r") != std::string_view::npos) return "goes over several lines";
  const std::size_t open = file.find('[');
  if (open != std::string_view::npos && file.find(']', open) == std::string_view::npos)
    return "has a [ without a ]";
  const std::size_t colon = file.rfind(':');
  if (colon != std::string_view::npos &&
      file.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
    return "has two numbers; FILE:LINE has no column";
  return {};
}

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::size_t lines = 0;
  char last = '\n';
  char piece[4096];
  do {
    file.read(piece, sizeof(piece));
    const auto got = file.gcount();
    lines += static_cast<std::size_t>(std::count(piece, piece + got, '\n'));
    if (got != 0) last = piece[got - 1];
  } while (file);
  return last == '\n' ? lines : lines + 1;
}

}  // namespace

AcceptRule AcceptRule::parse(std::string_view text) {
  const std::size_t at = text.find('@');
  AcceptRule rule{.code = acceptable_code(text.substr(0, at)), .file = {}};
  if (at == std::string_view::npos) return rule;
  std::string_view file = text.substr(at + 1);
  if (const std::size_t colon = file.rfind(':'); colon != std::string_view::npos) {
    const std::string_view line = file.substr(colon + 1);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rule.line);
    if (error != std::errc{} || end != line.data() + line.size() || rule.line == 0) {
      throw InputError(fmt::format("'{}': '{}' is no line; {}@FILE, or {}@FILE:LINE with a number from 1 on",
                                   quoted(text), quoted(line), name_of(rule.code), name_of(rule.code)));
    }
    file = file.substr(0, colon);
  }
  if (file.empty()) {
    throw InputError(fmt::format("'{}': no file behind the @; {}@FILE or {}@FILE:LINE, or {} for all places",
                                 quoted(text), name_of(rule.code), name_of(rule.code), name_of(rule.code)));
  }
  if (const std::string_view why = why_no_file(file); !why.empty()) {
    throw InputError(fmt::format("'{}': '{}' {}", quoted(text), quoted(file), why));
  }
  rule.file = file;
  return rule;
}

AcceptRule AcceptRule::check(std::string_view text) {
  AcceptRule rule = parse(text);
  std::error_code none;
  if (rule.line == 0 || !std::filesystem::is_regular_file(rule.file, none)) return rule;
  if (const std::size_t lines = lines_of(rule.file); rule.line > lines) {
    throw InputError(
        fmt::format("'{}': {} has {} lines", quoted(text), quoted(std::string_view(rule.file)), lines));
  }
  return rule;
}

std::string AcceptRule::text() const {
  std::string text(name_of(code));
  if (!file.empty()) text += "@" + file;
  if (line != 0) text += fmt::format(":{}", line);
  return text;
}

bool AcceptRule::matches(CallSite site) const {
  if (file.empty()) return true;
  for (const Place& place : places_of(site)) {
    if (line != 0 && place.line != line) continue;
    // The name, and the path from each of its folders on.
    const std::string path(place.file);
    for (std::size_t begin = 0; begin != std::string::npos;) {
      if (fnmatch(file.c_str(), path.c_str() + begin, 0) == 0) return true;
      const std::size_t slash = path.find('/', begin);
      begin = slash == std::string::npos ? slash : slash + 1;
    }
  }
  return false;
}

std::vector<Place> places_of(CallSite site) {
  constexpr std::string_view kComma = ", ";
  std::vector<Place> places;
  std::string_view rest = site.file;
  for (std::size_t comma = rest.find(kComma); comma != std::string_view::npos; comma = rest.find(kComma)) {
    const std::string_view one = rest.substr(0, comma);
    const std::size_t colon = one.rfind(':');
    if (colon == std::string_view::npos) break;
    std::uint32_t number = 0;
    std::from_chars(one.data() + colon + 1, one.data() + one.size(), number);
    places.push_back({one.substr(0, colon), number});
    rest.remove_prefix(comma + kComma.size());
  }
  places.push_back({rest, site.line});
  return places;
}

std::string place_text(CallSite site) {
  std::string text;
  for (const Place& place : places_of(site)) {
    const std::size_t slash = place.file.rfind('/');
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ",
                        slash == std::string_view::npos ? place.file : place.file.substr(slash + 1), place.line);
  }
  return text;
}

std::vector<std::string> read_suppressions(const std::string& path) {
  std::istringstream lines(read_bounded(path));
  std::vector<std::string> rules;
  std::string text;
  for (std::uint32_t number = 1; std::getline(lines, text); ++number) {
    const std::string_view line = trimmed(std::string_view(text).substr(0, text.find('#')));
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    const std::string_view pattern = colon == std::string_view::npos ? "" : trimmed(line.substr(colon + 1));
    if (pattern.empty()) {
      throw InputError(
          fmt::format("{}:{}: '{}' is no suppression; a line is code:pattern, such as race:copy.cu:87 or "
                      "race:*",
                      path, number, quoted(line)));
    }
    try {
      rules.push_back(AcceptRule::check(fmt::format("{}@{}", trimmed(line.substr(0, colon)), pattern)).text());
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}:{}: {}", path, number, error.what()));
    }
  }
  return rules;
}

}  // namespace heddle::sim
