#include "layout/data_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <functional>
#include <numeric>

#include "base/attempt.h"
#include "base/error.h"
#include "base/stale_files.h"
#include "plan/file_aggregators.h"
#include "storage/directory.h"

namespace forebay::data_files {

ClientCaches caches_to_read(const std::string& path) {
  return client_caches_of(data_path(path, 0), false);
}

std::string folder_of(const std::string& path) { return directory::folder_beside(path); }

std::string data_path(const std::string& path, std::uint32_t number) {
  return folder_of(path) + "/" + std::to_string(number);
}

std::optional<std::uint32_t> number_of(std::string_view name) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (code != std::errc() || std::to_string(number) != name) return std::nullopt;
  return number;
}

void check_front(ByteFile& file, const Front& expected) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(store::slot_bytes));
  if (file.read_at(0, bytes) != bytes.size())
    throw Error(Errc::enotnc, "it ends within its front", "forebay check tells what can be read");
  const Front found = parse_front(bytes);
  if (found.id != expected.id)
    throw Error(Errc::enotnc, "it belongs to another file", folder_advice);
  if (found.number != expected.number)
    throw Error(Errc::enotnc, "it is data file " + std::to_string(found.number),
                "data files must keep their names");
}

void expect_beside(File& file, File& main, File::Check check) {
  const auto place = [name = file.path().substr(file.path().rfind('/'))](
                         const std::string& beside) { return folder_of(beside) + name; };
  file.expect_beside(main, place, std::move(check));
}

std::string folder_now(File& inside) {
  const std::string place = inside.place_now();
  return place.substr(0, place.rfind('/'));
}

// The open file identifies the folder. An empty folder with the new name is replaced.
void follow_rename(File& main, File& inside) {
  const std::string place = main.place_now();
  if (place == main.path() || directory::is_header(main.path())) return;
  inside.ensure_open();
  const std::string from = folder_now(inside), to = folder_of(place);
  if (from == to || ::rename(from.c_str(), to.c_str()) == 0) return;
  const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
  const Error why = system_error(errno, Errc::efile, "renaming " + from + " to", to);
  throw Error(taken ? Errc::eexist : why.code(),
              place + " was renamed while it was open, and its values stay in " + from + ": " +
                  (taken ? to + " is there already" : why.message()),
              "rename that folder to " + to + ", which must not be there then");
}

bool is_left_by(const std::string& path, std::optional<std::uint64_t> id) {
  Report unseen;
  std::vector<std::byte> bytes(enough_of_beginning);
  bytes.resize(File(path, false, 0, unseen).read_at(0, bytes));
  if (beginning_of(bytes) == Beginning::torn) return true;
  bytes.resize(std::min(bytes.size(), static_cast<std::size_t>(store::slot_bytes)));
  bool its = false;
  attempt_to([&] { its = parse_front(bytes).id == id; });
  return its;
}

bool remove_left_by(const std::string& folder, std::optional<std::uint64_t> id) noexcept {
  bool all = true;
  const auto is_its = [&](std::string_view name) {
    bool its = false;
    if (attempt_to(
            [&] { its = is_number(name) && is_left_by(folder + "/" + std::string(name), id); }))
      all = false;
    return its;
  };
  remove_stale_files(folder, std::cref(is_its));
  return all;
}

namespace {

/// The number of files that the program asks for with PnetCDF's hints; 0: it does not.
int number_asked_for(const Method& method) {
  if (method.origin.contains("subfiling")) return 0;
  if (method_value(method, "pnetcdf_subfiling") != "enable") return 0;
  return std::stoi(method_value(method, "nc_num_subfiles"));
}

// The number of ranks of a group; 0: those of a node.
int ranks_of_a_group(const Method& method, int ranks) {
  if (method.subfiling == Subfiling::ranks) return method.subfile_ranks;
  const int number = number_asked_for(method);
  return number == 0 ? method.ranks_per_node : (ranks - 1) / number + 1;
}

}  // namespace

Group group_of(const Comm& comm, const Method& method) {
  Group group;
  if (method.subfiling == Subfiling::none && method.origin.contains("subfiling")) {
    group.ranks = comm;
    group.numbers.resize(static_cast<std::size_t>(comm.size()));
    std::iota(group.numbers.begin(), group.numbers.end(), 0);
    return group;
  }
  const Topology& groups = Topology::of(comm, ranks_of_a_group(method, comm.size()));
  group.ranks = groups.node();
  const auto ranks = groups.ranks_of(groups.my_node());
  group.numbers.assign(ranks.begin(), ranks.end());
  group.number = static_cast<std::uint32_t>(groups.my_node());
  group.groups = static_cast<std::uint32_t>(groups.nodes());
  group.topology = &groups;
  return group;
}

bool asks_for_several(const Method& method) {
  return method.subfiling != Subfiling::none || number_asked_for(method) > 0;
}

std::vector<Rank> writers_of(const Comm& comm, const Method& method) {
  const Topology& nodes = Topology::of(comm, method.ranks_per_node);
  const int ranks = ranks_of_a_group(method, comm.size());
  const Count files =
      method.subfiling == Subfiling::node ? nodes.nodes() : (comm.size() - 1) / ranks + 1;
  std::vector<int> ranks_of(static_cast<std::size_t>(nodes.nodes()));
  for (int node = 0; node < nodes.nodes(); ++node)
    ranks_of[static_cast<std::size_t>(node)] = static_cast<int>(std::ssize(nodes.ranks_of(node)));
  const FileAggregators aggregators(files, ranks_of);
  std::vector<Rank> writers;
  writers.reserve(static_cast<std::size_t>(files));
  for (Count file = 0; file < files; ++file) {
    const auto place = aggregators.of(file);
    writers.push_back(nodes.ranks_of(place.node)[static_cast<std::size_t>(place.rank)]);
  }
  return writers;
}

void leave_data_files(const std::string& path, const std::set<std::uint32_t>& numbers, Rank rank,
                      Report& report, ClientCaches caches) noexcept {
  for (const std::uint32_t number : numbers) {
    attempt_to([&] {
      File file(data_path(path, number), true, rank, report);
      file.share(caches);
      file.ensure_open();
      file.leave();
    });
  }
}

std::shared_ptr<File> Opened::file(std::uint32_t number) {
  const std::lock_guard lock(opening_);
  return files_.get(number, [&] {
    auto file = std::make_shared<File>(data_path(path_, number), false, rank_, report_);
    file->share(caches_);
    const auto check = [front = Front{id_, number}](File& its) { check_front(its, front); };
    if (main_) expect_beside(*file, *main_, check);
    file->ensure_open();  // errors already contain the file's name
    if (!main_) naming(file->path(), [&] { check(*file); });
    if (file->has_weak_caches()) seen_.insert(number);
    return file;
  });
}

std::set<std::uint32_t> Opened::others(const std::map<std::uint32_t, Count>& known) const {
  std::set<std::uint32_t> numbers;
  const std::string folder = folder_of(path_);
  each_in_folder(folder, [&](int, const char* name, bool is_regular) {
    const auto number = number_of(name);
    if (!is_regular || !number || known.contains(*number)) return;
    bool torn = false;
    attempt_to([&] { torn = is_left_by(folder + "/" + name, std::nullopt); });
    if (!torn) numbers.insert(*number);
  });
  return numbers;
}

void Opened::look_again() {
  const std::lock_guard lock(opening_);
  files_.each([](const auto& file) { file->look_again(); });
}

void Opened::leave() noexcept { leave_data_files(path_, seen_, rank_, report_, caches_); }

}  // namespace forebay::data_files
