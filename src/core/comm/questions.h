// Questions of ranks to each other: each rank asks those that keep what it looks for, and answers
// those that ask it (the protocol of indexes that are distributed over the ranks: Hou 2023, §7.3).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/comm.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"

namespace forebay {

struct Question {
  Rank from;
  std::vector<std::byte> bytes;
};

inline void put_error(std::vector<std::byte>& to, const Error& error) {
  put(to, error.code());
  put_list(to, std::span<const char>(error.message()));
  put_list(to, std::span<const char>(error.advice()));
}

inline Error take_error(std::span<const std::byte>& bytes) {
  const auto code = take<Errc>(bytes);
  const auto message = take_list<char>(bytes), advice = take_list<char>(bytes);
  return {code, std::string(message.begin(), message.end()),
          std::string(advice.begin(), advice.end())};
}

/// Collective. Sends the questions that make() returns, at most one to each rank. tell(question,
/// answer) answers those that arrive, and hear(from, bytes) takes the answers. A rank that failed
/// asks nothing, but still answers. Errors of this rank, and that of a rank which had no memory to
/// answer, are kept in `failed`.
///
/// Ranks may be one exchange apart afterwards: a caller has a collective step before the next call.
template <typename Make, typename Tell, typename Hear>
void ask_ranks(const Comm& comm, std::optional<Error>& failed, Make&& make, Tell&& tell,
               Hear&& hear) {
  std::vector<Message> questions, answers;
  if (!failed) attempt_into(failed, [&] { questions = make(); });
  if (failed) questions.clear();
  std::vector<Question> come;
  attempt_into(failed, [&] {
    sparse_exchange(comm, questions, [&](Rank from, std::span<const std::byte> bytes) {
      come.push_back({from, {bytes.begin(), bytes.end()}});
    });
  });
  for (const Question& question : come) {
    attempt_into(failed, [&] {
      Message answer{question.from, {}};
      tell(question, answer);
      answers.push_back(std::move(answer));
    });
  }
  std::size_t heard = 0;
  attempt_into(failed, [&] {
    sparse_exchange(comm, answers, [&](Rank from, std::span<const std::byte> bytes) {
      ++heard;
      if (!failed) hear(from, bytes);
    });
  });
  if (!failed && heard < questions.size())
    failed = Error(Errc::enomem, "another rank had no memory to look into its index",
                   "give it more, or lower buffer_limit and log_memory")
                 .as_of_others();
}

}  // namespace forebay
