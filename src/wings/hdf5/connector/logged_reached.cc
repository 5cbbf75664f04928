// Logs of files that the program reaches by external links, without opening them by the connector.
#include "hdf5/connector/logged_hooks.h"
#include "hdf5/connector/object.h"
#include "hdf5/connector/under_objects.h"

namespace forebay::vol {
namespace {

/// With MPI-IO HDF5 does not recognise a file that it has open already. Objects reached by a link
/// are in a second open file, whereas the log is in the one that the program opened.
class LogOpenElsewhere : public FileHooks {
 public:
  explicit LogOpenElsewhere(FileState& file) : file_(&file) {}

  CreatedDataset create_dataset(const DatasetCreation&) override { return {}; }
  std::unique_ptr<LoggedDataset> open_dataset(const UnderObject& dataset, hid_t dxpl) override {
    return log().open_dataset(dataset, dxpl);
  }
  void write(const UnderObject&, std::span<const DatasetWrite> writes, hid_t dxpl) override {
    log().write(handle(), writes, dxpl);
  }
  void read(const UnderObject&, std::span<const DatasetRead> reads, hid_t dxpl) override {
    log().read(handle(), reads, dxpl);
  }
  void flush(const UnderObject&, H5F_scope_t scope) override { log().flush(handle(), scope); }
  void before_close(const UnderObject&, Closing) override {}
  void before_mount(const UnderObject&) override {}
  void object_copied(const ObjectCopy&) override {
    throw Error(Errc::enotsupport, "a log that was reached by an external link is not copied",
                "copy out of the file that it is in");
  }

 private:
  UnderObject handle() const {
    if (file_->a_handle() == nullptr)
      throw Error(Errc::enotsupport,
                  "this dataset lies in the log of another file, which was closed meanwhile",
                  "leave that file open for as long as its dataset");
    return file_->a_handle()->below();
  }
  FileHooks& log() const {
    handle();
    return *file_->hooks();
  }

  FileRef file_;
};

}  // namespace

std::unique_ptr<FileHooks> reached_log(const UnderObject& object) {
  LogStore store(object, Comm());
  if (!store.open(false)) return nullptr;
  std::unique_ptr<FileHooks> log;
  FileState::each_open([&](FileState& file) {
    auto* const hooks = dynamic_cast<LoggedHooks*>(file.hooks());
    if (hooks != nullptr && hooks->session() == store.session())
      log = std::make_unique<LogOpenElsewhere>(file);
    return log != nullptr;
  });
  if (log) return log;
  OpenedFile opened;
  opened.file = object;
  opened.name = opened.path = file_name_of(object);
  return std::make_unique<LoggedHooks>(opened, Method{}, std::move(store));
}

}  // namespace forebay::vol
