// The container `directory` (Hou 2023, §7.1): a folder that is treated as one file. DIR/header.nc
// is a classic file. DIR also holds the data of chunked and decomposed variables
// (storage/directory.h). So a file of many data files is moved, copied and removed by one name.
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
    // The old data go only now: if creating fails, the old file is whole.
    if (replaces) directory::remove_data(folder_);
    return false;
  }

  // The user renames the folder, not the header.
  std::string place_now() override {
    const std::string place = ClassicContainer::place_now();
    return place == header || !directory::is_header(place) ? folder_
                                                           : directory::folder_beside(place);
  }
  void moved(const std::string& path) override {
    header = directory::header_of(path);
    ClassicContainer::moved(header);
  }

  void remove(const std::string& place) override {
    const std::string definitions = directory::header_of(place);
    if (!may_be_at(definitions)) return;  // another file has the name now
    const auto failed = attempt_to([&] {
      if (directory::is_ours(place)) directory::remove_data(place);
      ClassicContainer::remove(definitions);
    });
    const bool gone = ::rmdir(directory::end_of_links(place).c_str()) == 0 || errno == ENOENT;
    if (gone && directory::is_link(place)) ::unlink(place.c_str());
    if (!gone && !failed)
      throw system_error(errno, Errc::ecantremove, "removing the folder", place);
    if (failed) throw *failed;
  }

 protected:
  bool in_directory() const override { return true; }

 private:
  /// Returns whether the folder was there, so that data in it may be removed. An empty folder is
  /// accepted: a user may have set its striping in the file system.
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
    const unsigned mode = is_there ? directory::mode_for(status.st_mode) : 0777;
    if (::mkdir(directory::to_make(folder_).c_str(), mode) != 0)
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
    },
    true};

}  // namespace forebay
