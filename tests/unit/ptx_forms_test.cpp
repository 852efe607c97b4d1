// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/decode.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace heddle::sim::ptx {
namespace {

std::string mnemonic_of(const Form& form, bool with_options, std::size_t pick) {
  std::string text;
  for (const Form::Element& element : form.elements) {
    if (element.is_optional && !with_options) continue;
    std::string choice = element.choices[pick % element.choices.size()];
    if (const std::size_t star = choice.find('*'); star != std::string::npos) choice.replace(star, 1, "16");
    text += choice;
  }
  return text;
}

TEST(PtxForms, EveryFormIsReached) {
  std::vector<std::string_view> chosen;
  for (const Form& form : FormTable::get().all()) {
    bool is_reached = false;
    for (const bool with_options : {false, true}) {
      for (std::size_t pick = 0; pick < 3; ++pick) {
        const std::string mnemonic = mnemonic_of(form, with_options, pick);
        const Form* found = FormTable::get().find(mnemonic, chosen);
        ASSERT_NE(found, nullptr) << mnemonic << " of " << form.pattern;
        is_reached |= found == &form;
      }
    }
    EXPECT_TRUE(is_reached) << form.pattern;
  }
}

TEST(PtxForms, NoPatternStandsTwice) {
  std::set<std::string> seen;
  for (const Form& form : FormTable::get().all()) EXPECT_TRUE(seen.insert(form.pattern).second) << form.pattern;
}

TEST(PtxForms, OptionsAreHandedOverInTheirPlaces) {
  std::vector<std::string_view> chosen;
  ASSERT_NE(FormTable::get().find("add.rz.sat.f32", chosen), nullptr);
  EXPECT_EQ(chosen, (std::vector<std::string_view>{".rz", "", ".sat"}));
  ASSERT_NE(FormTable::get().find("add.sat.rz.f32", chosen), nullptr);
  EXPECT_EQ(chosen, (std::vector<std::string_view>{".rz", "", ".sat"}));
  EXPECT_EQ(FormTable::get().find("add", chosen), nullptr);
  EXPECT_NE(FormTable::get().find("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", chosen), nullptr);
  EXPECT_EQ(FormTable::get().find("wgmma.mma_async.sync.aligned.m64nxk16.f32.bf16.bf16", chosen), nullptr);
}

}  // namespace
}  // namespace heddle::sim::ptx
