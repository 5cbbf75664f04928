// A rank fails between two reductions. The others learn that in their next reduction, and all go on
// together.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/failing_memory_testing.h"
#include "base/host_name.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"

namespace forebay {
namespace agree_ranks_test {

constexpr int ranks = 4;

/// Few bytes travel with their sizes; so do more if ranks have about as many. The result has the
/// ranks' values in rank order.
void gather_in_one_call_and_in_two(const Comm& comm, bool about_as_many) {
  for (const std::size_t bytes : {0, 1, 40, 1000, 1015, 1016, 1017, 4096, 9000, 65'528, 70'000}) {
    const auto of = [&](int rank) {
      if (rank != 2) return bytes;
      return about_as_many ? bytes - bytes / 8 : 0;
    };
    const std::vector<std::byte> mine(of(comm.rank()), std::byte(comm.rank() + 1));
    std::vector<std::byte> expected;
    for (int r = 0; r < ranks; ++r) expected.insert(expected.end(), of(r), std::byte(r + 1));
    const auto total = static_cast<std::int64_t>(expected.size());
    std::vector<std::int64_t> sizes;
    EXPECT_EQ(comm.all_gather_up_to(total, mine, sizes), expected);
    EXPECT_EQ(sizes[3], static_cast<std::int64_t>(bytes));
    EXPECT_EQ(sizes[2], static_cast<std::int64_t>(of(2)));
    if (bytes > 0) EXPECT_FALSE(comm.all_gather_up_to(total - 1, mine, sizes));
  }
}

// Few bytes travel with their number, some more in one message, many after a reduction.
void broadcast_few_and_many(const Comm& comm) {
  for (const std::size_t size : {0, 1, 167, 168, 169, 511, 512, 513, 5000}) {
    std::string expected;
    for (std::size_t i = 0; i < size; ++i) expected += static_cast<char>('a' + i % 23);
    std::string text = comm.rank() == 2 ? expected : "of another rank";
    comm.broadcast(text, 2);
    EXPECT_EQ(text, expected);
    std::vector<std::byte> bytes(comm.rank() == 2 ? size : 7, std::byte{9});
    comm.broadcast(bytes, 2);
    EXPECT_EQ(bytes, std::vector<std::byte>(size, std::byte{9}));
    std::vector<std::int64_t> numbers(comm.rank() == 2 ? size : 7, 9);
    comm.broadcast(numbers, 2);
    EXPECT_EQ(numbers, std::vector<std::int64_t>(size, 9));
  }
}

#ifdef FOREBAY_FAILING_MEMORY
TEST(Broadcasts, of_a_list_that_some_rank_has_no_memory_for_fail_on_all) {
  run_as_threads(ranks, [](const Comm& comm) {
    std::vector<std::int64_t> numbers(comm.rank() == 2 ? 5000 : 0);
    FailingMemory::mine().begin(comm.rank() == 1 ? 0 : -1);
    const auto failed = attempt_to([&] {
      const FailingMemory::Armed armed;
      comm.broadcast(numbers, 2);
    });
    FailingMemory::mine().begin(-1);
    ASSERT_TRUE(failed) << comm.rank();
    EXPECT_EQ(failed->code(), Errc::enomem) << comm.rank();
    comm.barrier();
  });
}
#endif

const std::vector<std::function<void(const Comm&)>>& calls() {
  static const std::vector<std::function<void(const Comm&)>> all = {
      [](const Comm& comm) { comm.barrier(); },
      [](const Comm& comm) { EXPECT_EQ(comm.all_reduce(comm.rank(), Reduce::max), ranks - 1); },
      [](const Comm& comm) {
        std::array<std::int64_t, 4> values{comm.rank(), -comm.rank(), comm.rank(), 1};
        comm.max_and_sum(values, 2);
        EXPECT_EQ(values,
                  (std::array<std::int64_t, 4>{ranks - 1, 0, ranks * (ranks - 1) / 2, ranks}));
      },
      [](const Comm& comm) {
        std::array<std::int64_t, 40> many{};  // more than one reduction carries
        many.fill(1);
        comm.all_reduce(many, Reduce::sum);
        EXPECT_EQ(many[39], ranks);
      },
      [](const Comm& comm) {
        int value = comm.rank() == 1 ? 7 : 0;
        comm.broadcast(&value, sizeof value, 1);
        EXPECT_EQ(value, 7);
      },
      [](const Comm& comm) { broadcast_few_and_many(comm); },
      [](const Comm& comm) { EXPECT_EQ(comm.all_gather(comm.rank()).size(), 4U); },
      [](const Comm& comm) {
        std::vector<std::int64_t> sizes;
        const std::vector<std::byte> mine(static_cast<std::size_t>(comm.rank()));
        EXPECT_EQ(comm.all_gather_bytes(mine, sizes).size(), 6U);
      },
      [](const Comm& comm) { gather_in_one_call_and_in_two(comm, false); },
      [](const Comm& comm) { gather_in_one_call_and_in_two(comm, true); },
      [](const Comm& comm) { EXPECT_EQ(comm.split_node(2).size(), 2); },
      [](const Comm& comm) { EXPECT_EQ(Topology::of(comm, 2).nodes(), 2); },
      [](const Comm& comm) { agree_on_error(comm, std::nullopt); },
      [](const Comm& comm) { EXPECT_FALSE(worst_of_all(comm, std::nullopt)); },
      [](const Comm& comm) { together(comm, [&] { comm.barrier(); }); },
      [](const Comm& comm) {
        const auto failed = up_to_meeting(comm, [&] { comm.all_reduce(1, Reduce::min); });
        if (failed) throw *failed;
      },
  };
  return all;
}

void go_on(const Comm& comm) {
  for (const auto& call : calls()) call(comm);
}

// A rank that reports an error to the user looks for a rank that knows more than its code.
TEST(Agreement, marks_the_errors_of_other_ranks) {
  run_as_threads(ranks, [](const Comm& comm) {
    std::optional<Error> mine;
    if (comm.rank() == 1) mine = Error(Errc::eno_space, "the disk is full", "free some space");
    const std::vector<std::function<void()>> ways = {
        [&] { agree_on_error(comm, mine); },
        [&] {
          if (auto worst = worst_of_all(comm, mine)) throw *worst;
        },
        [&] {
          together(comm, [&] {
            if (mine) throw *mine;
            comm.barrier();
          });
        },
    };
    for (const auto& way : ways) {
      const auto failed = attempt_to([&] { naming("a.nc", way); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::eno_space);
      EXPECT_EQ(failed->is_of_others(), !mine) << failed->message();
      EXPECT_TRUE(failed->message().starts_with("a.nc: ")) << failed->message();
      if (mine) EXPECT_EQ(failed->advice(), mine->advice());
      comm.forget_failed_meeting();
      comm.barrier();
    }
  });
}

// The text of one rank's error says where to look.
TEST(Agreement, tells_others_which_rank_failed_where_and_with_what) {
  run_as_threads(ranks, [](const Comm& comm) {
    const Comm node = comm.split_node(2);
    const auto fail = [&](Errc code, const char* words) { throw Error(code, words); };
    const std::vector<std::function<void()>> ways = {
        [&] {
          agree_on_error(comm, attempt_to([&] {
                           if (comm.rank() == 2) fail(Errc::eno_space, "the disk is full");
                         }));
        },
        [&] {
          together(comm, [&] {
            if (comm.rank() == 2) fail(Errc::eno_space, "the disk is full");
            std::string text;
            comm.broadcast(text);
          });
        },
        [&] {
          if (auto worst = worst_of_all(comm, attempt_to([&] {
                                          if (comm.rank() >= 2)
                                            fail(Errc::eno_space, "the disk is full");
                                        })))
            throw *worst;
        },
        // A node's ranks agree first; its other ranks pass the error on.
        [&] {
          together(comm, [&] {
            together(node, [&] {
              if (comm.rank() == 2) fail(Errc::eno_space, "the disk is full");
            });
          });
        },
    };
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const auto failed = attempt_to(ways[way]);
      ASSERT_TRUE(failed);
      const std::string told = "rank 2 on " + host_name() + ": the disk is full";
      EXPECT_EQ(failed->message(), failed->is_of_others() ? told : "the disk is full") << way;
      comm.forget_failed_meeting();
      comm.barrier();
    }
  });
}

TEST(Meetings, tell_of_a_failure_before_any_collective_call) {
  for (std::size_t at = 0; at <= calls().size(); ++at) {
    for (int failing = 0; failing < ranks; ++failing) {
      run_as_threads(ranks, [&](const Comm& comm) {
        const auto failed = attempt_to([&] {
          together(comm, [&] {
            for (std::size_t i = 0; i < calls().size(); ++i) {
              if (i == at && comm.rank() == failing) throw std::bad_alloc();
              calls()[i](comm);
            }
            if (at == calls().size() && comm.rank() == failing) throw std::bad_alloc();
          });
        });
        ASSERT_TRUE(failed) << "before call " << at << ", rank " << comm.rank();
        EXPECT_EQ(failed->code(), Errc::enomem);
        EXPECT_EQ(failed->message() == "out of memory", comm.rank() == failing);
        go_on(comm);
      });
    }
  }
}

TEST(Meetings, give_the_worst_code_where_several_ranks_fail) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto failed = attempt_together(comm, [&] {
      if (comm.rank() == 1) throw Error(Errc::enotvar, "mine");
      if (comm.rank() == 2) throw Error(Errc::enomem, "mine");
      go_on(comm);
    });
    ASSERT_TRUE(failed);
    const bool own = comm.rank() == 1 || comm.rank() == 2;
    EXPECT_EQ(failed->message() == "mine", own);
    EXPECT_EQ(failed->code(), comm.rank() == 1 || to_int(Errc::enotvar) < to_int(Errc::enomem)
                                  ? Errc::enotvar
                                  : Errc::enomem);
    go_on(comm);
  });
}

// A text for a reduction that never came says nothing about a later error.
TEST(Meetings, have_the_code_of_the_error_that_a_rank_brings_whatever_was_to_be_told) {
  run_as_threads(ranks, [&](const Comm& comm) {
    if (comm.rank() == 1) tell_at_meeting(comm, Error(Errc::einval, "of before"));
    const auto failed =
        attempt_to([&] { comm.meet({}, Reduce::min, comm.rank() == 1 ? Errc::ewrite : Errc::ok); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::ewrite);
    EXPECT_EQ(failed->message().find("of before"), std::string::npos) << failed->message();
    comm.forget_failed_meeting();
    go_on(comm);
  });
}

// The failing rank has not come to the inner part, and is not reported twice.
TEST(Meetings, tell_once_through_parts_within_parts) {
  for (int failing = 0; failing < ranks; ++failing) {
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto failed = attempt_together(comm, [&] {
        comm.barrier();
        if (comm.rank() == failing) throw std::bad_alloc();
        together(comm, [&] { together(comm, [&] { comm.all_reduce(1, Reduce::sum); }); });
      });
      EXPECT_TRUE(failed);
      go_on(comm);
    });
  }
}

// The ranks have dealt with the first error. Nobody has heard of the second one.
TEST(Meetings, tell_of_an_error_that_follows_one_after_which_ranks_went_on) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto failed = attempt_together(comm, [&] {
      const auto first = attempt_and_go_on(comm, [&] {
        if (comm.rank() == 1) throw Error(Errc::ewrite, "the first");
        comm.barrier();
      });
      EXPECT_TRUE(first);
      if (comm.rank() == 2) throw std::bad_alloc();
      comm.barrier();
    });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::enomem);
    go_on(comm);
  });
}

TEST(Meetings, leave_alone_what_is_one_ranks_own_matter) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto failed = attempt_together(comm, [&] {
      comm.barrier();
      if (comm.rank() == 2) throw Error(Errc::enotvar, "mine").as_own_matter();
    });
    EXPECT_EQ(failed.has_value(), comm.rank() == 2);
    go_on(comm);
  });
}

TEST(Meetings, find_ranks_in_different_calls) {
  std::atomic<int> found = 0;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto failed = attempt_to([&] {
      if (comm.rank() == 3) {
        comm.all_reduce(1, Reduce::max);
      } else {
        comm.barrier();
      }
    });
    found += failed && failed->code() == Errc::emultidefine;
    go_on(comm);
  });
  EXPECT_EQ(found, ranks);
}

// What a rank must do before it reduces is done before each reduction. Its failure is reported to
// all.
TEST(Meetings, what_comes_before_meetings_is_done_and_its_failure_told) {
  run_as_threads(ranks, [](const Comm& comm) {
    int done = 0;
    bool fails = false;
    comm.before_meetings([&] {
      ++done;
      if (std::exchange(fails, false)) throw Error(Errc::ewrite, "the server is gone");
    });
    for (const auto& call : calls()) {
      const int before = done;
      call(comm);
      EXPECT_GT(done, before);
      fails = comm.rank() == 2;
      const auto failed = attempt_to([&] { together(comm, [&] { call(comm); }); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::ewrite);
      EXPECT_EQ(failed->message() == "the server is gone", comm.rank() == 2);
    }
    // A rank that has failed already reports that error, and still runs the hook.
    done = 0;
    fails = comm.rank() == 2;
    const auto failed = attempt_to([&] { comm.meet(comm.rank() == 2 ? Errc::enotvar : Errc::ok); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::enotvar);
    EXPECT_EQ(done, 1);
    comm.before_meetings({});
    done = 0;
    comm.barrier();
    EXPECT_EQ(done, 0);
  });
}

}  // namespace agree_ranks_test
}  // namespace forebay
