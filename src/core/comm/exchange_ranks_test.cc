#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "base/error.h"
#include "comm/exchange.h"
#include "comm/thread_ranks.h"

namespace forebay {
namespace exchange_ranks_test {

constexpr int ranks = 5, rounds = 12;
constexpr Rank late = 0, empty = ranks - 1;

/// Returns the bytes that `from` sends to `to`, or nothing. Both ranks know it and can check it.
std::optional<std::size_t> size_of_message(int round, Rank from, Rank to) {
  if (from == empty) return std::nullopt;
  const int drawn = (round * 31 + from * 7 + to * 13) % 6;
  if (drawn < 2) return std::nullopt;
  return static_cast<std::size_t>(drawn - 2) * 1700;  // some are empty
}

std::vector<std::byte> message(int round, Rank from, Rank to, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>(static_cast<int>(i) * 7 + round * 50 + from * 10 + to);
  return made;
}

std::vector<Message> outgoing_of(int round, Rank from) {
  std::vector<Message> all;
  for (Rank to = 0; to < ranks; ++to)
    if (const auto bytes = size_of_message(round, from, to))
      all.push_back({to, message(round, from, to, *bytes)});
  return all;
}

void come(const Comm& comm) {
  if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Exchange, every_message_comes_once_and_as_it_was_sent) {
  run_as_threads(ranks, [](const Comm& comm) {
    for (int round = 0; round < rounds; ++round) {
      come(comm);
      std::map<Rank, std::vector<std::byte>> got;
      sparse_exchange(comm, outgoing_of(round, comm.rank()),
                      [&](Rank from, std::span<const std::byte> bytes) {
                        EXPECT_TRUE(got.try_emplace(from, bytes.begin(), bytes.end()).second);
                      });
      for (Rank from = 0; from < ranks; ++from) {
        const auto bytes = size_of_message(round, from, comm.rank());
        EXPECT_EQ(got.count(from), bytes ? 1U : 0U) << round << ": from " << from;
        if (bytes) EXPECT_EQ(got[from], message(round, from, comm.rank(), *bytes));
      }
    }
  });
}

TEST(Exchange, nobody_waits_for_a_rank_that_cannot_take_its_messages) {
  run_as_threads(ranks, [](const Comm& comm) {
    for (int round = 0; round < rounds; ++round) {
      come(comm);
      int got = 0, wanted = 0;
      for (Rank from = 0; from < ranks; ++from)
        wanted += size_of_message(round, from, comm.rank()).has_value();
      const bool fails = comm.rank() == round % ranks;
      const auto exchange = [&] {
        sparse_exchange(comm, outgoing_of(round, comm.rank()),
                        [&](Rank, std::span<const std::byte>) {
                          if (fails) throw Error(Errc::enomem);
                          ++got;
                        });
      };
      if (fails && wanted > 0) {
        EXPECT_THROW(exchange(), Error);
      } else {
        exchange();
        EXPECT_EQ(got, wanted);
      }
    }
  });
}

}  // namespace exchange_ranks_test
}  // namespace forebay
