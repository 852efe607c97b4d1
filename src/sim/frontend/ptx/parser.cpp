// SPDX-License-Identifier: Apache-2.0
//
// PTX: Syntax, State Spaces, Types and Variables, Directives.
#include "sim/frontend/ptx/ast.h"
#include "sim/frontend/ptx/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint64_t kMaxRegisters = 1u << 20;
constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 31;
constexpr int kMaxNesting = 4;

// Bits of a type that a variable or register can have; 1 for a predicate, 0 if it is not one.
std::uint32_t bits_of(std::string_view type) {
  if (type == ".pred") return 1;
  if (type.size() < 3 || std::string_view("busf").find(type[1]) == std::string_view::npos) return 0;
  std::uint32_t bits = 0;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), bits);
  if (error != std::errc{}) return 0;
  if (end != type.data() + type.size()) return type == ".f16x2" ? 32 : 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits : 0;
}

class Parser {
 public:
  Parser(std::string text, std::string name) : module_(std::make_unique<ModuleText>()) {
    module_->name = std::move(name);
    module_->text = std::move(text);
    tokens_ = tokenize(module_->text, module_->name);
  }

  std::unique_ptr<ModuleText> run() {
    while (peek().kind != TokenKind::kEnd) module_item();
    if (module_->version_major == 0) fail("there is no .version: this is not a PTX module");
    return std::move(module_);
  }

 private:
  struct Names {
    std::map<std::string_view, std::uint32_t> registers, variables;
    std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> ranges;  // first, count
  };

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  [[noreturn]] void fail(const std::string& what) const { refuse(module_->name, peek().line, what); }
  std::string seen() const {
    return peek().kind == TokenKind::kEnd ? "the end of the text" : fmt::format("'{}'", peek().text);
  }

  bool accept(char punct) {
    if (!peek().is(punct)) return false;
    take();
    return true;
  }
  bool accept(std::string_view word) {
    if (!peek().is(word)) return false;
    take();
    return true;
  }
  void expect(char punct, const char* where) {
    if (!accept(punct)) fail(fmt::format("expected '{}' {}, found {}", punct, where, seen()));
  }
  std::string_view expect_word(const char* what) {
    if (peek().kind != TokenKind::kWord) fail(fmt::format("expected {}, found {}", what, seen()));
    return take().text;
  }
  std::uint64_t expect_integer(const char* what) {
    if (peek().kind != TokenKind::kInteger) fail(fmt::format("expected {}, found {}", what, seen()));
    return take().value;
  }
  std::uint32_t expect_u32(const char* what) {
    const std::uint64_t value = expect_integer(what);
    if (value > 0xffffffffu) fail(fmt::format("{} is too large for {}", value, what));
    return static_cast<std::uint32_t>(value);
  }
  void skip_to_semicolon() {
    while (!accept(';')) {
      if (peek().kind == TokenKind::kEnd) fail("expected ';', found the end of the text");
      take();
    }
  }
  void skip_line(std::uint32_t line) {
    while (peek().kind != TokenKind::kEnd && peek().line == line) take();
  }
  void skip_braces() {
    expect('{', "before the section's data");
    for (int depth = 1; depth != 0;) {
      if (peek().kind == TokenKind::kEnd) fail("a section that does not end");
      if (peek().is('{')) ++depth;
      if (peek().is('}')) --depth;
      take();
    }
  }

  // Modules.

  void module_item() {
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

  void version() {
    const Token& token = take();
    const std::string_view text = token.text;
    const std::size_t dot = text.find('.');
    std::uint32_t major = 0, minor = 0;
    if (dot == std::string_view::npos ||
        std::from_chars(text.data(), text.data() + dot, major).ec != std::errc{} ||
        std::from_chars(text.data() + dot + 1, text.data() + text.size(), minor).ec != std::errc{} || major == 0) {
      refuse(module_->name, token.line, fmt::format("'{}' is not a version such as 9.0", text));
    }
    module_->version_major = major;
    module_->version_minor = minor;
  }

  void declaration() {
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

  // Variables.

  static bool is_space(std::string_view word) {
    return word == ".global" || word == ".const" || word == ".shared" || word == ".local" || word == ".param";
  }

  Space space() {
    const std::string_view word = expect_word("a state space");
    if (word == ".global") return Space::kGlobal;
    if (word == ".const") return Space::kConst;
    if (word == ".shared") return Space::kShared;
    if (word == ".local") return Space::kLocal;
    if (word == ".param") return Space::kParam;
    fail(fmt::format("'{}' is not a state space that is supported", word));
  }

  struct TypeText {
    std::uint32_t align = 0;
    std::uint32_t bytes = 0;
  };

  TypeText variable_type() {
    TypeText type;
    std::uint32_t vector = 1;
    for (;;) {
      if (accept(".align")) {
        type.align = expect_u32("an alignment");
        if (type.align == 0 || type.align > (1u << 20) || (type.align & (type.align - 1)) != 0) {
          fail(fmt::format("an alignment of {}; it must be a power of two", type.align));
        }
      } else if (accept(".v2")) {
        vector = 2;
      } else if (accept(".v4")) {
        vector = 4;
      } else if (accept(".attribute")) {
        expect('(', "behind .attribute");
        while (!accept(')')) {
          if (peek().kind == TokenKind::kEnd) fail("an attribute that does not end");
          take();
        }
      } else {
        break;
      }
    }
    const std::string_view word = expect_word("a type");
    const std::uint32_t bits = bits_of(word);
    if (bits < 8) fail(fmt::format("'{}' is not the type of a variable", word));
    type.bytes = bits / 8 * vector;
    if (type.align == 0) type.align = type.bytes;
    // A parameter that is a pointer says where it points to.
    if (accept(".ptr")) {
      while (peek().kind == TokenKind::kWord && peek().text.front() == '.') {
        if (take().text == ".align") expect_u32("an alignment");
      }
    }
    return type;
  }

  Variable variable(Space where, const TypeText& type, bool is_extern) {
    Variable variable;
    variable.line = peek().line;
    variable.name = std::string(expect_word("the name of a variable"));
    variable.space = where;
    variable.align = type.align;
    variable.element_bytes = type.bytes;
    variable.is_extern = is_extern;
    std::uint64_t count = 1;
    bool is_open = false;
    while (accept('[')) {
      if (accept(']')) {
        is_open = true;
        continue;
      }
      const std::uint64_t extent = expect_integer("the extent of an array");
      expect(']', "behind the extent of an array");
      if (extent > kMaxVariableBytes || count * extent > kMaxVariableBytes) {
        fail(fmt::format("'{}' is larger than {} bytes", variable.name, kMaxVariableBytes));
      }
      count *= extent;
    }
    variable.bytes = is_open ? 0 : count * type.bytes;
    if (variable.bytes > kMaxVariableBytes) {
      fail(fmt::format("'{}' is larger than {} bytes", variable.name, kMaxVariableBytes));
    }
    if (accept('=')) {
      initialiser(variable, 0);
      if (is_open) variable.bytes = variable.initial.size();
      if (variable.initial.size() > variable.bytes) {
        fail(fmt::format("'{}' has {} bytes, but its initial value has {}", variable.name, variable.bytes,
                         variable.initial.size()));
      }
    }
    return variable;
  }

  std::vector<Variable> variables(bool is_extern) {
    const Space where = space();
    const TypeText type = variable_type();
    std::vector<Variable> all;
    do {
      all.push_back(variable(where, type, is_extern));
    } while (accept(','));
    expect(';', "behind a variable");
    return all;
  }

  void initialiser(Variable& variable, int depth) {
    if (depth > kMaxNesting) fail("an initial value that is nested too deeply");
    if (accept('{')) {
      if (accept('}')) return;
      do {
        initialiser(variable, depth + 1);
      } while (accept(','));
      expect('}', "behind an initial value");
      return;
    }
    std::uint64_t value = 0;
    const bool negative = accept('-');
    const Token& token = take();
    switch (token.kind) {
      case TokenKind::kInteger: value = negative ? ~token.value + 1 : token.value; break;
      case TokenKind::kFloat32:
      case TokenKind::kFloat64:
        value = token.value;
        if (negative) value ^= std::uint64_t{1} << (token.kind == TokenKind::kFloat32 ? 31 : 63);
        break;
      case TokenKind::kString:
        for (char c : token.text.substr(1, token.text.size() - 2)) {
          variable.initial.push_back(static_cast<std::uint8_t>(c));
        }
        variable.initial.push_back(0);
        return;
      case TokenKind::kWord: {
        Variable::Pointer pointer{variable.initial.size(), std::string(token.text), 0, false};
        if (token.text == "generic") {
          expect('(', "behind 'generic'");
          pointer = {variable.initial.size(), std::string(expect_word("the name of a variable")), 0, true};
          expect(')', "behind the name of a variable");
        }
        if (accept('+')) pointer.offset = expect_integer("an offset");
        if (variable.element_bytes != 8) fail("an address as initial value of something that is not 64 bits wide");
        variable.pointers.push_back(std::move(pointer));
        break;
      }
      default: fail(fmt::format("expected an initial value, found '{}'", token.text));
    }
    for (std::uint32_t b = 0; b < std::min(variable.element_bytes, 8u); ++b) {
      variable.initial.push_back(static_cast<std::uint8_t>(value >> 8 * b));
    }
    for (std::uint32_t b = 8; b < variable.element_bytes; ++b) variable.initial.push_back(0);
  }

  // Functions.

  std::vector<Parameter> parameter_list() {
    std::vector<Parameter> list;
    expect('(', "before parameters");
    if (accept(')')) return list;
    do {
      if (peek().is(".reg")) fail("a parameter in a register; only .param is supported");
      const Space where = space();
      if (where != Space::kParam) fail("a parameter that is not in the space .param");
      const TypeText type = variable_type();
      Variable one = variable(where, type, false);
      Parameter parameter{.name = one.name, .bytes = one.bytes};
      parameter.variable = static_cast<std::uint32_t>(function_->variables.size());
      names_.front().variables.emplace(keep(one.name), parameter.variable);
      function_->variables.push_back(std::move(one));
      list.push_back(std::move(parameter));
    } while (accept(','));
    expect(')', "behind parameters");
    return list;
  }

  // A view of text that lives as long as the module.
  std::string_view keep(const std::string& name) {
    kept_.push_back(std::make_unique<std::string>(name));
    return *kept_.back();
  }

  void function(bool is_entry) {
    auto owned = std::make_unique<FunctionText>();
    function_ = owned.get();
    function_->is_entry = is_entry;
    function_->line = peek().line;
    names_.assign(1, {});
    function_->scopes.assign(1, {});
    scope_ = 0;
    location_ = kNone;
    last_location_.clear();
    if (!is_entry && peek().is('(')) function_->results = parameter_list();
    function_->name = std::string(expect_word("the name of a function"));
    if (peek().is('(')) function_->parameters = parameter_list();
    std::uint64_t offset = 0;
    for (Parameter& parameter : function_->parameters) {
      const std::uint64_t align = function_->variables[parameter.variable].align;
      offset = (offset + align - 1) / align * align;
      parameter.offset = offset;
      offset += parameter.bytes;
    }
    constexpr std::uint64_t kMaxParameterBytes = 32'764;
    if (offset > kMaxParameterBytes) {
      fail(fmt::format("'{}' has {} bytes of parameters; at most {}", function_->name, offset, kMaxParameterBytes));
    }
    function_->parameter_bytes = offset;
    while (!peek().is('{') && !peek().is(';')) performance_directive();
    if (!accept(';')) {
      function_->has_body = true;
      take();
      body();
    }
    const auto known = module_->function_ids.find(function_->name);
    if (known == module_->function_ids.end()) {
      module_->function_ids.emplace(function_->name, static_cast<std::uint32_t>(module_->functions.size()));
      module_->functions.push_back(std::move(owned));
    } else if (function_->has_body) {
      std::unique_ptr<FunctionText>& other = module_->functions[known->second];
      if (other->has_body) fail(fmt::format("'{}' is defined twice", function_->name));
      other = std::move(owned);
    }
  }

  isa::Dim3 extents() {
    isa::Dim3 dims{expect_u32("an extent"), 1, 1};
    if (accept(',')) dims.y = expect_u32("an extent");
    if (accept(',')) dims.z = expect_u32("an extent");
    return dims;
  }

  void performance_directive() {
    const Token& token = peek();
    const std::string_view word = expect_word("a directive or a body");
    if (word == ".maxntid") {
      const isa::Dim3 dims = extents();
      const std::uint64_t threads = std::uint64_t{dims.x} * dims.y * dims.z;
      function_->max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, 1u << 20));
    } else if (word == ".reqntid") {
      function_->required_threads = extents();
    } else if (word == ".reqnctapercluster") {
      function_->required_cluster = extents();
    } else if (word == ".maxnreg") {
      function_->max_registers = expect_u32("a number of registers");
    } else if (word == ".minnctapersm" || word == ".maxclusterrank" || word == ".maxnctapersm") {
      expect_integer("a number");
    } else if (word == ".pragma") {
      skip_to_semicolon();
    } else if (word != ".explicitcluster" && word != ".noreturn" && word != ".blocksareclusters") {
      refuse(module_->name, token.line, fmt::format("the directive '{}' is not supported", word));
    }
  }

  void open_scope() {
    if (names_.size() > 64) fail("blocks that are nested too deeply");
    names_.emplace_back();
    function_->scopes.push_back({.parent = scope_, .labels = {}, .label_lists = {}});
    scope_ = static_cast<std::uint32_t>(function_->scopes.size() - 1);
  }

  void body() {
    open_scope();
    for (std::size_t depth = 1; depth != 0;) {
      const Token& token = peek();
      if (token.kind == TokenKind::kEnd) fail(fmt::format("'{}' has no end", function_->name));
      if (accept('{')) {
        open_scope();
        ++depth;
      } else if (accept('}')) {
        scope_ = function_->scopes[scope_].parent;
        names_.pop_back();
        --depth;
      } else if (accept(';')) {
        continue;
      } else if (token.kind == TokenKind::kWord && token.text.front() == '.') {
        body_directive();
      } else if (token.kind == TokenKind::kWord && peek(1).is(':')) {
        label();
      } else {
        instruction();
      }
    }
  }

  void label() {
    const std::string_view name = take().text;
    take();
    if (accept(".branchtargets") || accept(".calltargets")) {
      std::vector<std::string_view>& list = function_->scopes[scope_].label_lists[name];
      do {
        list.push_back(expect_word("a label"));
      } while (accept(','));
      expect(';', "behind labels");
      return;
    }
    if (accept(".callprototype")) {
      skip_to_semicolon();
      return;
    }
    const auto at = static_cast<std::uint32_t>(function_->statements.size());
    if (!function_->scopes[scope_].labels.emplace(name, at).second) {
      fail(fmt::format("the label '{}' is defined twice", name));
    }
  }

  void body_directive() {
    const Token& token = peek();
    if (accept(".reg")) {
      registers();
    } else if (token.is(".loc")) {
      location();
    } else if (token.is(".pragma")) {
      skip_to_semicolon();
    } else if (token.is(".file") || token.is(".section")) {
      module_item();
    } else if (is_space(token.text)) {
      for (Variable& variable : variables(false)) {
        const auto id = static_cast<std::uint32_t>(function_->variables.size());
        names_.back().variables[keep(variable.name)] = id;
        function_->variables.push_back(std::move(variable));
      }
    } else {
      fail(fmt::format("the directive '{}' is not supported here", token.text));
    }
  }

  void registers() {
    const std::string_view type = expect_word("the type of a register");
    const std::uint32_t bits = bits_of(type);
    if (bits == 0) fail(fmt::format("'{}' is not the type of a register", type));
    do {
      const std::string_view name = expect_word("the name of a register");
      std::uint64_t count = 1;
      const bool is_range = accept('<');
      if (is_range) {
        count = expect_integer("how many registers");
        expect('>', "behind the number of registers");
      }
      const auto first = static_cast<std::uint32_t>(function_->register_bits.size());
      if (count > kMaxRegisters || first + count > kMaxRegisters) {
        fail(fmt::format("more than {} registers in one function", kMaxRegisters));
      }
      function_->register_bits.insert(function_->register_bits.end(), count, static_cast<std::uint16_t>(bits));
      if (is_range) {
        names_.back().ranges[name] = {first, static_cast<std::uint32_t>(count)};
      } else {
        names_.back().registers[name] = first;
      }
    } while (accept(','));
    expect(';', "behind registers");
  }

  void location() {
    const std::uint32_t line = take().line;
    Location here;
    here.file = expect_u32("the number of a file");
    here.line = expect_u32("a line");
    if (peek().kind == TokenKind::kInteger && peek().line == line) here.column = expect_u32("a column");
    while (peek().line == line && peek().kind != TokenKind::kEnd && !peek().is("inlined_at")) take();
    if (peek().line == line && accept("inlined_at")) {
      const std::uint32_t file = expect_u32("the number of a file");
      const std::uint32_t outer_line = expect_u32("a line");
      const std::uint32_t column = peek().kind == TokenKind::kInteger ? expect_u32("a column") : 0;
      // The place that this one is inlined at was named before, or stands for itself.
      const auto key = std::make_tuple(file, outer_line, column);
      const auto known = last_location_.find(key);
      if (known != last_location_.end() && known->second < function_->locations.size()) {
        here.outer = known->second;
      } else {
        function_->locations.push_back({file, outer_line, column, kNone});
        here.outer = static_cast<std::uint32_t>(function_->locations.size() - 1);
      }
    }
    skip_line(line);
    location_ = static_cast<std::uint32_t>(function_->locations.size());
    function_->locations.push_back(here);
    last_location_[std::make_tuple(here.file, here.line, here.column)] = location_;
  }

  // Instructions.

  void instruction() {
    Statement statement;
    statement.line = peek().line;
    statement.scope = scope_;
    statement.location = location_;
    const char* begin = peek().text.data();
    if (accept('@')) {
      statement.guard_negated = accept('!');
      const std::string_view name = expect_word("a predicate");
      const std::optional<std::uint32_t> id = find_register(name);
      if (!id || function_->register_bits[*id] != 1) fail(fmt::format("'{}' is not a predicate", name));
      statement.guard = *id;
    }
    statement.mnemonic = expect_word("an instruction");
    if (!peek().is(';')) {
      do {
        statement.operands.push_back(operand(0, false));
      } while (accept(','));
    }
    const Token& last = peek();
    expect(';', "behind an instruction");
    statement.text = std::string_view(begin, static_cast<std::size_t>(last.text.data() + 1 - begin));
    if (function_->statements.size() >= 4u << 20) fail("a function with more than 4 million instructions");
    function_->statements.push_back(std::move(statement));
  }

  std::optional<std::uint32_t> find_register(std::string_view name) const {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
      if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
      if (digits == name.size()) continue;
      const auto range = scope->ranges.find(name.substr(0, digits));
      if (range == scope->ranges.end()) continue;
      std::uint32_t number = 0;
      if (std::from_chars(name.data() + digits, name.data() + name.size(), number).ec != std::errc{}) continue;
      if (number < range->second.second) return range->second.first + number;
    }
    return std::nullopt;
  }

  Operand operand(int depth, bool in_address) {
    if (depth > kMaxNesting) fail("operands that are nested too deeply");
    Operand result;
    if (accept('{')) return list(OperandKind::kVector, '}', depth, in_address);
    if (accept('[')) return list(OperandKind::kAddress, ']', depth, true);
    if (accept('(')) return list(OperandKind::kTuple, ')', depth, in_address);
    if (accept('!')) {
      result = operand(depth + 1, in_address);
      if (result.kind != OperandKind::kRegister) fail("'!' before something that is not a predicate");
      result.negated = !result.negated;
      return result;
    }
    const bool negative = accept('-');
    const Token& token = take();
    switch (token.kind) {
      case TokenKind::kInteger:
        result.kind = OperandKind::kInteger;
        result.value = negative ? ~token.value + 1 : token.value;
        return result;
      case TokenKind::kFloat32:
      case TokenKind::kFloat64:
        result.kind = token.kind == TokenKind::kFloat32 ? OperandKind::kFloat32 : OperandKind::kFloat64;
        result.value = token.value;
        if (negative) result.value ^= std::uint64_t{1} << (token.kind == TokenKind::kFloat32 ? 31 : 63);
        return result;
      case TokenKind::kWord: break;
      default: refuse(module_->name, token.line, fmt::format("expected an operand, found '{}'", token.text));
    }
    if (negative) refuse(module_->name, token.line, fmt::format("expected a number behind '-', found '{}'", token.text));
    result = name_operand(token.text);
    if (accept('|')) {
      const std::string_view name = expect_word("a predicate");
      const std::optional<std::uint32_t> id = find_register(name);
      if (name != "_" && !id) fail(fmt::format("'{}' is not a register", name));
      if (id) result.second = *id;
    }
    if (accept('+')) {
      const bool minus = accept('-');
      const std::uint64_t offset = expect_integer("an offset");
      result.value = minus ? ~offset + 1 : offset;
    } else if (peek().is('-') && in_address) {
      take();
      result.value = ~expect_integer("an offset") + 1;
    }
    return result;
  }

  Operand list(OperandKind kind, char end, int depth, bool in_address) {
    Operand result;
    result.kind = kind;
    if (accept(end)) return result;
    do {
      result.list.push_back(operand(depth + 1, in_address));
    } while (accept(','));
    expect(end, "behind a list of operands");
    return result;
  }

  Operand name_operand(std::string_view name) {
    Operand result;
    result.name = name;
    if (name == "_") return result;
    if (const std::optional<std::uint32_t> id = find_register(name)) {
      result.kind = OperandKind::kRegister;
      result.id = *id;
      return result;
    }
    for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
      if (const auto found = scope->variables.find(name); found != scope->variables.end()) {
        result.kind = OperandKind::kVariable;
        result.id = found->second;
        return result;
      }
    }
    if (const auto found = module_->variable_ids.find(name); found != module_->variable_ids.end()) {
      result.kind = OperandKind::kVariable;
      result.is_module = true;
      result.id = found->second;
      return result;
    }
    result.kind = name.front() == '%' || name == "WARP_SZ" ? OperandKind::kSpecial : OperandKind::kName;
    return result;
  }

  std::unique_ptr<ModuleText> module_;
  std::vector<Token> tokens_;
  std::vector<std::unique_ptr<std::string>> kept_;
  std::size_t at_ = 0;
  FunctionText* function_ = nullptr;
  std::vector<Names> names_;
  std::uint32_t scope_ = 0;
  std::uint32_t location_ = kNone;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> last_location_;
};

}  // namespace

std::unique_ptr<ModuleText> parse(std::string text, std::string name) {
  return Parser(std::move(text), std::move(name)).run();
}

}  // namespace heddle::sim::ptx
