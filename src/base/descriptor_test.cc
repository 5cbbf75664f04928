#include "base/descriptor.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/attempt.h"

namespace forebay {
namespace {

/// System calls that move so many bytes each; -1: interrupted, -2: no space is left.
struct Calls {
  std::vector<int> moves;
  std::vector<std::size_t> places = {};  // where each began

  ssize_t operator()(std::size_t done) {
    const int n = moves.at(places.size());
    places.push_back(done);
    if (n < 0) errno = n == -1 ? EINTR : ENOSPC;
    return n < 0 ? -1 : n;
  }
};

TEST(Transfer, goes_on_after_short_and_interrupted_calls) {
  for (const Transfer what : {Transfer::read, Transfer::write}) {
    Calls calls{{3, -1, 2, -1, 5}};
    EXPECT_EQ(transfer(what, 10, "file", std::ref(calls)), 10U);
    EXPECT_EQ(calls.places, (std::vector<std::size_t>{0, 3, 3, 5, 5}));
  }
}

TEST(Transfer, a_file_that_is_read_may_end) {
  Calls calls{{4, 0}};
  EXPECT_EQ(transfer(Transfer::read, 10, "file", std::ref(calls)), 4U);
}

TEST(Transfer, a_write_that_cannot_go_on_is_an_error) {
  for (const int end : {0, -2}) {
    Calls calls{{4, end}};
    const auto failed = attempt_to([&] { transfer(Transfer::write, 10, "file", std::ref(calls)); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), end == 0 ? Errc::ewrite : Errc::eno_space);
    EXPECT_NE(failed->message().find("writing file"), std::string::npos);
  }
}

TEST(Transfer, nothing_needs_no_call) {
  Calls calls{};
  EXPECT_EQ(transfer(Transfer::write, 0, "file", std::ref(calls)), 0U);
}

}  // namespace
}  // namespace forebay
