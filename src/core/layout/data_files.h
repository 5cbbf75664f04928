// Data files: numbered files with values of layouts, beside a classic file, either in the folder
// FILE.subfiles or in the directory that the file of definitions belongs to (storage/directory.h).
// Each begins with a front: the random id of the file that it belongs to, and its number. Hints
// determine which ranks write which of them, for all layouts alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_file.h"
#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "comm/topology.h"
#include "format/data_file_front.h"
#include "method/method.h"
#include "storage/file.h"
#include "storage/open_files.h"

namespace forebay::data_files {

std::string folder_of(const std::string& path);  ///< the folder of a file's data files
/// For readers of the files in that folder.
ClientCaches caches_to_read(const std::string& path);
std::string data_path(const std::string& path, std::uint32_t number);
/// The number in the name of a data file; nothing if the name has another form.
std::optional<std::uint32_t> number_of(std::string_view name);

/// Advice for a folder that belongs to another file.
constexpr const char* folder_advice =
    "the file was copied or moved without its data files: bring along the folder FILE.subfiles, or "
    "all that is in the directory";

/// Local. Errc::enotnc if the file has another front: it belongs to another file, or has another
/// number.
void check_front(ByteFile& file, const Front& expected);

/// Local. Makes sure that `file` is opened beside `main`, which may have been renamed meanwhile,
/// and that it passes `check`, if given.
void expect_beside(File& file, File& main, File::Check check = {});

/// Local. The present folder of a file that this process has open.
std::string folder_now(File& inside);
/// Local, on one rank. If `main` was renamed while it was open, also renames the folder beside it,
/// which contains `inside`. Costs one stat if nothing was renamed. Errc::eexist if another folder
/// has the new name.
void follow_rename(File& main, File& inside);

/// Local. Returns whether a data file may be removed with the file of this id: it has its front, or
/// is torn.
bool is_left_by(const std::string& path, std::optional<std::uint64_t> id);
/// Local. Removes these files from a folder, as far as possible, and the folder if it is then
/// empty. Returns whether all candidates could be examined. If not, the file that identifies their
/// owner must stay.
bool remove_left_by(const std::string& folder, std::optional<std::uint64_t> id) noexcept;

/// The ranks that write one data file.
struct Group {
  Comm ranks;
  std::vector<Rank> numbers;  ///< of its ranks, in the whole job
  std::uint32_t number = 0, groups = 1;
  const Topology* topology = nullptr;  ///< whose nodes are the groups; null: there is one group

  std::uint32_t of(Rank rank) const {
    return topology ? static_cast<std::uint32_t>(topology->node_of(rank)) : 0;
  }
};

/// Collective. The ranks of a node, or as many as the method asks for, or all ranks.
Group group_of(const Comm& comm, const Method& method);

/// Returns whether the method asks for several files, if nothing else makes a layout use them.
bool asks_for_several(const Method& method);

/// Collective. For files that are not written by groups: one rank writes each file, and receives
/// its data from all others (plan/file_aggregators.h). Returns the rank of each file. There are as
/// many files as there would be groups.
std::vector<Rank> writers_of(const Comm& comm, const Method& method);

/// Local, on a rank that may write the files. As File::leave() for data files that were opened for
/// reading.
void leave_data_files(const std::string& path, const std::set<std::uint32_t>& numbers, Rank rank,
                      Report& report, ClientCaches caches) noexcept;

/// Data files for reading. They are opened when needed, few at a time, and their fronts are
/// checked. Thread-safe.
class Opened {
 public:
  /// `main` is the file beside which they lie, if this process has it open.
  Opened(std::string path, std::uint64_t id, Rank rank, Report& report, ClientCaches caches,
         File* main = nullptr)
      : path_(std::move(path)),
        id_(id),
        rank_(rank),
        report_(report),
        caches_(caches),
        main_(main) {}

  /// Errc::enotnc, or a system error, with the file's name.
  std::shared_ptr<File> file(std::uint32_t number);
  /// The numbers of existing data files that are not among `known`, ascending, without torn ones.
  std::set<std::uint32_t> others(const std::map<std::uint32_t, Count>& known) const;
  /// Makes later reads see what others have written since.
  void look_again();
  /// Local, once. As leave_data_files() for the opened files.
  void leave() noexcept;

 private:
  std::string path_;
  std::uint64_t id_;
  Rank rank_;
  Report& report_;
  ClientCaches caches_;
  File* main_;
  std::mutex opening_;
  OpenFiles<std::uint32_t, std::shared_ptr<File>> files_;
  std::set<std::uint32_t> seen_;  // only if caches are weak
};

}  // namespace forebay::data_files
