// SPDX-License-Identifier: Apache-2.0
//
// PTX: Syntax, Directives: modules and what they declare.
#include "sim/frontend/ptx/parser.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace heddle::sim::ptx {

Parser::Parser(std::string text, std::string name) : module_(std::make_unique<ModuleText>()) {
  module_->name = std::move(name);
  module_->text = std::move(text);
  start(module_->text, module_->name);
}

std::unique_ptr<ModuleText> Parser::run() {
  while (peek().kind != TokenKind::kEnd) module_item();
  if (module_->version_major == 0) fail("there is no .version: this is not a PTX module");
  return std::move(module_);
}

void Parser::module_item() {
  if (peek().kind != TokenKind::kWord) fail(fmt::format("expected a directive, found {}", seen()));
  const Token& first = peek();
  const std::string_view word = first.text;
  if (word == ".version") {
    take();
    version();
  } else if (word == ".target") {
    take();
    module_->target = std::string(expect_word("a target such as sm_90a"));
    while (accept(',')) expect_word("a target option");
  } else if (word == ".address_size") {
    take();
    if (const std::uint64_t size = expect_integer("an address size"); size != 64) {
      refuse(module_->name, first.line, fmt::format(".address_size {}; only 64 is supported", size));
    }
  } else if (word == ".file") {
    take();
    const std::uint32_t id = expect_u32("the number of a file");
    if (peek().kind != TokenKind::kString) fail(fmt::format("expected the name of a file, found {}", seen()));
    const std::string_view path = take().text;
    module_->files[id] = std::string(path.substr(1, path.size() - 2));
    while (accept(',')) take();
  } else if (word == ".section") {
    take();
    expect_word("the name of a section");
    skip_braces();
  } else if (word == ".pragma" || word == ".alias" || word == ".metadata") {
    skip_to_semicolon();
  } else {
    declaration();
  }
}

void Parser::version() {
  const Token& token = take();
  const std::string_view text = token.text;
  const std::size_t dot = text.find('.');
  std::uint32_t major = 0, minor = 0;
  if (dot == std::string_view::npos || std::from_chars(text.data(), text.data() + dot, major).ec != std::errc{} ||
      std::from_chars(text.data() + dot + 1, text.data() + text.size(), minor).ec != std::errc{} || major == 0) {
    refuse(module_->name, token.line, fmt::format("'{}' is not a version such as 9.0", text));
  }
  module_->version_major = major;
  module_->version_minor = minor;
}

void Parser::declaration() {
  bool is_extern = false;
  for (;;) {
    if (accept(".extern")) {
      is_extern = true;
    } else if (!accept(".visible") && !accept(".weak") && !accept(".common")) {
      break;
    }
  }
  if (accept(".entry")) return function(true);
  if (accept(".func")) return function(false);
  if (is_space(peek().text)) {
    for (Variable& variable : variables(is_extern)) {
      const auto known = module_->variable_ids.find(variable.name);
      if (known != module_->variable_ids.end()) {
        // A declaration and a definition of one variable.
        Variable& other = module_->variables[known->second];
        if (!other.is_extern && !variable.is_extern) {
          refuse(module_->name, variable.line, fmt::format("'{}' is defined twice", variable.name));
        }
        if (other.is_extern) other = std::move(variable);
        continue;
      }
      module_->variable_ids.emplace(variable.name, static_cast<std::uint32_t>(module_->variables.size()));
      module_->variables.push_back(std::move(variable));
    }
    return;
  }
  fail(fmt::format("expected a directive, found {}", seen()));
}

std::unique_ptr<ModuleText> parse(std::string text, std::string name) {
  return Parser(std::move(text), std::move(name)).run();
}

}  // namespace heddle::sim::ptx
