// Data files: numbered files that layouts keep values in, beside a classic file, in the folder
// FILE.subfiles, or in the directory whose file of definitions it is (storage/directory.h). Each
// begins with a front: the random id of the file that it belongs to, and its number. Who writes
// which of them is what the hints say, for all layouts alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
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
#include "format/decomposed.h"
#include "method/method.h"
#include "storage/file.h"

namespace forebay::data_files {

using Front = decomposed::Front;

std::string folder_of(const std::string& path);  ///< of the data files of a file
/// Of what is in it, for who only reads.
ClientCaches caches_to_read(const std::string& path);
std::string data_path(const std::string& path, std::uint32_t number);
/// Of a data file of that name; nothing: that is no number as data files have it.
std::optional<std::uint32_t> number_of(std::string_view name);

/// What to do about a folder that is another file's.
constexpr const char* folder_advice =
    "the file was copied or moved without its data files: bring along the folder FILE.subfiles, or "
    "all that is in the directory";

/// Local. Errc::enotnc if the file does not begin so: it is another file's, or has another's place.
void check_front(ByteFile& file, const Front& expected);

/// Local. Whether a data file may be removed with the file of this id: it begins so, or is torn.
bool is_left_by(const std::string& path, std::optional<std::uint64_t> id);
/// Local. Removes these from a folder, and the folder if nothing else is in it, as far as it can.
/// Whether all files that may be some could be looked into: if not, what tells whose they are has
/// to stay.
bool remove_left_by(const std::string& folder, std::optional<std::uint64_t> id) noexcept;

/// Ranks that write one data file.
struct Group {
  Comm ranks;
  std::vector<Rank> numbers;  ///< of its ranks, in the job
  std::uint32_t number = 0, groups = 1;
  const Topology* topology = nullptr;  ///< whose nodes the groups are; null: there is one group

  std::uint32_t of(Rank rank) const {
    return topology ? static_cast<std::uint32_t>(topology->node_of(rank)) : 0;
  }
};

/// Collective. Ranks of a node, or as many as the method asks for, or all.
Group group_of(const Comm& comm, const Method& method);

/// Whether the method asks for several files, where nothing else makes a layout have some.
bool asks_for_several(const Method& method);

/// Collective. Where files are not those of groups, but each is one rank's to write, which gets
/// what goes there from all others (plan/file_aggregators.h): the rank of each file. There are as
/// many as there would be groups.
std::vector<Rank> writers_of(const Comm& comm, const Method& method);

/// Local, by who may write them. As File::leave() of data files that were opened to read.
void leave_data_files(const std::string& path, const std::set<std::uint32_t>& numbers, Rank rank,
                      Report& report, ClientCaches caches) noexcept;

/// Data files that are read: opened when they are needed, so many at a time at most, and compared
/// with what they must begin with. Several threads may use one.
class Opened {
 public:
  static constexpr std::size_t most = 64;

  Opened(std::string path, std::uint64_t id, Rank rank, Report& report, ClientCaches caches)
      : path_(std::move(path)), id_(id), rank_(rank), report_(report), caches_(caches) {}

  /// Errc::enotnc, or as the system's, naming the file.
  std::shared_ptr<File> file(std::uint32_t number);
  /// Of data files that are there, by their names, and not among `known`, ascending; but for those
  /// that a job left torn.
  std::set<std::uint32_t> others(const std::map<std::uint32_t, Count>& known) const;
  /// What others have written since is to be seen.
  void look_again();
  /// Local, once. As leave_data_files() of those that were opened.
  void leave() noexcept;

 private:
  std::string path_;
  std::uint64_t id_;
  Rank rank_;
  Report& report_;
  ClientCaches caches_;
  std::mutex opening_;
  std::list<std::pair<std::uint32_t, std::shared_ptr<File>>> files_;  // used most recently first
  std::set<std::uint32_t> seen_;                                      // where caches are weak
};

}  // namespace forebay::data_files
