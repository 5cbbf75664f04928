// Helpers for tests of stores.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "method/method.h"

namespace forebay::checkpoint {

/// From now on calls `act` with the path of each file before it is synced to the device. Nothing:
/// no longer. checkpoint_store_test.cc, which replaces fsync(), defines it.
void before_each_sync(std::function<void(const std::filesystem::path&)> act);

/// A new folder in `parent` with the subfolders "quick" and "slow", which is removed with this
/// object.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "forebay_store_XXXXXX").string();
    path = mkdtemp(name.data());
    std::filesystem::create_directory(path / "quick");
    std::filesystem::create_directory(path / "slow");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  Method method(Count memory, Count fast = -1, const std::string& codec = "none") const {
    Method method;
    method.checkpoint_memory = memory;
    method.checkpoint_dir = (path / "slow").string();
    if (fast >= 0) method.checkpoint_fast = (path / "quick").string();
    method.checkpoint_fast_bytes = std::max<Count>(fast, 0);
    method.codec = codec;
    return method;
  }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

}  // namespace forebay::checkpoint
