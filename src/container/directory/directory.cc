// The container `directory` (D7 §7.1): a folder that is taken as one file. DIR/header.nc is a
// classic file; what chunked and decomposed variables keep beside it lies in DIR, too
// (storage/directory.h). So a file of many data files has one name, to be moved, copied and removed
// by.
#include "storage/directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/attempt.h"
#include "comm/agree.h"
#include "container/classic/classic.h"

namespace forebay {
namespace {

struct HeaderPath {
  std::string header;
};

class DirectoryContainer : private HeaderPath, public ClassicContainer {
 public:
  explicit DirectoryContainer(const ContainerSite& site)
      : HeaderPath{directory::header_of(site.path)},
        ClassicContainer({site.comm, header, site.method, site.schema, site.report, site.writable,
                          site.batches, site.later}),
        comm_(site.comm),
        folder_(site.path) {}

  bool create(bool exclusive, bool, bool& made, const Tells&) override {
    bool replaces = false;  // on rank 0
    by_root(comm_, [&] { replaces = make_folder(exclusive, made); });
    ClassicContainer::create(exclusive, false, made, {});
    // Not before: where that fails the old file is whole.
    if (replaces) directory::remove_data(folder_);
    return false;
  }

  // The folder is what is renamed.
  std::string place_now() override { return folder_; }
  void moved(const std::string&) override {}
  void expect(std::uint64_t) override {}

  void remove() override {
    const auto failed = attempt_to([&] {
      if (directory::is_ours(folder_)) directory::remove_data(folder_);
      ClassicContainer::remove();
    });
    if (::rmdir(folder_.c_str()) != 0 && errno != ENOENT && !failed)
      throw system_error(errno, Errc::ecantremove, "removing the folder", folder_);
    if (failed) throw *failed;
  }

 protected:
  bool in_directory() const override { return true; }

 private:
  /// Returns whether it was there, so that data in it may go. An empty folder serves: a file
  /// system may have been told of it how its files are striped.
  bool make_folder(bool exclusive, bool& made) {
    struct stat status {};
    const bool is_there = ::stat(folder_.c_str(), &status) == 0;
    if (is_there && exclusive) throw system_error(EEXIST, Errc::eexist, "creating", folder_);
    if (is_there && S_ISDIR(status.st_mode)) {
      if (directory::is_ours(folder_) || directory::is_unfinished(folder_)) return true;
      throw Error(
          Errc::eexist,
          folder_ + " is a folder with other things in it, or of data files of another file",
          "give the file another name, or empty the folder");
    }
    if (is_there && !S_ISREG(status.st_mode))
      throw Error(Errc::eexist, folder_ + " is no file", "give the file another name");
    if (is_there) remove_whole(folder_);
    if (::mkdir(folder_.c_str(), 0777) != 0)
      throw system_error(errno, Errc::eofile, "creating the folder", folder_);
    made = true;
    return false;
  }

  const Comm& comm_;
  const std::string& folder_;
};

}  // namespace

extern const ContainerEntry directory_container{
    {"directory", "a folder that is taken as one file: header.nc, and data files beside it", 20},
    [](const ContainerSite& site) -> std::unique_ptr<Container> {
      return std::make_unique<DirectoryContainer>(site);
    },
    [](const std::string& path, bool is_directory) {
      return is_directory && directory::is_one(path);
    }};

}  // namespace forebay
