#include "hdf5/log/logged_survey.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"

namespace forebay {
namespace {

using logged::Entry;
using logged::Kind;
using logged::Section;

constexpr std::size_t survey_window_bytes = 4 << 20;
constexpr Count most_faults = 8;  // of one dataset, reported in words

/// Sums that are the same for lists of entries and for sections.
class Sums {
 public:
  explicit Sums(LogStatistics& sums) : sums_(sums) {}
  void add(const Entry& entry) {
    ++sums_.entries;
    if (entry.kind != Kind::write) return;
    sums_.data_bytes += entry.stored;
    sums_.subfiles = std::max<Count>(sums_.subfiles, entry.file);
  }
  void name(std::uint64_t dataset) { datasets_.insert(dataset); }
  void finish() { sums_.datasets = std::ssize(datasets_); }

 private:
  LogStatistics& sums_;
  std::set<std::uint64_t> datasets_;
};

class Checker {
 public:
  Checker(LoggedFile& file, const std::function<void(Count)>& progress)
      : reader_(file.reader()), progress_(progress), window_(survey_window_bytes) {}

  LogCheck run() {
    for (const auto& place : reader_.directory().places) check_list(place.dataset);
    for (std::size_t b = 0; b < reader_.blocks().size(); ++b) check_block(b);
    for (const auto& [dataset, faults] : faults_of_)
      if (faults > most_faults)
        check_.faults.push_back(
            {dataset, "and " + std::to_string(faults - most_faults) + " more like these"});
    return std::move(check_);
  }

 private:
  void note(std::uint64_t dataset, const std::string& problem) {
    if (++faults_of_[dataset] <= most_faults) check_.faults.push_back({dataset, problem});
  }

  void check_list(std::uint64_t dataset) {
    const auto failed = attempt_to([&] { reader_.from_index(dataset, 0); });
    if (failed)
      note(dataset, failed->message());
    else
      ++check_.lists;
  }

  /// Checks the sections one by one, so that those after a damaged one are checked too.
  void check_block(std::size_t block) {
    std::size_t sections = 0;
    const std::string name = " (metadata." + std::to_string(block);
    if (const auto failed = attempt_to([&] { sections = reader_.sections_of(block); })) {
      check_.faults.push_back({std::nullopt, failed->message() + name + ")"});
      return;
    }
    for (std::size_t n = 0; n < sections; ++n) {
      const auto failed = attempt_to([&] {
        reader_.for_each_section(block, block + 1, sections, n,
                                 [&](const Section& section) { check_section(section); });
      });
      if (failed)
        check_.faults.push_back(
            {std::nullopt, failed->message() + name + ", section " + std::to_string(n) + ")"});
    }
  }

  void check_section(const Section& section) {
    ++check_.sections;
    std::vector<std::optional<Error>> damaged(section.patterns.size());
    for (std::size_t p = 0; p < section.patterns.size(); ++p) {
      damaged[p] = attempt_to([&] { reader_.pattern(section.patterns[p]); });
      if (!damaged[p]) ++check_.patterns;
    }
    for (const Entry& entry : section.entries) {
      if (entry.kind != Kind::cleared && damaged[entry.pattern])
        note(entry.dataset, damaged[entry.pattern]->message());
      if (entry.kind == Kind::write) check_data(entry);
      ++check_.entries;
    }
  }

  void check_data(const Entry& entry) {
    const auto failed = attempt_to([&] {
      if (hash_of(entry) != entry.hash)
        throw Error(Errc::ebadlog, "the checksum of " + std::to_string(entry.stored) +
                                       " bytes of data does not hold, at byte " +
                                       std::to_string(entry.data) + " of " +
                                       reader_.file_of(entry).path() + ", written by rank " +
                                       std::to_string(entry.rank));
    });
    if (failed)
      note(entry.dataset, failed->message());
    else
      check_.bytes += entry.stored;
    told_ += entry.stored;
    if (progress_) progress_(told_);
  }

  std::uint64_t hash_of(const Entry& entry) {
    ByteFile& file = reader_.file_of(entry);
    Offset end = 0;
    if (entry.data < 0 || entry.stored < 0 || !add_fits(entry.data, entry.stored, end) ||
        end > file.size())
      throw Error(Errc::etrunc, file.path() + " ends before byte " + std::to_string(end) +
                                    " of its log, written by rank " + std::to_string(entry.rank));
    RunningHash hash;
    for (Offset at = entry.data; at < end;) {
      const auto n = std::min(window_.size(), static_cast<std::size_t>(end - at));
      const std::span part = std::span(window_).first(n);
      if (file.read_at(at, part) != n)
        throw Error(Errc::etrunc, file.path() + " ends within its log");
      hash.add(part);
      at += static_cast<Offset>(n);
    }
    return hash.value();
  }

  logged::LogReader& reader_;
  const std::function<void(Count)>& progress_;
  std::vector<std::byte> window_;
  std::map<std::uint64_t, Count> faults_of_;
  Count told_ = 0;
  LogCheck check_;
};

}  // namespace

LogStatistics log_statistics(LoggedFile& file) {
  logged::LogReader& reader = file.reader();
  const auto& directory = reader.directory();
  LogStatistics statistics;
  Sums sums(statistics);
  statistics.selections = directory.savings;
  for (const auto& place : directory.places) {
    sums.name(place.dataset);
    const auto list = reader.from_index(place.dataset, 0);
    for (const Entry& entry : list.list().entries) sums.add(entry);
  }
  reader.for_each_section(static_cast<std::size_t>(directory.blocks), reader.blocks().size(), 1, 0,
                          [&](const Section& section) {
                            statistics.selections += section.savings;
                            for (const Entry& entry : section.entries) {
                              sums.name(entry.dataset);
                              sums.add(entry);
                            }
                          });
  statistics.blocks = std::ssize(reader.blocks());
  statistics.indexed_blocks = static_cast<Count>(directory.blocks);
  for (const auto& block : reader.blocks()) statistics.block_bytes += block.bytes;
  sums.finish();
  return statistics;
}

LogCheck check_log(LoggedFile& file, const std::function<void(Count)>& progress) {
  return Checker(file, progress).run();
}

}  // namespace forebay
