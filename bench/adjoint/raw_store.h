// One state of one variable in memory that Forebay knows: push and peek, as they are.
#pragma once

#include <mpi.h>
// above what it enables
#include <forebay_checkpoint.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace forebay::bench {

class RawStore {
 public:
  RawStore(const std::string& name, const std::string& hints, std::vector<double>& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    check(forebay_checkpoint_open(name.c_str(), hints.c_str(), &store_));
    int variable = 0;
    check(forebay_checkpoint_var(store_, "x", "double", 1, &n, "none", values.data(), &variable));
  }
  RawStore(RawStore&& other) noexcept : store_(other.store_) { other.store_ = 0; }
  ~RawStore() {
    if (store_ > 0) check(forebay_checkpoint_close(store_, 0));
  }
  void push(std::int64_t step = 0) { check(forebay_checkpoint_push(store_, step)); }
  void pop() { check(forebay_checkpoint_pop(store_, nullptr)); }
  void peek() { check(forebay_checkpoint_peek(store_, 0)); }

 private:
  static void check(int code) {
    if (code == 0) return;
    std::fprintf(stderr, "%s\n", forebay_error_message());
    std::exit(EXIT_FAILURE);
  }
  int store_ = 0;
};

}  // namespace forebay::bench
