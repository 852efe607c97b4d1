// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/host/traced_launch.h>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <sstream>

namespace heddle {

namespace {

// What a launch may ask for: more is a damaged line.
constexpr std::uint64_t kMostRecords = std::uint64_t{1} << 30;

template <class T>
void read_numbers(std::ifstream& file, const std::string& path, std::vector<T>& to, std::uint64_t count) {
  to.resize(count);
  const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
  if (!file.read(reinterpret_cast<char*>(to.data()), bytes)) {
    throw InputError(
        fmt::format("trace '{}': it ends too early: {} of {} bytes are there", path, file.gcount(), bytes));
  }
}

}  // namespace

std::vector<TracedLaunch> read_traced_launches(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("trace '{}': it cannot be read", path));
  std::string line;
  if (!std::getline(file, line) || line + '\n' != kTraceFileMark) {
    throw InputError(
        fmt::format("trace '{}': its first line is not '{}'; write_traced_launches() of a kernel built with "
                    "HEDDLE_TRACE makes such files",
                    path, std::string(kTraceFileMark, sizeof(kTraceFileMark) - 2)));
  }
  std::vector<TracedLaunch> launches;
  while (std::getline(file, line)) {
    TracedLaunch& launch = launches.emplace_back();
    std::istringstream words(line);
    std::uint64_t letters = 0;
    words >> launch.grid[0] >> launch.grid[1] >> launch.grid[2] >> launch.warps >> launch.ctas >>
        launch.capacity >> letters;
    words.get();
    std::getline(words, launch.kernel);
    const std::uint64_t rows = std::uint64_t{launch.ctas} * launch.warps;
    if (!words || launch.kernel.size() != letters || launch.warps == 0 || launch.warps > 32 ||
        launch.capacity == 0 || rows * launch.row() > kMostRecords) {
      throw InputError(fmt::format("trace '{}': launch {} begins with '{}', which is no launch", path,
                                   launches.size() - 1, line.substr(0, 80)));
    }
    read_numbers(file, path, launch.counts, rows);
    read_numbers(file, path, launch.records, rows * launch.row());
  }
  return launches;
}

}  // namespace heddle
