// Bundles: several files are written together, by groups of ranks (bundles/plan/bundle_plan.h).
//
// The collective writes of members are copied and wait; so do the definitions of a new member, and
// its close. Writing the bundle is collective. It writes all that waits in one operation: one
// agreement with the sizes of all files, and one exchange, with the windows of all files in one
// sequence (plan/bundle_windows.h). The group of a file writes its windows. Header, number of
// records and size are work for one rank: the first rank of the file's group does it for all its
// files at once, after all values. Until then a new file has a length of 0 or begins with zeros,
// and an opened one shows its old state.
//
// Chunked members are one operation of their layout (layout/joint_layout.h). All other members
// (another layout or transport, a file that failed) are written one file after the other, as
// without a bundle. So nothing is lost by trying, and each file has its own errors.
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

#include "base/block_pool.h"
#include "base/error.h"
#include "base/report.h"
#include "bundles/isolated_write.h"
#include "bundles/plan/bundle_plan.h"
#include "comm/comm.h"
#include "dataset/stage_member.h"
#include "storage/file_identity.h"
#include "storage/write_queue.h"

namespace forebay {

struct BundleOptions {
  int files = 0;                       ///< so many closed members trigger a write; 0: no number
  std::optional<BundleScheme> scheme;  ///< none: chosen
  Count memory = 64 << 20;             ///< bytes that may wait on a rank
  Count buffer_limit = 64 << 20;       ///< bytes under way on a rank
  int ranks_per_node = 0;              ///< as in Comm::split_node
  Count window_size = 0;               ///< 0: chosen
  bool async = false;                  ///< a thread writes instead of the close
};

/// Returns what the keys `bundle_…` of a method say.
BundleOptions bundle_options(const Method& method);

/// The device and the inode of a file, which identify it under any name. Zeros: none.
using FileNumber = std::pair<std::uint64_t, std::uint64_t>;
FileNumber file_number(const std::string& path);

/// Times of a file since the operation began: values were written from `begin` to `end`, and were
/// visible at `visible`.
struct FileSeconds {
  double begin = 0, end = 0, visible = 0;
};

/// Describes how a bundle was written last.
struct BundleRecord {
  std::vector<std::string> files;    ///< written in one operation
  std::vector<std::size_t> numbers;  ///< the numbers of `files` in the plan
  std::vector<std::string> encoded;  ///< chunked: in one operation of their layout
  std::vector<std::string> apart;    ///< written one after another
  BundlePlan plan;                   ///< of all that were to be written jointly
  std::vector<FileSeconds> times;    ///< of the same files, once written
  std::string why;                   ///< reason for the scheme
  double predicted = 0, seconds = 0;
  /// Maximum over ranks, and sum, of the joint operation's counters; if a report is wanted.
  std::vector<std::pair<std::string, std::array<std::int64_t, 2>>> counters;
  /// Of a rank, from other nodes (ips: from other ranks); if a report is wanted.
  std::int64_t most_messages_in = 0;
  /// Of the same files, for ips, if a report is wanted: of the rank that each comes to most.
  std::vector<IsolatedTraffic> traffic;
  std::string json(const std::string& bundle) const;
};

class JointWrite;
struct JointOutcome;

class Bundle final : public SharedStage {
 public:
  /// Collective. `id` differs from those of all other bundles, and is equal on all ranks.
  Bundle(Comm comm, std::string name, std::int64_t id, const BundleOptions& options);
  ~Bundle() override;

  const Comm& comm() const { return comm_; }
  const std::string& name() const { return name_; }
  std::int64_t id() const { return id_; }

  /// Collective. Adds a dataset whose ranks are the bundle's, in the same order. Returns false if
  /// its writes cannot wait. Errc::einval: it is a member of this bundle or another. `file` is its
  /// number, on rank 0 or on all ranks.
  bool add(Dataset& dataset, FileNumber file = {});
  /// What a rank prepares for adding a file.
  struct Joining {
    std::shared_ptr<const std::string> path;  // null: its writes cannot wait
    std::string report;
    StageMember::Joining file;
  };
  /// Local. Throws the errors of add().
  Joining prepare(Dataset& dataset);
  /// Adds a dataset when all ranks are prepared; `file.weak` is the largest of all ranks. Usually
  /// needs no collective step.
  bool add(Dataset& dataset, FileNumber file, Joining joining);
  /// Local. Removes a member that was not closed here.
  void remove(Dataset& dataset);
  /// Collective. Closes a member, which then waits. Writes the bundle once as many are closed as
  /// the options say, or as many as may keep descriptors. Throws this file's error, or otherwise
  /// those of completed files, with their names.
  void close(std::unique_ptr<Dataset> dataset);
  /// Collective. Closes a member, which waits in any case. Throws only its own errors.
  void close_later(std::unique_ptr<Dataset> dataset);

  /// Collective. Writes all that waits to the files, and completes closed members. Their errors are
  /// reported by tell() and take_outcomes().
  void complete() { complete(false); }
  void write() override { complete(); }
  /// Local; the same on all ranks. Returns whether a thread is writing values.
  bool is_under_way() const { return under_way_ != nullptr; }
  Count room() const override;
  std::unique_ptr<std::byte[]> take_memory(Count bytes) override;
  void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept override;

  /// Throws the first error of members that were completed since the last call, with the file's
  /// name and the names of others. The code is the same on all ranks.
  void tell();
  /// Returns, for all files completed since the last call, the path and 0 or a code.
  std::vector<std::pair<std::string, int>> take_outcomes();

  enum class Waits { no, dropped, yes };
  /// Local. Returns whether a member of that name waits, closed or with something to be written.
  Waits waits(const std::string& path) { return waits(known_as(path).waiting); }
  /// Local. Looks a member up by its number, which is the same on all ranks; 0: none.
  Waits waits(std::int64_t number) const;
  /// Numbers of the members with a name; 0: none. Without `look` only names are compared.
  struct Known {
    std::int64_t waiting = 0;  // or dropped, if none waits
    std::int64_t open = 0;     // an open member, waiting or not
  };
  Known known_as(const std::string& path, bool look = true);
  /// Local, the same on all ranks. Returns whether that member's writes wait or are under way.
  bool is_behind(std::int64_t number) const;
  /// Local. Returns the numbers of the closed members that are lost if that name is removed.
  std::vector<std::int64_t> closed_as(const std::string& path) const;
  /// Local. Marks a file as no longer wanted: if it is closed and waits, nothing is written to it.
  /// One rank may call this, or all.
  void drop(std::int64_t number);
  /// Local. Waits until files that this rank's threads make exist, or have failed.
  void wait_until_made();
  bool is_empty() const { return open_.empty() && closed_.empty(); }
  /// Local. Returns whether the bundle may go: it has no file, no error, and counts no closes.
  bool is_idle() const {
    return is_empty() && lost_.empty() && (closes_ == 0 || options_.files == 0);
  }
  /// Local. Returns the open members in the order in which they were added.
  std::vector<Dataset*> open_members() const;
  /// Local. Returns whether creating a file of that name would empty an open member. `look`:
  /// compares the file, too, whatever its name.
  bool would_lose(const std::string& name, bool look);
  /// Returns the last plan, its predicted time and its actual time as JSON.
  std::string plan_json() const { return last_.json(name_); }

 private:
  struct Member {
    Dataset* dataset;
    StageMember* writes;                      // its own
    std::shared_ptr<const std::string> path;  // the path when it was added
    FileNumber file;
    std::int64_t number;  // the same on all ranks, from 1 on

    bool is(const std::string& name, FileNumber other) const;
    void wait_until_made();
  };
  struct Closed {
    std::unique_ptr<Dataset> dataset;
    Member member;
    bool dropped = false;
    bool under_way = false;  // a thread writes it; or it waits, while others end
    bool written = false;    // with the others, and not changed since
    std::optional<Error> failed = std::nullopt;
  };

  FileNumber number_of(const std::string& name, bool look);
  void complete(bool later);
  void finish_making();
  void hear(std::int64_t worst, std::optional<Error>& mine) const;
  void settle();
  JointOutcome finish(JointWrite& write);
  void leave_under_way(std::unique_ptr<JointWrite> write);
  Member take_open(const Dataset* dataset);
  std::vector<StageMember*> waiting() const;
  void write_by_layout();
  void write_jointly(std::span<StageMember* const> files, bool later);
  void note_time(double seconds, std::span<const std::int64_t> bytes);
  void end_closed();
  void print_record();
  void add_why(const std::string& text);
  void note_why(const Error& chunks_apart);
  void note_apart(const Error& why);
  void note_lost(const Member& member, const Error& error);
  void follow_renamed();
  BundlePlan choose(std::span<const std::int64_t> bytes, int ranks_per_node, std::string& why);

  Comm comm_;
  std::string name_;
  std::int64_t id_;
  BundleOptions options_;
  std::vector<Member> open_;
  std::vector<Closed> closed_;
  using Path = std::shared_ptr<const std::string>;
  std::vector<std::pair<Path, Error>> lost_;
  std::vector<std::pair<Path, int>> outcomes_;  // has room for each member's
  std::int64_t added_ = 0;
  int closes_ = 0;         // since enough closed members last made it write
  std::string report_to_;  // the first member's Method::report
  Report report_;
  std::int64_t messages_in_ = 0;       // of the last operation
  std::vector<std::int64_t> traffic_;  // of the last operation, four numbers for each file
  BundleRecord last_;
  std::int64_t latency_;  // least write latency of all files, see ByteFile::least_latency()
  std::map<BundleScheme, double> measured_;  // least seconds per byte so far
  bool is_first_ = true;                     // the first write sets up memory and measures calls
  bool busy_ = false, overlapping_ = false;
  std::vector<std::int64_t> codes_;  // has room for all closed members
  BlockPool blocks_;                 // memory for waiting writes
  std::unique_ptr<WriteQueue> queue_;
  std::unique_ptr<JointWrite> under_way_;
};

}  // namespace forebay
