#include "tools/convert/convert_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/attempt.h"
#include "base/hash.h"
#include "base/raw_bytes.h"
#include "base/text_table.h"
#include "base/timeline.h"
#include "comm/agree.h"
#include "dataset/copying.h"
#include "dataset/probe.h"
#include "files/open_source.h"
#include "method/front_end.h"
#include "tools/convert/jobs.h"
#include "tools/convert/levels.h"
#include "tools/format_commands.h"
#include "tools/leftovers.h"
#include "tools/progress.h"
#include "tools/removed_on_signal.h"

namespace forebay::tools {
namespace {

namespace fs = std::filesystem;

constexpr Count piece_bytes = 8 << 20;

// -- names on disk --------------------------------------------------------------------------------

// The name is beside the output, so that it can be renamed, and has its ending, for name patterns.
std::string temporary_name(const Comm& comm, const std::string& out) {
  std::int64_t id = ::getpid();
  comm.broadcast(&id, sizeof id);
  const fs::path path(out);
  return (path.parent_path() / fmt::format(".forebay-{}-{}", id, path.filename().string()))
      .string();
}

class Unfinished {
 public:
  Unfinished(const Comm& comm, std::string path) : path_(std::move(path)) {
    if (comm.is_root()) doomed_.emplace(std::vector{path_, path_ + ".subfiles"});
  }
  ~Unfinished() {
    if (!doomed_ || finished_) return;
    std::error_code ignored;
    attempt_to([&] {
      if (const auto folder = folder_of_values(path_)) fs::remove_all(*folder, ignored);
    });
    fs::remove_all(path_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  // On rank 0. `out` is the old output until it is the new one. If both are single files, the new
  // one gets the old one's mode.
  void finish(const std::string& out, bool force) {
    struct stat old {
    }, made{};
    if (::stat(out.c_str(), &old) == 0 && S_ISREG(old.st_mode) &&
        ::stat(path_.c_str(), &made) == 0 && S_ISREG(made.st_mode))
      (void)::chmod(path_.c_str(), old.st_mode & 07777);
    if (force && fs::is_directory(path_) && fs::exists(out)) {
      replace_directory(out);
    } else {
      rename_file(path_, out);
    }
    finished_ = true;
    const std::string parent = fs::path(out).parent_path().string();
    const int fd =
        ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
  }

 private:
  // Exchanges the names of both in one step. If the file system cannot do that, the old output is
  // moved aside until the new one is in its place.
  void replace_directory(const std::string& out) {
    if (folder_of_values(out)) {  // two names cannot be exchanged for one
      delete_file(out);
      return rename_file(path_, out);
    }
    std::string aside = path_;
#ifdef RENAME_EXCHANGE
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, out.c_str(), RENAME_EXCHANGE) != 0)
#endif
    {
      aside = path_ + "-old";
      if (::rename(out.c_str(), aside.c_str()) != 0)
        throw system_error(errno, Errc::ecantcreate, "rename", out);
      if (::rename(path_.c_str(), out.c_str()) != 0) {
        const int reason = errno;
        (void)::rename(aside.c_str(), out.c_str());
        throw system_error(reason, Errc::ecantcreate, "rename", out);
      }
    }
    std::error_code
        ignored;  // the new output is in place: leftovers of the old one only take space
    if (is_directory_file(aside)) {
      attempt_to([&] { delete_file(aside); });
    } else {
      fs::remove_all(aside, ignored);
    }
  }

  std::string path_;
  std::optional<RemovedOnSignal> doomed_;  // root only
  bool finished_ = false;
};

void check_output(const ConvertOptions& options) {
  struct stat in {
  }, out{};
  if (::stat(options.out.c_str(), &out) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    throw system_error(errno, Errc::ecantcreate, "create", options.out);
  }
  const std::string name = printable(options.out);
  if (::stat(options.in.c_str(), &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
    throw Error(Errc::eperm, name + " is the input itself", "give the output another name");
  if (!options.force) throw Error(Errc::eexist, name + " exists", "--force replaces it");
  const bool store = options.to == "zarr" && fs::exists(options.out + "/.zgroup");
  const bool one_file = options.to != "zarr" && is_directory_file(options.out);
  const CommandsEntry* const to = format_commands_named(options.to);
  const bool steps = to != nullptr && to->format->recognise(options.out);
  if (S_ISDIR(out.st_mode) && !store && !one_file && !steps)
    throw Error(Errc::eexist, name + " is a directory", "give the output another name");
}

Count size_on_disk(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) {
    const auto size = fs::file_size(path, failed);
    const auto folder = folder_of_values(path);
    return failed ? 0 : static_cast<Count>(size) + (folder ? size_on_disk(*folder) : 0);
  }
  Count bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path, failed))
    if (entry.is_regular_file(failed)) bytes += static_cast<Count>(entry.file_size(failed));
  return bytes;
}

// Prints notes about what the output hides of the input.
void print_notes(const std::string& path, const std::vector<std::string>& notes) {
  constexpr std::size_t most = 8;
  for (std::size_t n = 0; n < std::min(most, notes.size()); ++n)
    fmt::print(stderr, "{}: {}\n", printable(path), printable(notes[n], 200));
  if (notes.size() > most)
    fmt::print(stderr, "{}: {} more such notes, which `forebay check` lists\n", printable(path),
               notes.size() - most);
}

FrontEnd front_end_of(const std::string& to) {
  if (const CommandsEntry* const format = format_commands_named(to)) return format->front_end;
  if (to == "zarr") return FrontEnd::convert_zarr;
  if (to.empty() || to == "netcdf") return FrontEnd::convert_netcdf;
  throw Error(Errc::enotsupport, "this build writes no " + to + " files",
              "build it with -DFOREBAY_WINGS that has their wing");
}

// Returns what copies all content of an input of the output's own format, or null.
const CommandsEntry* copier_for(const ConvertOptions& options) {
  const CommandsEntry* const to = format_commands_named(options.to);
  const bool copies = to != nullptr && to->copy != nullptr && to->format->built &&
                      options.group.empty() && options.level == 0 &&
                      to->format->recognise(options.in) && format_of(options.in) == to->format;
  return copies ? to : nullptr;
}

// An HDF5 file that is no copy of one is a netCDF-4 file, which a container writes.
void choose_container(ConvertOptions& options) {
  const bool is_netcdf4 =
      options.to == "netcdf4" || (options.to == "hdf5" && copier_for(options) == nullptr);
  if (!is_netcdf4) return;
  const auto said = options.keys.find("container");
  if (said != options.keys.end() && said->second != "netcdf4")
    throw Error(Errc::einval, "container=" + said->second + " is not for output in " + options.to,
                "leave it out, or give --to netcdf");
  options.keys["container"] = "netcdf4";
  options.to = "netcdf";
}

}  // namespace

const LevelsEntry& levels_of_build() {
  if (!built_in_levels().empty()) return *built_in_levels()[0];
  throw Error(Errc::enotsupport, "this build knows no levels",
              "build it with -DFOREBAY_WINGS that has their wing");
}

namespace {

// One conversion.
class Conversion {
 public:
  Conversion(const Comm& comm, const ConvertOptions& options)
      : comm_(comm), options_(options), out_(end_of_links(options.out)) {}

  ConvertResult run() {
    const auto began = std::chrono::steady_clock::now();
    const CommandsEntry* const copier = copier_for(options_);
    agree_on_error(comm_, attempt_to([&] {
                     if (copier == nullptr) open_input();
                   }));
    agree_on_error(comm_, attempt_to([&] {
                     if (comm_.is_root()) check_output(options_);
                   }));
    const std::string temporary = temporary_name(comm_, out_);
    Unfinished unfinished(comm_, temporary);
    if (copier != nullptr) {
      result_ = copier->copy(comm_, options_.in, temporary, options_);
    } else {
      copy_source(temporary);
    }
    agree_on_error(comm_, attempt_to([&] {
                     if (comm_.is_root()) unfinished.finish(out_, options_.force);
                   }));
    result_.in_size = size_on_disk(options_.in);
    result_.out_size = size_on_disk(options_.out);
    result_.seconds = seconds_since(began);
    return result_;
  }

 private:
  // Refuses what the output cannot express, unless the user wants to leave it out.
  void open_input() {
    if (comm_.is_root()) tell_notes(options_.in);
    source_ = open_source(options_.in, options_.group);
    const std::string name = printable(options_.in), to = name_of_output();
    if (!source_->groups().empty())
      throw Error(Errc::enotsupport,
                  fmt::format("{} has groups (the first is \"{}\"), which {} has no word for", name,
                              printable(source_->groups()[0].path), to),
                  "--group GROUP takes one (--group / the root), --to hdf5 keeps them all");
    result_.left_out = source_->left_out();
    if (to_format_ != nullptr && to_format_->inexpressible != nullptr)
      for (LeftOut& item : to_format_->inexpressible(*source_))
        result_.left_out.push_back(std::move(item));
    if (!result_.left_out.empty() && !options_.skip)
      throw Error(Errc::enotsupport,
                  fmt::format("{}: {} is {}: it cannot be in {}", name,
                              printable(result_.left_out[0].name), result_.left_out[0].what, to),
                  source_->is_hdf5() ? "--skip leaves it out, --to hdf5 copies it"
                                     : "--skip leaves it out");
    const CommandsEntry* const from = format_commands_of(options_.in);
    if (comm_.is_root() && from != nullptr && from->conversion_notes != nullptr)
      print_notes(options_.in, from->conversion_notes(options_.in, result_.left_out));
    if (options_.levels) {
      source_ = levels_of_build().all_levels(std::move(source_));
    } else if (options_.level != 0) {
      source_ = levels_of_build().at_level(std::move(source_), options_.level);
    }
  }

  std::string name_of_output() const {
    if (options_.method.container == "netcdf4") return "netcdf4";
    return options_.to.empty() ? "netcdf" : options_.to;
  }

  void copy_source(const std::string& temporary) {
    create(temporary);
    Progress progress("convert", where());
    if (output_->steps() > 0) {
      copy_by_steps(progress);
    } else {
      agree_on_error(comm_, attempt_to([&] { plan(); }));
      agree_on_jobs();
      copy(progress, totals_after_rounds(jobs_));
    }
    for (std::size_t v = 0; v < source_->schema().vars.size(); ++v)
      if (!output_->exact(static_cast<VarId>(v)))
        result_.lossy.push_back(source_->schema().vars[v].name);
    output_->close();
    if (options_.verify) verify(temporary);
    output_.reset();
    result_.variables = std::ssize(source_->schema().vars);
  }

  void create(const std::string& path) {
    if (to_format_ != nullptr) {
      output_ = to_format_->create(comm_, *source_, path, options_);
    } else if (options_.to == "zarr") {
      output_ = create_zarr(comm_, *source_, path, options_);
    } else {
      output_ = create_netcdf(comm_, *source_, path, options_);
    }
  }

  // Decomposed variables are copied slab by slab if their slabs do not overlap.
  void plan() {
    const ClassicFile* const classic = source_->classic();
    const bool replays =
        options_.to == "netcdf" && classic != nullptr && classic->maps() != nullptr;
    const Count room = replays ? options_.round_bytes / 2 : options_.round_bytes;
    if (replays) slabs_ = classic->maps()->replay(options_.round_bytes / 2);
    Rounds rounds(comm_.size(), room), checks(comm_.size(), room);
    const Count most = std::min(piece_bytes, room);
    for (std::size_t v = 0; v < source_->schema().vars.size(); ++v) {
      const auto var = static_cast<VarId>(v);
      const Variable& stored = output_->variable(var);
      std::optional<std::vector<SlabPart>> parts;
      if (replays && classic->maps()->keeps(source_->schema().vars[v]))
        parts = slabs_->parts_of(var);
      if (parts) {
        ++result_.by_slabs;
        add_slabs(rounds, stored, *parts);
      }
      if (parts && !options_.verify) continue;
      add_boxes(parts ? checks : rounds, var, stored, source_->shape(var), most);
    }
    jobs_ = rounds.take();
    checks_ = checks.take();
  }

  // Plans one record, since the jobs of all records may exceed memory.
  void plan_step(Count step) {
    Rounds rounds(comm_.size(), options_.round_bytes);
    const Count most = std::min(piece_bytes, options_.round_bytes);
    for (std::size_t v = 0; v < source_->schema().vars.size(); ++v) {
      const auto var = static_cast<VarId>(v);
      const Variable& stored = output_->variable(var);
      if (stored.is_record ? step < source_->schema().numrecs : step == 0)
        add_boxes_of_record(rounds, var, stored, source_->shape(var), step, most);
    }
    jobs_ = rounds.take();
  }

  Count bytes_of_values() const {
    Count bytes = 0;
    for (std::size_t v = 0; v < source_->schema().vars.size(); ++v)
      bytes += whole(source_->shape(static_cast<VarId>(v))).elements() *
               size_of(source_->schema().vars[v].type);
    return bytes;
  }

  void copy_by_steps(Progress& progress) {
    const Count steps = output_->steps(), all = bytes_of_values();
    for (Count step = 0; step < steps; ++step) {
      agree_on_error(comm_, attempt_to([&] { plan_step(step); }));
      if (step == 0) agree_on_jobs(steps);
      std::vector<Count> totals = totals_after_rounds(jobs_);
      for (Count& total : totals) total += result_.bytes;
      copy(progress, totals, all);
      output_->end_step();
    }
  }

  // Ranks that opened different states of the input would wait for each other in different rounds.
  void agree_on_jobs(Count steps = 0) {
    const auto mine =
        static_cast<std::int64_t>((hash_of_jobs(jobs_) + static_cast<std::uint64_t>(steps)) >> 1);
    std::array<std::int64_t, 2> both{mine, -mine};
    comm_.all_reduce(both, Reduce::min);
    if (both[0] != -both[1])
      throw Error(Errc::enotnc, printable(options_.in) + " was written to while ranks opened it",
                  "convert it when nobody writes it");
  }

  Progress::Where where() const {
    return comm_.is_root() && !options_.quiet ? Progress::Where::automatic
                                              : Progress::Where::nowhere;
  }

  // Calls f(job, index) for this rank's jobs of a round. Returns one past the last job of the
  // round.
  template <typename F>
  std::size_t each_of_round(std::size_t first, F&& f) {
    std::size_t i = first;
    for (; i < jobs_.size() && jobs_[i].round == jobs_[first].round; ++i)
      if (jobs_[i].rank == comm_.rank()) f(jobs_[i], i);
    return i;
  }

  // Memory is reused between rounds, so that the system need not clear pages again.
  void make_room(std::size_t first) {
    std::size_t needed = 0;
    each_of_round(first, [&](const Job& job, std::size_t) { needed += room_of(job); });
    if (needed > room_.size()) {
      room_.clear();
      room_.resize(needed);
    }
    used_ = 0;
  }
  static std::size_t room_of(const Job& job) {
    constexpr std::size_t line = 64;
    return (static_cast<std::size_t>(job.bytes) + line - 1) / line * line;
  }
  Piece new_piece(const Job& job) {
    Piece piece;
    piece.var = job.var;
    piece.data = std::span(room_).subspan(used_, static_cast<std::size_t>(job.bytes));
    used_ += room_of(job);
    return piece;
  }

  // `totals` are the bytes done after each round; `all` is the final total if more rounds follow.
  void copy(Progress& progress, const std::vector<Count>& totals, Count all = 0) {
    hashes_.assign(options_.verify ? jobs_.size() : 0, 0);
    for (std::size_t first = 0; first < jobs_.size();) {
      const int round = jobs_[first].round;
      std::vector<Piece> pieces;
      std::size_t next = first;
      const auto failed = attempt_to([&] {
        make_room(first);
        std::vector<const Job*> slabs;
        each_of_round(first, [&](const Job& job, std::size_t i) {
          if (job.slab) return slabs.push_back(&job);
          Piece piece = new_piece(job);
          piece.selection = job.part;
          if (job.bytes > 0) source_->read(job.var, job.part, piece.data.data());
          if (options_.verify) hashes_[i] = hash_of(piece.data);
          pieces.push_back(std::move(piece));
        });
        // Sorted by map, so that its runs are computed once.
        std::stable_sort(slabs.begin(), slabs.end(), [](const Job* a, const Job* b) {
          return a->slab->stretch < b->slab->stretch;
        });
        for (const Job* job : slabs) {
          Piece piece = new_piece(*job);
          piece.selection = slabs_->read(*job->slab, piece.data.data());
          piece.last_record = job->slab->record + 1;
          pieces.push_back(std::move(piece));
        }
      });
      while (next < jobs_.size() && jobs_[next].round == round) ++next;
      output_->write(pieces, failed, next == jobs_.size());
      first = next;
      ++result_.rounds;
      result_.bytes = totals[static_cast<std::size_t>(round)];
      progress.tell(result_.bytes, std::max(all, totals.back()));
    }
  }

  void verify(const std::string& path) {
    agree_on_error(comm_, attempt_to([&] { verify_mine(path); }));
    result_.verified = std::ssize(source_->schema().vars) - std::ssize(result_.lossy);
  }

  void verify_mine(const std::string& path) {
    const auto copy =
        options_.to == "zarr" ? open_zarr(*source_, path, options_) : open_source(path);
    Progress progress("verify", where());
    for (Count step = 0, done = 0; step < output_->steps(); ++step) {
      plan_step(step);
      verify_by_reading(*copy, jobs_);
      if (!jobs_.empty()) progress.tell(done += totals_after_rounds(jobs_).back(), result_.bytes);
    }
    if (output_->steps() > 0) return;
    const std::vector<Count> totals = totals_after_rounds(jobs_);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const Job& job = jobs_[i];
      if (job.rank != comm_.rank() || job.slab) continue;
      verify_box(*copy, job, hashes_[i]);
      progress.tell(totals[static_cast<std::size_t>(job.round)], totals.back());
    }
    // Variables copied by slabs are verified by ordinary reads.
    verify_by_reading(*copy, checks_);
  }

  void verify_by_reading(const Source& copy, const std::vector<Job>& jobs) const {
    std::vector<std::byte> data;
    for (const Job& job : jobs) {
      if (job.rank != comm_.rank() || job.bytes == 0 || !output_->exact(job.var)) continue;
      data.resize(static_cast<std::size_t>(job.bytes));
      source_->read(job.var, job.part, data.data());
      verify_box(copy, job, hash_of(data));
    }
  }

  void verify_box(const Source& copy, const Job& job, std::uint64_t hash) const {
    if (job.bytes == 0 || !output_->exact(job.var)) return;
    const std::string& name = source_->schema().vars[static_cast<std::size_t>(job.var)].name;
    const auto there = copy.schema().find_var(name);
    if (!there) throw Error(Errc::eio, "verification: " + name + " is missing in the output");
    std::vector<std::byte> data(static_cast<std::size_t>(job.bytes));
    copy.read(*there, job.part, data.data());
    if (hash_of(data) != hash)
      throw Error(Errc::eio,
                  fmt::format("verification: {} has other values in the output, from index [{}] on",
                              printable(name), fmt::join(job.part.start, ", ")),
                  "the output was removed; try another disk");
  }

  const Comm& comm_;
  const ConvertOptions& options_;
  std::string out_;  // the target of links at the output
  const CommandsEntry* to_format_ = format_commands_named(options_.to);  // if a wing brings it
  std::unique_ptr<Source> source_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<SlabReplay> slabs_;
  std::vector<Job> jobs_, checks_;     // checks_: boxes of variables copied by slabs
  std::vector<std::uint64_t> hashes_;  // of this rank's boxes
  RawBytes room_;                      // for a round's pieces
  std::size_t used_ = 0;
  ConvertResult result_;
};

}  // namespace

ConvertResult follow(const Comm& comm, const ConvertOptions& options) {
  ConvertOptions settled = options;
  const CommandsEntry* const bp = format_commands_named("bp");
  if (bp == nullptr)
    throw Error(Errc::enotbuilt, "this build reads no BP files, which are those that are followed",
                "use a build with the wing groups");
  settled.method =
      choose_method(options.out, {}, share_method_sources(comm), {}, {settled.keys, "--method"});
  by_root(comm, [&] { check_output(settled); });
  return bp->follow(comm, settled);
}

ConvertResult convert(const Comm& comm, const ConvertOptions& options) {
  ConvertOptions settled = options;
  choose_container(settled);
  Method& method = settled.method;
  method =
      choose_method(options.out, {}, share_method_sources(comm), {}, {settled.keys, "--method"});
  keep_honoured(method, front_end_of(settled.to));
  if (settled.keys.contains("container") && method.container != settled.keys["container"])
    throw Error(Errc::einval,
                "container=" + method.container + " (" + method.origin_of("container") +
                    ") overrules the format that was asked for",
                "leave it out there");
  if (settled.round_bytes == 0) settled.round_bytes = method.buffer_limit / 2;
  ConvertResult result = Conversion(comm, settled).run();
  result.notes = method.notes;
  return result;
}

}  // namespace forebay::tools
