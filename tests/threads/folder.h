#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace forebay {

/// A folder that goes with the object.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::canonical(testing::TempDir()) /
              ("forebay_parts_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }
  std::string string() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace forebay
