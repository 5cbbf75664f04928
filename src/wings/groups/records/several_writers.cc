// Writes the steps of a group to several files, each by a method of its own.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "groups/records/group_writer.h"

namespace forebay {
namespace {

class SeveralWriters final : public GroupWriter {
 public:
  SeveralWriters(const GroupDefinition& group, std::vector<NamedWriter> files)
      : group_(group), files_(std::move(files)) {}

  void start(bool append) override {
    std::size_t started = 0;
    const auto failed = attempt_to([&] {
      for (NamedWriter& file : files_) {
        file.writer->start(append);
        ++started;
      }
      if (append) check_steps();
    });
    if (!failed) return;
    for (std::size_t i = 0; i < started; ++i) attempt_to([&] { files_[i].writer->close(); });
    throw *failed;
  }

  void add(std::size_t variable, bp::Shape at, std::span<const std::byte> data,
           bool lent) override {
    const GroupVariable& v = group_.variables[variable];
    // The histogram of a block goes to the files that have the block.
    std::vector<bool> takes(files_.size(), true), took(files_.size(), false);
    if (v.is_histogram) takes = first_without_histogram(variable - 1);
    std::size_t now = 0;
    const auto failed = attempt_to([&] {
      on_each([&](GroupWriter& file) {
        const std::size_t i = now++;
        // After a step that one file lacks, they have had different numbers of steps.
        if (!takes[i] || (v.once && file.steps() > 0)) return;
        file.add(variable, at, data, lent);
        took[i] = true;
      });
    });
    if (v.is_histogram) {
      auto& waiting = without_histogram_[variable - 1];
      for (std::size_t i = 0; i < took.size(); ++i)
        if (took[i]) waiting.front()[i] = false;
      if (!failed) waiting.pop_front();
    } else if (!failed || std::ranges::count(took, true) > 0) {
      ++adds_;
      if (v.histogram && !data.empty()) without_histogram_[variable].push_back(std::move(took));
    }
    if (failed) throw *failed;
  }
  std::uint64_t adds() const override { return adds_; }
  void make_room(std::size_t bytes) override {
    on_each([&](GroupWriter& file) { file.make_room(bytes); });
  }
  // Each call throws on all ranks or on none, so all ranks go through all files.
  void end_step() override {
    without_histogram_.clear();
    on_each([](GroupWriter& file) { file.end_step(); });
  }
  void sync() override {
    on_each([](GroupWriter& file) { file.sync(); });
  }
  void close() override {
    on_each([](GroupWriter& file) { file.close(); });
  }
  std::uint64_t steps() const override {
    std::uint64_t least = files_.front().writer->steps();
    for (const NamedWriter& file : files_) least = std::min(least, file.writer->steps());
    return least;
  }

 private:
  const std::vector<bool>& first_without_histogram(std::size_t variable) {
    return without_histogram_.at(variable).front();
  }

  /// Steps have the same numbers in all files.
  void check_steps() const {
    const NamedWriter& first = files_.front();
    for (const NamedWriter& file : files_)
      if (file.writer->steps() != first.writer->steps())
        throw Error(Errc::ebad_file,
                    file.path + " has " + std::to_string(file.writer->steps()) + " steps, and " +
                        first.path + " " + std::to_string(first.writer->steps()),
                    "make one of them again from the other (forebay convert), or write new files");
  }

  /// Calls f() for each file, whatever happens, and throws the first error, with the file's name.
  template <typename F>
  void on_each(F&& f) {
    std::optional<Error> failed;
    for (NamedWriter& file : files_)
      attempt_into(failed, [&] { naming(file.path, [&] { f(*file.writer); }); });
    if (failed) throw *failed;
  }

  const GroupDefinition& group_;
  std::vector<NamedWriter> files_;
  std::uint64_t adds_ = 0;
  // For each variable: which files took its blocks that lack their histograms, in order.
  std::map<std::size_t, std::deque<std::vector<bool>>> without_histogram_;
};

}  // namespace

std::unique_ptr<GroupWriter> write_to_all(const GroupDefinition& group,
                                          std::vector<NamedWriter> files) {
  return std::make_unique<SeveralWriters>(group, std::move(files));
}

}  // namespace forebay
