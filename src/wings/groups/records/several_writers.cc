// Writes the steps of a group to several files, each by a method of its own.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "groups/records/group_writer.h"

namespace forebay {
namespace {

class SeveralWriters final : public GroupWriter {
 public:
  SeveralWriters(const GroupDefinition& group, std::vector<NamedWriter> files)
      : group_(group), files_(std::move(files)) {}

  void add(std::size_t variable, bp::Shape at, std::span<const std::byte> data,
           bool lent) override {
    on_each([&](GroupWriter& file) {
      // After a step that one file lacks, they have had different numbers of steps.
      if (!group_.variables[variable].once || file.steps() == 0) file.add(variable, at, data, lent);
    });
  }
  void make_room(std::size_t bytes) override {
    on_each([&](GroupWriter& file) { file.make_room(bytes); });
  }
  // Each call throws on all ranks or on none, so all ranks go through all files.
  void end_step() override {
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
};

}  // namespace

std::unique_ptr<GroupWriter> write_to_all(const GroupDefinition& group,
                                          std::vector<NamedWriter> files) {
  return std::make_unique<SeveralWriters>(group, std::move(files));
}

}  // namespace forebay
