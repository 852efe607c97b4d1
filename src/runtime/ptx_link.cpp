// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx_link.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace heddle::runtime {

namespace {

constexpr std::uint32_t kFilesPerUnit = 10'000;
constexpr std::string_view kStringLabel = "$L__info_string";  // of names of inlined functions

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}
bool is_name_part(char c) { return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A piece of text that has a meaning of its own: a name, a directive, a string, a number or a single character.
// What is between two of them, comments included, has none.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { next(); }

  bool at_end() const { return token_.empty(); }
  std::string_view token() const { return token_; }
  std::size_t begin() const { return at_; }
  std::size_t end() const { return at_ + token_.size(); }

  void next() {
    at_ += token_.size();
    token_ = {};
    skip();
    if (at_ >= text_.size()) return;
    std::size_t length = 1;
    const char first = text_[at_];
    if (first == '"') {
      while (at_ + length < text_.size() && text_[at_ + length] != '"')
        length += text_[at_ + length] == '\\' ? 2u : 1u;
      ++length;
    } else if (first == '.' || is_name_part(first)) {
      while (at_ + length < text_.size() && is_name_part(text_[at_ + length])) ++length;
    }
    token_ = text_.substr(at_, length);
  }

  // Past the end of the line that the token is on.
  void next_line() {
    const std::size_t found = text_.find('\n', at_);
    token_ = text_.substr(at_, (found == std::string_view::npos ? text_.size() : found) - at_);
    next();
  }

 private:
  void skip() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t found = text_.find("*/", at_ + 2);
        at_ = found == std::string_view::npos ? text_.size() : found + 2;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view token_;
};

enum class Kind : std::uint8_t { kHeader, kFile, kOther, kDeclaration, kLocal, kWeak, kGlobal };

// One statement of a module, outside of functions.
struct Statement {
  Kind kind = Kind::kOther;
  std::string_view name;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Reads up to the end of what a bracket opens.
void skip_brackets(Reader& reader, std::string_view open, std::string_view close) {
  int depth = 0;
  while (!reader.at_end()) {
    if (reader.token() == open) ++depth;
    if (reader.token() == close && --depth == 0) return;
    reader.next();
  }
}

Statement read_statement(Reader& reader, std::string_view text) {
  Statement statement;
  statement.begin = reader.begin();
  const std::string_view first = reader.token();
  if (first == ".version" || first == ".target" || first == ".address_size" || first == ".file") {
    statement.kind = first == ".file" ? Kind::kFile : Kind::kHeader;
    statement.end = std::min(text.find('\n', statement.begin), text.size());
    reader.next_line();
    return statement;
  }
  bool is_function = false;
  bool has_body = false;
  std::string_view linkage;
  std::string_view last_name;
  const bool is_section = first == ".section";
  for (; !reader.at_end() && reader.token() != ";"; reader.next()) {
    const std::string_view token = reader.token();
    if (token == ".extern" || token == ".visible" || token == ".weak" || token == ".common") linkage = token;
    if (token == ".func" || token == ".entry") is_function = true;
    if (token == "(") skip_brackets(reader, "(", ")");
    if (is_name_start(token.front()) && statement.name.empty()) last_name = token;
    if (token == "[" || token == "=") statement.name = last_name;
    if (token == "{") {
      skip_brackets(reader, "{", "}");
      has_body = is_function;
      if (is_function || is_section) break;
    }
  }
  if (statement.name.empty()) statement.name = last_name;
  statement.end = reader.end();
  reader.next();
  if (first == ".pragma" || first == ".alias" || is_section) return statement;
  const bool is_declaration = linkage == ".extern" || (is_function && !has_body);
  statement.kind = is_declaration       ? Kind::kDeclaration
                   : linkage == ".weak" ? Kind::kWeak
                   : linkage.empty()    ? Kind::kLocal
                                        : Kind::kGlobal;
  return statement;
}

std::vector<Statement> statements_of(std::string_view text) {
  std::vector<Statement> statements;
  for (Reader reader(text); !reader.at_end();) statements.push_back(read_statement(reader, text));
  return statements;
}

// The statement with the names and files of its unit changed.
void append(std::string& result, std::string_view text, std::size_t unit,
            const std::map<std::string_view, std::string>& names) {
  Reader reader(text);
  std::size_t copied = 0;
  bool is_file = false;  // the number of one comes next
  for (; !reader.at_end(); reader.next()) {
    const std::string_view token = reader.token();
    std::string changed;
    if (const auto found = names.find(token); found != names.end()) changed = found->second;
    if (token.starts_with(kStringLabel)) changed = std::string(token) + "$unit" + std::to_string(unit);
    if (is_file) {
      std::uint32_t number = 0;
      std::from_chars(token.data(), token.data() + token.size(), number);
      changed = std::to_string(number + kFilesPerUnit * unit);
    }
    is_file = token == ".file" || token == ".loc" || token == "inlined_at";
    if (changed.empty()) continue;
    result.append(text, copied, reader.begin() - copied);
    result += changed;
    copied = reader.end();
  }
  result.append(text, copied);
  result += '\n';
}

}  // namespace

std::string link_ptx(std::span<const std::string> units) {
  std::vector<std::vector<Statement>> all;
  std::map<std::string_view, std::set<std::size_t>> defined_in;
  for (const std::string& text : units) {
    all.push_back(statements_of(text));
    for (const Statement& one : all.back()) {
      if (one.kind >= Kind::kLocal) defined_in[one.name].insert(all.size());
    }
  }
  std::string result;
  std::set<std::string_view> weak;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    std::map<std::string_view, std::string> names;
    for (const Statement& one : all[unit]) {
      if (one.kind != Kind::kLocal || defined_in[one.name].size() == 1) continue;
      names[one.name] = std::string(one.name) + "$unit" + std::to_string(unit);
    }
    for (const Statement& one : all[unit]) {
      if (one.kind == Kind::kHeader && unit != 0) continue;
      if (one.kind == Kind::kWeak && !weak.insert(one.name).second) continue;
      append(result, std::string_view(units[unit]).substr(one.begin, one.end - one.begin), unit, names);
    }
  }
  return result;
}

}  // namespace heddle::runtime
