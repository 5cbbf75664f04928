// The place of stage `burst`'s logs, their control file, and the description of the stage.
#include <filesystem>

#include "base/attempt.h"
#include "base/path.h"
#include "base/random_number.h"
#include "burst/burst.h"
#include "burst/fingerprint.h"
#include "comm/agree.h"
#include "storage/file.h"
#include "store/journal_files.h"
#include "store/staging_control.h"

namespace forebay::burst {
namespace {

class LogHost : public Host {
 public:
  explicit LogHost(const StageSite& site) : site_(site) {}

  std::unique_ptr<ByteFile> open_log(const std::string& path, bool create) override {
    auto file = std::make_unique<File>(path, true, site_.comm.rank(), log_report_);
    create ? file->create(false) : file->ensure_open();
    return file;
  }

  void remove_log(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) throw system_error(error.value(), Errc::ecantremove, "removing", path);
  }

  // Renaming needs no free space, and other logs may need the space of these records.
  void lose_log(const std::string& stem) override {
    std::error_code error, ignored;
    std::filesystem::rename(records_path(stem), lost_path(stem), error);
    if (!error) std::filesystem::resize_file(lost_path(stem), 0, ignored);
    remove_log(data_path(stem));
    if (error) throw system_error(error.value(), Errc::ewrite, "renaming", records_path(stem));
  }

  void logs_begin() override {
    by_root(site_.comm, [&] { control_ = StagingControl::create(info); });
  }

  void logs_closing(std::uint64_t epoch) override {
    by_root(site_.comm, [&] { control_->set_closed(epoch); });
  }

  void logs_end() override {
    by_root(site_.comm, [&] {
      control_->remove();
      control_.reset();
    });
  }

  void before_flush() override {
    site_.schema.numrecs = site_.comm.all_reduce(site_.schema.numrecs, Reduce::max);
  }

  void after_flush() override {
    site_.host.write_agreed_numrecs();
    site_.host.show();
  }

  void epoch_begins(std::uint64_t epoch) override {
    by_root(site_.comm, [&] { control_->set_flushed(epoch); });
  }

  void sync_epoch() override {
    if (control_) control_->sync();
  }

  std::uint64_t fingerprint() const override { return schema_fingerprint(site_.schema); }
  std::unique_ptr<Aside> aside() override { return site_.host.aside(); }

  StagingInfo info;  ///< of the control file

 private:
  StageSite site_;
  Report log_report_;                        // I/O on logs does not count as I/O on the file
  std::unique_ptr<StagingControl> control_;  // on rank 0
};

std::unique_ptr<Stage> make(const StageSite& site) {
  const Method& method = site.method;
  BurstOptions options;
  std::string directory;
  std::int64_t regular = 0;
  by_root(site.comm, [&] {
    options.session = random_number();
    options.dataset = StagingControl::canonical(site.path);
    directory = StagingControl::canonical(method.burst_directory);
    regular = site.host.is_regular();
  });
  site.comm.broadcast(&options.session, sizeof options.session);
  site.comm.broadcast(&regular, sizeof regular);
  site.comm.broadcast(options.dataset);
  site.comm.broadcast(directory);
  if (regular == 0) return nullptr;  // a device or a pipe: no log could be replayed into it
  options.shared = method.burst_shared == Switch::enable;
  options.keep_logs = method.burst_delete == Switch::disable;
  options.ranks_per_node = method.ranks_per_node;
  options.flush.buffer = std::max<Count>(
      method.burst_buffer > 0 ? method.burst_buffer : method.buffer_limit, Count{4} << 10);
  if (method.burst_order == FlushOrder::replay) options.flush.order = Order::replay;
  options.flush_size = method.burst_flush_size;
  options.flush_seconds = method.burst_flush_time;
  options.log_stem = [=](Rank first) {
    return log_stem(directory, options.dataset, options.session, options.shared, first);
  };
  auto host = std::make_unique<LogHost>(site);
  host->info.session = options.session;
  host->info.ranks = site.comm.size();
  host->info.per_node = options.shared;
  host->info.directory = directory;
  host->info.file = options.dataset;
  return make_burst_stage(site.comm, site.schema, site.layout, std::move(host), options,
                          site.report);
}

constexpr std::string_view orders[] = {"two-level", "replay", "flatten"};

/// The front ends whose writes can be staged in logs.
constexpr FrontEnds staged = written_as_netcdf | FrontEnd::groups;

/// A key of PnetCDF that belongs to this stage.
constexpr KeySpec pnetcdf_switch(const char* name, const char* standard, const char* help,
                                 PlaceOfWord place) {
  return word_key({name, "enable|disable", standard, help, "pnetcdf"}, place, switches,
                  KeyFamily::pnetcdf)
      .honoured_by(staged)
      .with("stage=burst");
}

constexpr KeySpec stage_choice() {
  KeySpec key = plain_key({"nc_burst_buf", "enable|disable", "disable",
                           "PnetCDF's name for stage burst: enable is stage=burst.", "pnetcdf"},
                          KeyKind::choice, KeyFamily::pnetcdf);
  key.word = &Method::stage;
  key.chosen = "burst";
  return key.honoured_by(staged);
}

constexpr KeySpec directory_key() {
  KeySpec key = plain_key({"nc_burst_buf_dirname", "a directory", "./",
                           "Stage burst: where its logs go. Of use on storage that is faster than "
                           "the file's.",
                           "pnetcdf"},
                          KeyKind::text, KeyFamily::pnetcdf);
  key.word = &Method::burst_directory;
  return key.honoured_by(staged).with("stage=burst");
}

constexpr KeySpec keys[] = {
    size_key({"burst_flush_size", "bytes, at least 0", "0",
              "Stage burst: flush in the background when a rank has staged so many bytes, so that "
              "close is short; 0: when they lie in pieces of 512 KiB and more, which gain nothing "
              "by waiting.",
              "engine"},
             &Method::burst_flush_size, 0)
        .honoured_by(staged)
        .with("stage=burst"),
    count_key({"burst_flush_time", "seconds, at least 0", "0",
               "Stage burst: flush in the background what has been staged for so many seconds; 0: "
               "never.",
               "engine"},
              &Method::burst_flush_time, 0, 1000000)
        .honoured_by(staged)
        .with("stage=burst"),
    word_key({"burst_order", "two-level|replay|flatten", "two-level",
              "Stage burst: how writes are ordered when they are flushed. The others are for "
              "comparisons: replay writes them one by one, flatten sorts all their pieces.",
              "engine"},
             place_in<&Method::burst_order>, orders)
        .honoured_by(written_as_netcdf)
        .with("stage=burst"),
    stage_choice(),
    directory_key(),
    pnetcdf_switch("nc_burst_buf_overwrite", "enable",
                   "Stage burst: when a file is created anew, remove logs that a job that ended "
                   "has left of it; disable fails instead.",
                   place_in<&Method::burst_overwrite>),
    pnetcdf_switch("nc_burst_buf_del_on_close", "enable",
                   "Stage burst: remove the logs when the file is closed; disable keeps them, to "
                   "look at with forebay log.",
                   place_in<&Method::burst_delete>),
    size_key({"nc_burst_buf_flush_buffer_size", "bytes, at least 0", "0",
              "Stage burst: memory of a rank for flushing; 0: as much as buffer_limit says, and "
              "never less than 4 KiB.",
              "pnetcdf"},
             &Method::burst_buffer, 0, std::numeric_limits<Count>::max(), KeyFamily::pnetcdf)
        .honoured_by(written_as_netcdf)
        .with("stage=burst"),
    pnetcdf_switch("nc_burst_buf_shared_logs", "disable",
                   "Stage burst: one pair of log files a node, in blocks dealt to its ranks, in "
                   "place of one pair a rank.",
                   place_in<&Method::burst_shared>),
};

void resolve_paths(Method& method, const std::string& folder) {
  method.burst_directory = absolute_path(method.burst_directory, folder);
}

}  // namespace
}  // namespace forebay::burst

namespace forebay {

extern const StageEntry burst_stage{{"burst",
                                     "kept in a log on fast storage (nc_burst_buf_dirname), and "
                                     "handed over in large batches later",
                                     20, burst::keys, burst::staged},
                                    burst::make,
                                    true,
                                    true,
                                    false,
                                    false,
                                    std::nullopt,
                                    true,
                                    burst::resolve_paths};

}  // namespace forebay
