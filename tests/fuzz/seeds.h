// What writes the inputs that a fuzz target begins with.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>

/// The folder that a program was given as its only argument.
class Seeds {
 public:
  Seeds(int argc, char** argv) {
    if (argc != 2) {
      std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
      std::exit(2);
    }
    folder_ = argv[1];
    std::filesystem::create_directories(folder_);
  }

  /// `head`: what the target chooses a parser by.
  void save(const std::string& name, std::initializer_list<char> head,
            std::span<const std::byte> bytes) {
    std::ofstream file(folder_ / name, std::ios::binary);
    for (const char c : head) file.put(c);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    if (file.flush()) return;
    std::fprintf(stderr, "cannot write %s\n", (folder_ / name).c_str());
    all_ = false;
  }
  /// Of the program.
  int status() const { return all_ ? 0 : 1; }

 private:
  std::filesystem::path folder_;
  bool all_ = true;
};
