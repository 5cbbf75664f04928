// A container in one file, which no other file of the library knows: a folder, with a classic file
// named `values` in it.
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "comm/agree.h"
#include "container/classic/classic.h"

namespace forebay {

std::atomic<Count> toy_looks = 0;  // looked at by the tests

namespace {

constexpr const char* values = "/values";

struct Inside {
  std::string inside;
};

class ToyContainer : private Inside, public ClassicContainer {
 public:
  explicit ToyContainer(const ContainerSite& site)
      : Inside{site.path + values},
        ClassicContainer({site.comm, inside, site.method, site.schema, site.report, site.writable,
                          site.batches}),
        comm_(site.comm),
        folder_(site.path) {}

  void create(bool exclusive, bool& made) override {
    by_root(comm_, [&] {
      made = ::mkdir(folder_.c_str(), 0777) == 0;
      if (!made && (errno != EEXIST || !std::filesystem::is_directory(folder_)))
        throw system_error(errno, Errc::eofile, "creating", folder_);
    });
    ClassicContainer::create(exclusive, made);
  }
  void remove() override { std::filesystem::remove_all(folder_); }

 private:
  const Comm& comm_;
  const std::string& folder_;
};

}  // namespace

extern const ContainerEntry toy_container{
    {"toy", "a folder with a classic file in it", 900},
    [](const ContainerSite& site) -> std::unique_ptr<Container> {
      return std::make_unique<ToyContainer>(site);
    },
    [](const FoundFile& file) {
      ++toy_looks;
      if (!file.is_directory) return false;
      if (std::filesystem::is_directory(file.path + values))
        throw Error(Errc::enotnc, file.path + ": the values are a folder");
      return std::filesystem::exists(file.path + values);
    }};

namespace {
const AddedPart added(toy_container);
}

}  // namespace forebay
