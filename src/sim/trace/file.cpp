// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/file.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace heddle::sim::trace {

namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw InputError(fmt::format("trace '{}' cannot be written: {}", path, std::strerror(error)));
}

// While it lives, what would end the process waits.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

// A file beside the one that is to be there in the end; gone unless it was renamed.
class PartFile {
 public:
  explicit PartFile(const std::string& path) : path_(path), part_(fmt::format("{}.part{}", path, getpid())) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) refuse(path, EISDIR);
    file_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) refuse(path, errno);
  }
  ~PartFile() {
    if (file_ >= 0) close(file_);
    if (!is_whole_) unlink(part_.c_str());
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse(path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  // A full disk may show itself only now.
  void finish() {
    if (fsync(file_) != 0 && errno != EINVAL) refuse(path_, errno);
    const int closed = close(file_);
    file_ = -1;
    if (closed != 0 || rename(part_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
    is_whole_ = true;
  }

 private:
  std::string path_;
  std::string part_;
  int file_ = -1;
  bool is_whole_ = false;
};

}  // namespace

void check_writable(const std::string& path) {
  const SignalsHeld held;
  const PartFile part(path);
}

void write_whole(const std::string& path, std::string_view bytes) {
  const SignalsHeld held;
  PartFile part(path);
  part.write(bytes);
  part.finish();
}

}  // namespace heddle::sim::trace
