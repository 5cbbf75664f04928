#include "hdf5/log/dealt_index.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/number_bytes.h"
#include "comm/message_bytes.h"
#include "comm/questions.h"

namespace forebay::logged {
namespace {

enum class Answer : std::uint8_t { here, later, failed };

class DealtIndex {
 public:
  DealtIndex(const Comm& comm, LogReader& reader, Count memory)
      : comm_(comm), reader_(reader), memory_(memory) {}

  std::vector<std::vector<NumberedEntry>> find(std::span<const WantedEntries> wanted) {
    std::optional<Error> failed = attempt_to([&] {
      for (const WantedEntries& one : wanted) begin(one);
    });
    bool more = true;
    while (more) {
      round(failed);
      const bool left = std::any_of(jobs_.begin(), jobs_.end(),
                                    [](const Job& job) { return !job.pages.empty(); });
      more = comm_.all_reduce(!failed && left ? 1 : 0, Reduce::max) != 0;
    }
    if (failed) throw *failed;
    std::vector<std::vector<NumberedEntry>> found;
    for (Job& job : jobs_) {
      if (job.head) complete(*job.head, job.found);
      found.push_back(std::move(job.found));
    }
    return found;
  }

 private:
  struct Job {
    std::uint64_t dataset;
    std::shared_ptr<const ListHead> head;  // null: the index has nothing
    std::vector<Count> box;
    std::vector<std::uint32_t> pages;  // that are not known yet
    std::vector<NumberedEntry> found;
  };
  /// Pages of one job that one keeper is asked for.
  struct Asked {
    std::size_t job;
    std::vector<std::uint32_t> pages;
  };

  void begin(const WantedEntries& wanted) {
    Job& job = jobs_.emplace_back(
        Job{wanted.dataset, reader_.head(wanted.dataset, wanted.ndims), {}, {}, {}});
    if (!job.head || job.head->writes == 0) return;
    job.box = wanted_box(*job.head, wanted.bounds);
    job.pages = pages_meeting(*job.head, job.box.data());
  }

  void round(std::optional<Error>& failed) {
    asked_.clear();
    answered_ = 0;
    ask_ranks(
        comm_, failed, [&] { return questions(); },
        [&](const Question& question, Message& answer) { tell(question.bytes, answer.bytes); },
        [&](Rank from, std::span<const std::byte> bytes) { hear(asked_[from], bytes); });
  }

  /// Asks each keeper for at least one page, and for as many as its answers have room.
  std::vector<Message> questions() {
    std::map<Rank, Count> bytes;  // of the pages that a keeper is asked for
    const Count room = memory_ / 8 / comm_.size();
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      for (const std::uint32_t page : jobs_[j].pages) {
        const Rank keeper = keeper_of(jobs_[j].dataset, page, comm_.size());
        Count& its = bytes[keeper];
        const Count more = jobs_[j].head->page_bytes(page);
        if (its > 0 && its + more > room) continue;
        its += more;
        auto& list = asked_[keeper];
        if (list.empty() || list.back().job != j) list.push_back({j, {}});
        list.back().pages.push_back(page);
      }
    std::vector<Message> messages;
    for (const auto& [keeper, list] : asked_) {
      Message& message = messages.emplace_back(Message{keeper, {}});
      for (const Asked& asked : list) {
        put(message.bytes, jobs_[asked.job].dataset);
        put_list(message.bytes, std::span<const Count>(jobs_[asked.job].box));
        put_list(message.bytes, std::span<const std::uint32_t>(asked.pages));
      }
    }
    return messages;
  }

  void tell(std::span<const std::byte> question, std::vector<std::byte>& to) {
    while (!question.empty()) {
      const auto dataset = take<std::uint64_t>(question);
      const auto box = take_list<Count>(question);
      for (const auto page : take_list<std::uint32_t>(question)) {
        // One page is answered in any case, so that each round makes progress.
        if (answered_ > memory_ / 8) {
          put(to, Answer::later);
          continue;
        }
        const std::size_t before = to.size();
        const auto failed = attempt_to([&] { tell_page(dataset, page, box, to); });
        if (failed) {
          to.resize(before);
          put(to, Answer::failed);
          put_error(to, *failed);
        }
        answered_ += static_cast<Count>(to.size() - before);
      }
    }
  }

  void tell_page(std::uint64_t dataset, std::uint32_t page, std::span<const Count> box,
                 std::vector<std::byte>& to) {
    // Kept for this look-up, as jobs keep theirs: it is asked for each page.
    auto& head = heads_[dataset];
    if (!head) head = reader_.pages().head(dataset);
    if (!head || page >= head->hashes.size() || box.size() != head->box_numbers())
      throw Error(Errc::einternal, "ranks have different indexes of a log");
    put(to, Answer::here);
    const std::size_t at = to.size();
    std::uint32_t records = 0;
    put(to, records);
    find_in_page(*head, reader_.pages().page(dataset, *head, page), box.data(),
                 [&](std::span<const std::byte> record) {
                   to.insert(to.end(), record.begin(), record.end());
                   ++records;
                 });
    std::memcpy(&to[at], &records, sizeof records);
  }

  void hear(std::span<const Asked> list, std::span<const std::byte> bytes) {
    for (const Asked& asked : list) {
      Job& job = jobs_[asked.job];
      std::vector<std::uint32_t> known;  // ascends, as job.pages does
      for (const std::uint32_t page : asked.pages) {
        const auto answer = take<Answer>(bytes);
        if (answer == Answer::later) continue;
        if (answer == Answer::failed) throw take_error(bytes);
        for (auto n = take<std::uint32_t>(bytes); n > 0; --n) {
          const std::size_t size = job.head->record_bytes();
          job.found.push_back(parse_record(*job.head, bytes.first(size)));
          bytes = bytes.subspan(size);
        }
        known.push_back(page);
      }
      std::erase_if(job.pages, [&](std::uint32_t page) {
        return std::binary_search(known.begin(), known.end(), page);
      });
    }
  }

  const Comm& comm_;
  LogReader& reader_;
  Count memory_;
  std::vector<Job> jobs_;
  std::map<std::uint64_t, std::shared_ptr<const ListHead>> heads_;  // of the pages that it keeps
  std::map<Rank, std::vector<Asked>> asked_;                        // in this round
  Count answered_ = 0;                                              // bytes, in this round
};

}  // namespace

std::vector<std::vector<NumberedEntry>> find_together(const Comm& comm, LogReader& reader,
                                                      std::span<const WantedEntries> wanted,
                                                      Count memory) {
  return DealtIndex(comm, reader, memory).find(wanted);
}

}  // namespace forebay::logged
