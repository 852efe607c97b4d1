// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/report.h>

#include <algorithm>

namespace heddle::sim {

bool Report::has(std::string_view code) const {
  return std::any_of(diagnoses.begin(), diagnoses.end(),
                     [&](const Diagnosis& diagnosis) { return diagnosis.code == code; });
}

std::string Report::text() const {
  std::string text;
  for (const Diagnosis& diagnosis : diagnoses) text += diagnosis.text;
  return text;
}

std::string Report::remarks() const {
  std::string text;
  for (const Diagnosis& diagnosis : formal) text += diagnosis.text;
  for (const Diagnosis& diagnosis : accepted) text += diagnosis.text;
  return text;
}

}  // namespace heddle::sim
