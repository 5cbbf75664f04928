#include "base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/attempt.h"

namespace forebay {
namespace descriptor_test {

/// System calls that move the given numbers of bytes; -1: interrupted, -2: no space left.
struct Calls {
  std::vector<int> moves;
  std::vector<std::size_t> places = {};  // where each call began

  ssize_t operator()(std::size_t done) {
    const int n = moves.at(places.size());
    places.push_back(done);
    if (n < 0) errno = n == -1 ? EINTR : ENOSPC;
    return n < 0 ? -1 : n;
  }
};

// A program without standard output may still print, and may open its log there later.
TEST(Descriptor, is_none_that_programs_print_to) {
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  ::close(STDIN_FILENO);
  const Descriptor file(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_GT(file.get(), STDERR_FILENO);
  char byte = 'x';
  EXPECT_EQ(::read(file.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '\0');
  EXPECT_EQ(::fcntl(STDIN_FILENO, F_GETFD), -1);
  EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
  if (kept >= 0) ::dup2(kept, STDIN_FILENO), ::close(kept);
}

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

}  // namespace descriptor_test
}  // namespace forebay
