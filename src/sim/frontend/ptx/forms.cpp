// SPDX-License-Identifier: Apache-2.0
//
// Which form an instruction has: its words against the patterns.
#include "sim/frontend/ptx/decode.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace heddle::sim::ptx {

namespace {

std::vector<std::string_view> split(std::string_view mnemonic) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t at = 1; at <= mnemonic.size(); ++at) {
    if (at == mnemonic.size() || mnemonic[at] == '.') {
      parts.push_back(mnemonic.substr(begin, at - begin));
      begin = at;
    }
  }
  return parts;
}

// A choice may hold one '*', which stands for digits.
bool fits_choice(std::string_view choice, std::string_view part) {
  const std::size_t star = choice.find('*');
  if (star == std::string_view::npos) return choice == part;
  const std::string_view before = choice.substr(0, star);
  const std::string_view after = choice.substr(star + 1);
  if (part.size() <= before.size() + after.size() || !part.starts_with(before) || !part.ends_with(after))
    return false;
  const std::string_view digits = part.substr(before.size(), part.size() - before.size() - after.size());
  return digits.find_first_not_of("0123456789") == std::string_view::npos;
}

bool fits(const Form::Element& element, std::string_view part) {
  return std::any_of(element.choices.begin(), element.choices.end(),
                     [&](const std::string& choice) { return fits_choice(choice, part); });
}

// Words that several places of one instruction take, or whose order says which operand they speak of. ptxas wants
// these in order among themselves; all other modifiers may stand anywhere.
enum class Kin : std::uint8_t { kNone, kType, kSpace, kLayout, kPriority };
constexpr std::size_t kKins = 5;

Kin kin_of(std::string_view word) {
  if (word == ".row" || word == ".col") return Kin::kLayout;
  if (word.starts_with(".L2::evict")) return Kin::kPriority;
  for (const std::string_view space : {".global", ".shared", ".local", ".const", ".param"}) {
    if (word.starts_with(space)) return Kin::kSpace;
  }
  if (word == ".pred" || word.starts_with(".tf32") || word.starts_with(".ue8m0")) return Kin::kType;
  for (const std::string_view stem : {".bf", ".b", ".u", ".s", ".f", ".e"}) {  // .bf16x2, .s32, .e4m3
    if (!word.starts_with(stem)) continue;
    const std::size_t end = std::min(word.find_first_not_of("0123456789", stem.size()), word.size());
    // .f4e of prmt is no type.
    if (end > stem.size() && (end == word.size() || word[end] == 'x' || word[end] == 'm')) return Kin::kType;
  }
  return Kin::kNone;
}

// Whether a word that a pattern has at its front is a modifier; if not, it is part of the instruction's name,
// such as the second of "mul.wide", and stays where it is.
bool is_modifier(std::string_view word) {
  constexpr std::string_view kModifiers[] = {
      ".sync", ".aligned",  ".rn",    ".satfinite",   ".approx",          ".ftz",          ".sat", ".release",
      ".m8n8", ".shiftamt", ".noinc", ".is_canceled", ".get_first_ctaid", ".mbarrier_init"};
  return kin_of(word) != Kin::kNone ||
         std::find(std::begin(kModifiers), std::end(kModifiers), word) != std::end(kModifiers);
}

// Gives each element one of the parts, from element `e` on. `filled` says which part an element has got.
struct Matching {
  static constexpr std::size_t kNoPart = ~std::size_t{0};

  const std::vector<Form::Element>& elements;
  const std::vector<std::string_view>& parts;
  std::vector<std::size_t> filled;
  std::array<std::size_t, kKins> last = {};  // of each kin, the part that was given last
  std::uint64_t used = 0;

  bool from(std::size_t e, std::size_t parts_left) {
    if (parts_left > elements.size() - e) return false;
    if (e == elements.size()) return true;
    for (std::size_t p = 1; p < parts.size(); ++p) {
      if ((used >> p & 1) != 0 || !fits(elements[e], parts[p])) continue;
      const auto kin = static_cast<std::size_t>(kin_of(parts[p]));
      if (kin != 0 && p < last[kin]) continue;
      const std::size_t before = std::exchange(last[kin], p);
      used |= std::uint64_t{1} << p;
      filled[e] = p;
      if (from(e + 1, parts_left - 1)) return true;
      used &= ~(std::uint64_t{1} << p);
      last[kin] = before;
    }
    filled[e] = kNoPart;
    return elements[e].is_optional && from(e + 1, parts_left);
  }
};

}  // namespace

bool Form::matches(const std::vector<std::string_view>& parts, std::vector<std::string_view>& chosen) const {
  constexpr std::size_t kMostParts = 64;
  if (parts.size() < name_words || parts.size() > kMostParts) return false;
  for (std::size_t w = 0; w < name_words; ++w) {
    if (!fits(elements[w], parts[w])) return false;
  }
  Matching matching{.elements = elements, .parts = parts, .filled = std::vector<std::size_t>(elements.size())};
  matching.used = (std::uint64_t{1} << name_words) - 1;
  if (!matching.from(name_words, parts.size() - name_words)) return false;
  chosen.clear();
  for (std::size_t e = 0; e < elements.size(); ++e) {
    if (!elements[e].is_group) continue;
    const std::size_t part = matching.filled[e];
    chosen.push_back(part == Matching::kNoPart ? std::string_view{} : parts[part]);
  }
  return true;
}

void FormTable::add(std::string_view pattern, Decode decode) {
  Form form{.pattern = std::string(pattern), .elements = {}, .decode = std::move(decode)};
  for (std::size_t at = 0; at < pattern.size();) {
    Form::Element element;
    if (pattern[at] == '{' || pattern[at] == '[') {
      element.is_group = true;
      element.is_optional = pattern[at] == '[';
      const std::size_t end = pattern.find(pattern[at] == '{' ? '}' : ']', at);
      std::size_t begin = at + 1;
      for (std::size_t i = begin; i <= end; ++i) {
        if (i == end || pattern[i] == ',') {
          element.choices.emplace_back(pattern.substr(begin, i - begin));
          begin = i + 1;
        }
      }
      at = end + 1;
    } else {
      const std::size_t end = std::min(pattern.find_first_of(".{[", at + 1), pattern.size());
      element.choices.emplace_back(pattern.substr(at, end - at));
      at = end;
    }
    form.elements.push_back(std::move(element));
  }
  while (form.name_words < form.elements.size() && !form.elements[form.name_words].is_group &&
         !is_modifier(form.elements[form.name_words].choices.front())) {
    ++form.name_words;
  }
  by_opcode_[form.elements.front().choices.front()].push_back(forms_.size());
  forms_.push_back(std::move(form));
}

const Form* FormTable::find(std::string_view mnemonic, std::vector<std::string_view>& chosen) const {
  const std::vector<std::string_view> parts = split(mnemonic);
  const auto candidates = by_opcode_.find(parts.front());
  if (candidates == by_opcode_.end()) return nullptr;
  for (const std::size_t index : candidates->second) {
    if (forms_[index].matches(parts, chosen)) return &forms_[index];
  }
  return nullptr;
}

const FormTable& FormTable::get() {
  static const FormTable table = [] {
    FormTable made;
    add_integer_forms(made);
    add_packed_forms(made);
    add_video_forms(made);
    add_float_forms(made);
    add_half_forms(made);
    add_mixed_forms(made);
    add_bit_mask_forms(made);
    add_compare_forms(made);
    add_convert_forms(made);
    add_move_forms(made);
    add_memory_forms(made);
    add_atomic_forms(made);
    add_control_forms(made);
    add_warp_forms(made);
    add_barrier_forms(made);
    add_copy_forms(made);
    add_async_copy_forms(made);
    add_tensor_map_forms(made);
    add_texture_forms(made);
    add_clc_forms(made);
    add_mma_forms(made);
    add_exact_mma_forms(made);
    add_sparse_mma_forms(made);
    add_quad_mma_forms(made);
    add_wmma_forms(made);
    add_wgmma_forms(made);
    add_tcgen05_forms(made);
    return made;
  }();
  return table;
}

}  // namespace heddle::sim::ptx
