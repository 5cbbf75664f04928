// Uses every key with every front end of this program, and checks that the front end does what its
// table says (method/front_end.h). HDF5 programs are tested in hdf5/tests.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "base/attempt.h"
#include "bundles/open_bundles.h"
#include "checkpoints/checkpoint_store.h"
#include "dataset/dataset.h"
#include "files/open_source.h"
#include "groups/records/group_file.h"
#include "method/checkpoint_method.h"
#include "method/front_end.h"
#include "method/key_samples_testing.h"
#include "method/parts_testing.h"
#include "tools/convert/convert_file.h"

namespace forebay {
namespace front_ends_test {

namespace fs = std::filesystem;

class FrontEndsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("FOREBAY_HINTS");
    folder_ = ::testing::TempDir() + "forebay_front_ends_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    const auto made = Dataset::create(Comm(), folder_ + "/in.nc", 2, false, {});
    made->def_dim("x", 10);
    const DimId x = 0;
    made->def_var("v", Type::int32, {&x, 1});
    made->enddef();
    made->close();
  }
  void TearDown() override {
    ::unsetenv("FOREBAY_HINTS");
    ::unsetenv("FOREBAY_REPORT");
    fs::remove_all(folder_);
  }

  static GroupDefinition group() {
    GroupDefinition group = define_group("g", "C");
    GroupVariableText variable;
    variable.name = "n", variable.type = "integer";
    define_variable(group, variable);
    return group;
  }

  /// Makes something through the front end; the program gives `keys`.
  void use(FrontEnd front_end, const HintMap& keys) {
    const std::string path = folder_ + "/out";
    const OwnHints own{keys, "the test"};
    switch (front_end) {
      case FrontEnd::netcdf:
        return Dataset::create(Comm(), path, 2, false, keys)->close();
      case FrontEnd::groups:
      case FrontEnd::group_records: {
        const std::string name = path + (front_end == FrontEnd::groups ? ".bp" : ".nc");
        Method method = choose_method(name, {}, read_method_sources(), "g", own);
        // The choice between the two is tested elsewhere.
        if (!keys.contains("layout")) method.layout = "auto";
        GroupFile::create(Comm(), name, group(), method, false)->close();
        return;
      }
      case FrontEnd::checkpoints:
        return checkpoint::Store(Comm(), path,
                                 choose_checkpoint_method(path, read_method_sources(), own))
            .close(false);
      case FrontEnd::bundles:
        close_bundle(open_bundle(Comm(), "b", keys), [](const Dataset&) { return nullptr; }, {});
        return;
      case FrontEnd::hdf5:
        return;
      default:
        return convert_to(front_end, keys);
    }
  }

  void convert_to(FrontEnd front_end, const HintMap& keys) {
    tools::ConvertOptions options;
    options.in = front_end == FrontEnd::convert_hdf5 ? hdf5_input() : folder_ + "/in.nc";
    options.to = front_end == FrontEnd::convert_bp     ? "bp"
                 : front_end == FrontEnd::convert_hdf5 ? "hdf5"
                 : front_end == FrontEnd::convert_zarr ? "zarr"
                                                       : "netcdf";
    options.out = folder_ + "/out." + options.to;
    options.keys = keys;
    options.force = options.quiet = true;
    for (const std::string& note : convert(Comm(), options).notes) told_ += note + "\n";
  }

  /// The output `hdf5` is a copy of an HDF5 file; of others it is a netCDF file.
  std::string hdf5_input() {
    tools::ConvertOptions options;
    options.in = folder_ + "/in.nc";
    options.out = folder_ + "/in.h5";
    options.to = "netcdf4";
    options.quiet = true;
    if (!fs::exists(options.out)) convert(Comm(), options);
    return options.out;
  }

  /// Returns what the last use() said, in the report or in notes.
  std::string told() {
    std::stringstream text;
    text << told_ << std::ifstream(folder_ + "/report").rdbuf();
    return text.str();
  }

  void clear() {
    for (const fs::directory_entry& one : fs::directory_iterator(folder_))
      if (one.path().stem() != "in") fs::remove_all(one);
    fs::create_directory(folder_ + "/fast");  // for keys that name a folder
    told_.clear();
  }

  std::string folder_, told_;
};

/// Returns whether a sample cannot work in a single process.
bool cannot_be_tried(FrontEnd front_end, const KeySample& sample) {
  if (sample.key == "transport")
    return sample.value == "independent" || sample.value == "collective";
  if (front_end == FrontEnd::checkpoints && sample.key == "redundancy")
    return sample.value != "none";  // one rank has no other node
  // The layout, and netCDF-4 where it is named, decide which front end groups use.
  const bool groups = front_end == FrontEnd::groups || front_end == FrontEnd::group_records;
  return (groups && (sample.key == "layout" || sample.value == "netcdf4")) ||
         (front_end == FrontEnd::convert_hdf5 &&
          !(has_format("hdf5") && is_built("container=netcdf4")));
}

TEST_F(FrontEndsTest, do_with_every_key_what_the_table_says) {
  for (const FrontEndInfo& front_end : front_ends()) {
    if (front_end.id == FrontEnd::hdf5) continue;
    for (const KeySample& sample : key_samples()) {
      if (cannot_be_tried(front_end.id, sample)) continue;
      const KeySpec& spec = *find_key_spec(sample.key);
      std::string value = sample.value;
      if (spec.kind == KeyKind::text) value = folder_ + "/fast";
      const bool honoured = honours(front_end.id, spec, sample.value);
      SCOPED_TRACE(std::string(front_end.title) + ": " + sample.key + "=" + value);

      // A setting for this file.
      clear();
      const auto failed = attempt_to([&] { use(front_end.id, {{sample.key, value}}); });
      const bool lenient = front_end.id == FrontEnd::netcdf || front_end.id == FrontEnd::bundles;
      if (honoured || (lenient && spec.family != KeyFamily::own)) {
        EXPECT_FALSE(failed) << failed->what();
      } else if (!failed) {
        ADD_FAILURE() << "is ignored";
      } else {
        EXPECT_EQ(failed->code(), Errc::enotsupport) << failed->what();
        EXPECT_NE(std::string(failed->what()).find(sample.key + "="), std::string::npos)
            << failed->what();
      }

      // A setting for all files.
      clear();
      ::setenv("FOREBAY_REPORT", ("json:" + folder_ + "/report").c_str(), 1);
      ::setenv("FOREBAY_HINTS", (sample.key + "=" + value).c_str(), 1);
      const auto general = attempt_to([&] { use(front_end.id, {}); });
      ::unsetenv("FOREBAY_HINTS");
      ::unsetenv("FOREBAY_REPORT");
      EXPECT_FALSE(general) << general->what();
      if (front_end.id == FrontEnd::bundles || sample.value == "null") continue;
      const bool noted =
          told().find("FOREBAY_HINTS did not reach this file: ") != std::string::npos;
      EXPECT_EQ(noted, !honoured) << told();
      // The file is classic, has no variables, and no stage is used.
      const bool idle = told().find(" has no effect on this file: it takes ") != std::string::npos;
      if (front_end.id == FrontEnd::netcdf)
        EXPECT_EQ(idle, honoured && spec.needs != nullptr &&
                            !std::string_view(spec.needs).starts_with("container=classic"))
            << told();
    }
  }
}

}  // namespace front_ends_test
}  // namespace forebay
