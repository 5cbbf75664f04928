#include "groups/process_group/bp_files.h"

#include <chrono>
#include <limits>
#include <string>

#include "comm/agree.h"
#include "groups/process_group/bp_directory.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/single_file.h"

namespace forebay::process_group {

std::uint64_t record_time() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<seconds>(system_clock::now().time_since_epoch()).count());
}

std::uint64_t new_opening() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

std::uint64_t opening_after(std::uint64_t last) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 2;
  if (last <= most) return last + 1;
  throw Error(Errc::erange,
              "a step is of opening " + std::to_string(last) + ", after which there is no other",
              "it can be read, and converted to a new file, but not be appended to");
}

void add_up(const Comm& comm, std::vector<std::int64_t>& before, std::vector<std::int64_t>& total,
            const std::optional<Error>& failed) {
  if (failed) before.clear(), total.clear();
  meet_with(comm, failed, [&](Errc code) { comm.exclusive_scan(before, total, code); });
}

std::unique_ptr<BpFiles> BpFiles::open(const Comm& comm, const std::string& path,
                                       const WriteOptions& options, bool append, Report& report) {
  append &= !options.drop_all;
  if (options.one_file) return std::make_unique<SingleFile>(comm, path, options, append, report);
  return std::make_unique<BpDirectory>(comm, path, options, append, report);
}

BpFiles::BpFiles(const Comm& comm, const std::string& path, const WriteOptions& options,
                 Report& report)
    : comm_(comm), path_(plain_path(path)), options_(options), report_(report) {}

BpFiles::~BpFiles() = default;

void BpFiles::spread(Count /*bytes*/) {}

std::unique_ptr<File> BpFiles::new_file(const std::string& path) const {
  auto file = std::make_unique<File>(path, true, comm_.rank(), report_);
  if (options_.drop_all) file->drop_all();
  return file;
}

}  // namespace forebay::process_group
