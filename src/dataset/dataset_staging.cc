// What stage `burst` needs of a dataset: log files, the control file that tells others of them, and
// the number of records.
#include "dataset/dataset_staging.h"

#include <filesystem>
#include <random>

#include "base/attempt.h"
#include "stage/burst/fingerprint.h"
#include "stage/burst/log_files.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay {

namespace {

std::uint64_t random_session() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// A canonical layout over a descriptor of its own.
class AsideLayout : public burst::Aside {
 public:
  AsideLayout(const Comm& comm, const Schema& schema, const std::string& path,
              const TransportOptions& options)
      : file_(std::make_shared<File>(path, true, comm.rank(), report_)),
        transport_(make_posix_transport(comm, file_, options, report_)),
        layout_(make_canonical_layout(schema, *transport_, report_)) {}

  Layout& layout() override { return *layout_; }
  Report& report() override { return report_; }

 private:
  Report report_;
  std::shared_ptr<File> file_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Layout> layout_;
};

}  // namespace

std::unique_ptr<ByteFile> Dataset::Staging::open_log(const std::string& path, bool create) {
  auto file = std::make_unique<File>(path, true, dataset_.comm_.rank(), log_report_);
  create ? file->create(false) : file->ensure_open();
  return file;
}

void Dataset::Staging::remove_log(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) throw system_error(error.value(), Errc::ecantremove, "removing", path);
}

void Dataset::Staging::logs_begin() {
  by_root(dataset_.comm_, [&] { control_ = StagingControl::create(info); });
}

void Dataset::Staging::logs_closing(std::uint64_t epoch) {
  by_root(dataset_.comm_, [&] { control_->set_closed(epoch); });
}

void Dataset::Staging::logs_end() {
  by_root(dataset_.comm_, [&] {
    control_->remove();
    control_.reset();
  });
}

void Dataset::Staging::before_flush() {
  Schema& schema = dataset_.schema_;
  schema.numrecs = dataset_.comm_.all_reduce(schema.numrecs, Reduce::max);
}

void Dataset::Staging::after_flush() { dataset_.write_agreed_numrecs(); }

void Dataset::Staging::epoch_begins(std::uint64_t epoch) {
  by_root(dataset_.comm_, [&] { control_->set_flushed(epoch); });
}

std::uint64_t Dataset::Staging::fingerprint() const { return schema_fingerprint(dataset_.schema_); }

std::unique_ptr<burst::Aside> Dataset::Staging::aside() {
  if (!dataset_.container_->layout().writes_alone()) return nullptr;
  TransportOptions options;
  options.hole_threshold = dataset_.method_.hole_threshold;
  return std::make_unique<AsideLayout>(dataset_.comm_, dataset_.schema_, dataset_.path_, options);
}

void Dataset::start_staging() {
  if (method_.stage != "burst" || !writable_) return;
  burst::BurstOptions options;
  std::string directory;
  std::int64_t regular = 0;
  by_root(comm_, [&] {
    options.session = random_session();
    options.dataset = StagingControl::canonical(path_);
    directory = StagingControl::canonical(method_.burst_directory);
    regular = container_->is_regular();
  });
  comm_.broadcast(&options.session, sizeof options.session);
  comm_.broadcast(&regular, sizeof regular);
  comm_.broadcast(options.dataset);
  comm_.broadcast(directory);
  if (regular == 0) return;  // a device or a pipe: nobody could replay a log into it
  options.shared = method_.burst_shared == "enable";
  options.keep_logs = method_.burst_delete == "disable";
  options.ranks_per_node = method_.ranks_per_node;
  options.flush.buffer = std::max<Count>(
      method_.burst_buffer > 0 ? method_.burst_buffer : method_.buffer_limit, Count{4} << 10);
  if (method_.burst_order == "replay") options.flush.order = burst::Order::replay;
  options.flush_size = method_.burst_flush_size;
  options.flush_seconds = method_.burst_flush_time;
  options.log_stem = [=](Rank first) {
    return log_stem(directory, options.dataset, options.session, options.shared, first);
  };
  staging_ = std::make_unique<Staging>(*this);
  staging_->info.session = options.session;
  staging_->info.ranks = comm_.size();
  staging_->info.per_node = options.shared;
  staging_->info.directory = directory;
  staging_->info.file = options.dataset;
  stage_ =
      burst::make_burst_stage(comm_, schema_, container_->layout(), *staging_, options, report_);
}

std::vector<burst::LostWrite> Dataset::replay(std::vector<burst::Source> sources,
                                              Count least_records) {
  require_data();
  require_writable();
  for (const burst::Source& source : sources)
    least_records = std::max(least_records, source.table->last_record());
  std::vector<burst::LostWrite> lost;
  together(comm_, [&] {
    const Count records = std::max(comm_.all_reduce(least_records, Reduce::max), schema_.numrecs);
    changed_ = true;
    numrecs_dirty_ = numrecs_dirty_ || records > schema_.numrecs;
    schema_.numrecs = records;
    burst::FlushOptions options;
    options.buffer = method_.buffer_limit;
    lost = burst::flush_together(comm_, std::move(sources), container_->layout(), options, report_)
               .lost;
    container_->layout().flush();
    write_agreed_numrecs();
  });
  return lost;
}

}  // namespace forebay
