// The process that opened a file. After a fork, the child has the file open too, with a copy of all
// data that waits to be written, and would write it again when it exits.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace forebay {

class Opener {
 public:
  pid_t process() const noexcept { return process_; }
  /// Returns whether another process opened the file and still lives, so that the file belongs to
  /// it. A child that goes on alone, as daemons do, takes the file over.
  bool is_another() const noexcept {
    if (::getpid() == process_) return false;
    return ::kill(process_, 0) == 0 || errno == EPERM;
  }

 private:
  pid_t process_ = ::getpid();
};

}  // namespace forebay
