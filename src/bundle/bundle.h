// Bundles: several files that are written together, by groups of ranks (plan/bundle.h).
//
// Members' collective writes wait, copied, and so do the definitions of a new member and its close:
// until the bundle is written, which is collective. Then everything that waits goes as one
// operation: one agreement with the sizes of all files, one exchange, with the windows of all files
// in one sequence (plan/bundle_windows.h), each written by the group of its file. What one rank
// does alone, header, number of records and size, the first rank of the file's group does, for all
// files at once, and behind all values: until then a new file has a length of 0 or begins with
// zeros, and an opened one tells of what it had.
//
// Members in chunks are one operation of their layout's (layout/joint_layout.h). What neither
// serves (another layout or transport, a file that failed) is written as if there were no bundle,
// one file after the other. So nothing is lost by trying, and errors are those of each file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/kept_blocks.h"
#include "base/report.h"
#include "comm/comm.h"
#include "dataset/dataset.h"
#include "plan/bundle.h"
#include "storage/write_queue.h"

namespace forebay {

struct BundleOptions {
  int files = 0;                       ///< written once so many members are closed; 0: as told
  std::optional<BundleScheme> scheme;  ///< none: chosen
  Count memory = 64 << 20;             ///< bytes a rank that may wait
  Count buffer_limit = 64 << 20;       ///< and under way
  int ranks_per_node = 0;              ///< as Comm::split_node has it
  Count window_size = 0;               ///< 0: chosen
  bool async = false;                  ///< a thread writes, where a close would
};

/// What keys `bundle_…` of a method say.
BundleOptions bundle_options(const Method& method);

FileNumber file_number(const std::string& path);

/// Of a file, since the operation began: values were written from `begin` to `end`; then they were
/// made visible.
struct FileSeconds {
  double begin = 0, end = 0, visible = 0;
};

/// How a bundle was written, last.
struct BundleRecord {
  std::vector<std::string> files;    ///< that were written in one operation
  std::vector<std::size_t> numbers;  ///< of those, in the plan
  std::vector<std::string> encoded;  ///< in one of their layout's: chunks
  std::vector<std::string> apart;    ///< and one after another
  BundlePlan plan;                   ///< of all that were to be
  std::vector<FileSeconds> times;    ///< of the same, once they are written
  std::string why;                   ///< that scheme
  double predicted = 0, seconds = 0;
  /// Of the one operation: the most of a rank's, and the sum; where a report is wanted.
  std::vector<std::pair<std::string, std::array<std::int64_t, 2>>> counters;
  std::int64_t most_messages_in = 0;  ///< of a rank, from other nodes; where a report is wanted
  std::string json(const std::string& bundle) const;
};

class JointWrite;
struct JointOutcome;

class Bundle final : public WritesTogether {
 public:
  /// Collective. `id` tells it from all others, and is equal on all ranks.
  Bundle(Comm comm, std::string name, std::int64_t id, const BundleOptions& options);
  ~Bundle() override;

  const Comm& comm() const { return comm_; }
  const std::string& name() const { return name_; }
  std::int64_t id() const { return id_; }

  /// Collective. The dataset's ranks are the bundle's, in their order. False: its writes cannot
  /// wait. Errc::einval if it is a member, of this bundle or another. `file`: its number, on rank 0
  /// or on all.
  bool add(Dataset& dataset, FileNumber file = {});
  /// What a rank needs for that.
  struct Joining {
    std::shared_ptr<const std::string> path;  // null: its writes cannot wait
    std::string report;
    Dataset::Joining file;
  };
  /// Local. As add() has it.
  Joining prepare(Dataset& dataset);
  /// The same where all ranks are prepared: `file.weak` is the largest of all ranks'. There is no
  /// meeting, as a rule.
  bool add(Dataset& dataset, FileNumber file, Joining joining);
  /// Local. It goes, without having been closed here.
  void remove(Dataset& dataset);
  /// Collective. Closes a member, which waits. Writes the bundle once there are as many as the
  /// options say, or as many as may keep descriptors. Errors are this file's, or else, with their
  /// names, of those that were completed.
  void close(std::unique_ptr<Dataset> dataset);
  /// Collective. The same, but that it waits in any case, and only its own errors are told.
  void close_later(std::unique_ptr<Dataset> dataset);

  /// Collective. Everything that waits goes to the files, and members that were closed are
  /// completed. Errors of those are told by what follows.
  void complete() { complete(false); }
  void write() override { complete(); }
  /// Local; the same on all ranks. Values are under way by a thread.
  bool is_under_way() const { return under_way_ != nullptr; }
  Count room() const override;
  std::unique_ptr<std::byte[]> take_memory(Count bytes) override;
  void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept override;

  /// Throws the first error of members that were completed since it was called last, with the
  /// file's name, and the names of others. The same code on all ranks.
  void tell();
  /// Of all that were completed since this was called last: 0 or a code, by path.
  std::vector<std::pair<std::string, int>> take_outcomes();

  enum class Waits { no, dropped, yes };
  /// Local. Whether a member of that name waits, closed or with something to be written.
  Waits waits(const std::string& path) { return waits(known_as(path).waiting); }
  /// Local. The same of a member's number, which all ranks have of it; 0: none.
  Waits waits(std::int64_t number) const;
  /// Members' numbers; 0: none. Without a `look` at the file by its name alone.
  struct Known {
    std::int64_t waiting = 0;  // or dropped, where none waits
    std::int64_t open = 0;     // whether something of it waits or not
  };
  Known known_as(const std::string& path, bool look = true);
  /// Local, the same on all ranks. Whether something of that member waits, or is under way.
  bool is_behind(std::int64_t number) const;
  /// Local. Numbers of closed members that go if that name is removed.
  std::vector<std::int64_t> closed_as(const std::string& path) const;
  /// Local. The file is not wanted any more: if it is closed and waits, nothing is written to it.
  /// One rank may say so, or all.
  void drop(std::int64_t number);
  /// Local. Files of members that this rank's threads make are there, or cannot be.
  void wait_until_made();
  bool is_empty() const { return open_.empty() && closed_.empty(); }
  /// Local. Nothing is lost if it goes: no file, no error, and no count of some of its files.
  bool is_idle() const {
    return is_empty() && lost_.empty() && (closes_ == 0 || options_.files == 0);
  }
  /// Local. In the order in which they were added.
  std::vector<Dataset*> open_members() const;
  /// Local. Whether making a file of that name anew would empty an open member. `look`: at the
  /// file, whatever its name.
  bool would_lose(const std::string& name, bool look);
  /// Of the last time, as JSON: the plan, what was predicted and what it took.
  std::string plan_json() const { return last_.json(name_); }

 private:
  struct Member {
    Dataset* dataset;
    std::shared_ptr<const std::string> path;  // under which it was added
    FileNumber file;
    std::int64_t number;  // the same on all ranks, from 1 on

    bool is(const std::string& name, FileNumber other) const;
    void wait_until_made();
  };
  struct Closed {
    std::unique_ptr<Dataset> dataset;
    Member member;
    bool dropped = false;
    bool under_way = false;  // or still waiting, where others end
    bool written = false;    // with the others, and nothing since
    std::optional<Error> failed = std::nullopt;
  };

  FileNumber number_of(const std::string& name, bool look);
  void complete(bool later);
  void finish_making();
  void settle();
  JointOutcome finish(JointWrite& write);
  void leave_under_way(std::unique_ptr<JointWrite> write);
  Member take_open(const Dataset* dataset);
  std::vector<Dataset*> waiting() const;
  void write_by_layout();
  void write_jointly(std::span<Dataset* const> files, bool later);
  void note_time(double seconds, std::span<const std::int64_t> bytes);
  void end_closed();
  void print_record();
  void add_why(const std::string& text);
  void note_why(const Error& chunks_apart);
  void note_apart(const Error& why);
  void note_lost(const Member& member, const Error& error);
  void follow_renamed();
  void expect_members();
  BundlePlan choose(std::span<const std::int64_t> bytes, int ranks_per_node, std::string& why);

  Comm comm_;
  std::string name_;
  std::int64_t id_;
  BundleOptions options_;
  std::vector<Member> open_;
  std::vector<Closed> closed_;
  using Path = std::shared_ptr<const std::string>;
  std::vector<std::pair<Path, Error>> lost_;
  std::vector<std::pair<Path, int>> outcomes_;  // there is room for that of each member
  std::int64_t added_ = 0;
  int closes_ = 0;         // since it was written because there were enough
  std::string report_to_;  // as Method::report has it; the first member's
  Report report_;
  std::int64_t messages_in_ = 0;  // the last time
  BundleRecord last_;
  std::int64_t latency_;  // of a write, as ByteFile::least_latency(), of all files so far
  std::map<BundleScheme, double> measured_;  // least seconds a byte, so far
  bool is_first_ = true;                     // sets up memory, and finds out how long calls take
  bool busy_ = false, overlapping_ = false;
  std::vector<std::int64_t> codes_;  // of closed members: there is room
  KeptBlocks blocks_;                // of what waited
  std::unique_ptr<WriteQueue> queue_;
  std::unique_ptr<JointWrite> under_way_;
};

}  // namespace forebay
