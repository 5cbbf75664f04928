// Threads that share the work on the pieces of a state.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "codec/pipeline.h"

namespace forebay::checkpoint {

/// The caller and the threads that it starts for shared work, each with a workspace for codecs. A
/// thread that starts too late for any work is joined at the next call. One caller at a time.
class Team {
 public:
  explicit Team(std::size_t members) : workspaces_(members) {}
  ~Team() { join_late(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return workspaces_.size(); }
  CodecWorkspace& operator[](std::size_t member) { return workspaces_[member]; }

  /// Calls f(member, first, last) for ranges of n pieces. Each member gets at least `least` pieces.
  /// If a thread cannot be started, or has not begun when the caller is done (as others keep the
  /// processors busy), the caller does its work.
  using Work = std::function<void(std::size_t member, std::size_t first, std::size_t last)>;
  void share(std::size_t n, std::size_t least, const Work& f);

 private:
  void join_late() noexcept;

  std::vector<CodecWorkspace> workspaces_;
  std::vector<std::thread> late_;  ///< threads that found no work left
};

}  // namespace forebay::checkpoint
