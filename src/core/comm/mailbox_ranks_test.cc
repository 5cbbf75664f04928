#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "comm/mailbox.h"
#include "comm/thread_ranks.h"

namespace forebay {
namespace mailbox_ranks_test {

// There are many times more letters than places for them.
constexpr int ranks = 5, rounds = 6, tags = 14;
constexpr Rank late = 0, empty = ranks - 1;
constexpr Count limit = 4000, largest = 1700;

struct Sent {
  Rank to;
  int tag;
  std::size_t bytes;
};

/// Returns what a rank sends. All know it, so that each can check what comes.
std::vector<Sent> sent_by(int round, Rank from) {
  std::vector<Sent> all;
  for (int tag = 0; tag < tags; ++tag) {
    for (Rank to = 0; to < ranks; ++to) {
      const int drawn = (round * 31 + from * 7 + to * 13 + tag * 5) % 6;
      if (from == empty || to == empty || to == from || drawn == 0) continue;
      all.push_back({to, tag, drawn == 1 ? 24 : static_cast<std::size_t>(drawn) * 340});
    }
  }
  return all;
}

RawBytes content(int round, Rank from, const Sent& s) {
  RawBytes made(s.bytes);
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] =
        static_cast<std::byte>(static_cast<int>(i) * 7 + round * 50 + from * 10 + s.to + s.tag * 3);
  return made;
}

void send(Mailbox& box, int round, Rank from, const Sent& s) {
  auto message = content(round, from, s);
  s.bytes <= Letter::few ? box.send_few(s.to, s.tag, message)
                         : box.send(s.to, s.tag, std::move(message));
}

/// Sends and receives until this rank has nothing left to do.
void exchange_letters(Mailbox& box, int round, Rank me) {
  const std::vector<Sent> mine = sent_by(round, me);
  std::set<std::pair<Rank, int>> expected;
  for (Rank from = 0; from < ranks; ++from)
    for (const Sent& s : sent_by(round, from))
      if (s.to == me) expected.insert({from, s.tag});
  for (std::size_t sent = 0; sent < mine.size() || !expected.empty() || !box.is_empty();) {
    box.look();
    while (sent < mine.size() && box.has_room()) send(box, round, me, mine[sent++]);
    for (int tag = 0; tag < tags; ++tag) {
      box.fetch(tag);
      while (box.take(tag, [&](Rank from, std::span<const std::byte> bytes) {
        EXPECT_EQ(expected.erase({from, tag}), 1U) << round << ": from " << from;
        for (const Sent& s : sent_by(round, from)) {
          if (s.to != me || s.tag != tag) continue;
          const auto wanted = content(round, from, s);
          EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()));
        }
      })) {
      }
    }
    std::this_thread::yield();
  }
}

TEST(Mailbox, every_letter_comes_once_and_as_it_was_sent) {
  run_as_threads(ranks, [](const Comm& comm) {
    Mailbox box(comm, limit, largest);
    for (int round = 0; round < rounds; ++round) {
      if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      exchange_letters(box, round, comm.rank());
      comm.meet();  // tags begin anew
    }
  });
}

TEST(Mailbox, nobody_runs_ahead_of_a_receiver_that_does_not_look) {
  run_as_threads(2, [](const Comm& comm) {
    Mailbox box(comm, limit, largest);
    for (int round = 0; round < rounds; ++round) {
      const std::size_t bytes = round % 2 == 0 ? 24 : 1000;
      std::int64_t letters = 0;
      if (comm.is_root()) {
        for (; box.has_room(); ++letters) send(box, round, 0, {1, 0, bytes});
        EXPECT_EQ(letters, round % 2 == 0 ? std::int64_t{Mailbox::letters} : limit / 1000);
        box.look();
        EXPECT_FALSE(box.has_room());
      }
      comm.broadcast(&letters, sizeof letters);
      if (comm.is_root()) {
        while (!box.is_empty()) box.look();
        EXPECT_TRUE(box.has_room());
      }
      for (std::int64_t got = 0; !comm.is_root() && got < letters;) {
        box.look();
        std::size_t coming = 0;
        while (box.fetch(0)) ++coming;
        EXPECT_EQ(coming, std::min<std::size_t>(static_cast<std::size_t>(letters - got),
                                                Mailbox::arrivals));
        box.look();
        while (box.take(0, [](Rank, std::span<const std::byte>) {})) ++got;
      }
      comm.meet();
    }
  });
}

// Each of two open files has a communicator of its own.
TEST(Mailbox, a_letter_with_another_tag_or_of_another_file_stays) {
  run_as_threads(2, [](const Comm& comm) {
    const Comm other = comm.split_node(0);
    Mailbox box(comm, limit, largest), other_box(other, limit, largest);
    for (int round = 0; round < rounds; ++round) {
      if (comm.is_root()) send(box, round, 0, {1, 3, 500});
      comm.meet();
      if (!comm.is_root()) {
        const auto use = [](Rank, std::span<const std::byte> bytes) {
          EXPECT_EQ(bytes.size(), 500U);
        };
        other_box.look();
        box.look();
        EXPECT_FALSE(other_box.fetch(3));
        EXPECT_FALSE(box.fetch(4));
        EXPECT_TRUE(box.fetch(3));
        box.look();
        EXPECT_FALSE(box.take(4, use));
        EXPECT_TRUE(box.take(3, use));
        EXPECT_FALSE(box.take(3, use));
      }
      while (!box.is_empty()) box.look();
      comm.meet();
    }
  });
}

}  // namespace mailbox_ranks_test
}  // namespace forebay
