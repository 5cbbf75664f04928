// Threads that share the pieces of a state.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "codec/pipeline.h"

namespace forebay::checkpoint {

/// The caller and threads that it starts for what it shares, each with a workspace for codecs; one
/// that finds nothing left to do is waited for at the next call. Of one caller at a time.
class Team {
 public:
  explicit Team(std::size_t members) : workspaces_(members) {}
  ~Team() { join_late(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return workspaces_.size(); }
  CodecWorkspace& operator[](std::size_t member) { return workspaces_[member]; }

  /// Calls f(member, first, last) for ranges of n pieces, at least so many for each member. Where a
  /// thread is not to be had, or has not begun when the caller is done, as others keep the
  /// processors, the caller does its work.
  using Work = std::function<void(std::size_t member, std::size_t first, std::size_t last)>;
  void share(std::size_t n, std::size_t least, const Work& f);

 private:
  void join_late() noexcept;

  std::vector<CodecWorkspace> workspaces_;
  std::vector<std::thread> late_;  ///< who find nothing left to do
};

}  // namespace forebay::checkpoint
