#include "method/front_end.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "method/key_samples_testing.h"
#include "method/method.h"
#include "method/method_keys.h"

namespace forebay {
namespace front_end_test {

const KeySpec& key(const char* name) { return *find_key_spec(name); }

/// The source of a setting: the program's MPI_Info or own settings, a rule for one file or for all,
/// or the environment.
enum class By { program, own_words, rule_for_the_file, rule_for_all, environment };

Method method_with(const std::string& name, const std::string& value, By by) {
  MethodSources sources;
  OwnHints own{{}, "the program"};
  HintMap api;
  if (by == By::program) api[name] = value;
  if (by == By::own_words) own.keys[name] = value;
  if (by == By::environment) sources.forebay_hints = name + "=" + value;
  if (by == By::rule_for_the_file || by == By::rule_for_all) {
    sources.config_name = "run.xml";
    sources.config_text = "<forebay><file match='" +
                          std::string(by == By::rule_for_all ? "*" : "file.dat") + "' " + name +
                          "='" + value + "'/></forebay>";
  }
  return choose_method("/dir/file.dat", api, sources, {}, own);
}

bool mentions(const Method& method, const std::string& name) {
  for (const std::string& note : method.notes)
    if (note.find(name + "=") != std::string::npos) return true;
  return false;
}

/// For every key, front end and source, a setting is applied, refused, or reported.
TEST(FrontEnd, no_key_is_ignored_in_silence) {
  for (const FrontEndInfo& front_end : front_ends()) {
    for (const KeySample& sample : key_samples()) {
      const KeySpec& spec = key(sample.key.c_str());
      const bool honoured = honours(front_end.id, spec, sample.value);
      for (const By by :
           {By::program, By::own_words, By::rule_for_the_file, By::rule_for_all, By::environment}) {
        SCOPED_TRACE(std::string(front_end.title) + " " + sample.key + "=" + sample.value + " " +
                     std::to_string(static_cast<int>(by)));
        Method method = method_with(sample.key, sample.value, by);
        ASSERT_TRUE(method.origin.contains(sample.key));
        const bool foreign = spec.family != KeyFamily::own;
        const bool named =
            by == By::own_words || by == By::rule_for_the_file || (by == By::program && !foreign);
        try {
          keep_honoured(method, front_end.id);
          const bool holds = method.origin.contains(sample.key) &&
                             method_value(method, sample.key) == sample.shown;
          const bool goes_on = by == By::program && spec.family == KeyFamily::mpi_io &&
                               front_end.id == FrontEnd::hdf5;
          const bool by_its_files = front_end.id == FrontEnd::bundles && !named;
          EXPECT_EQ(holds, honoured || goes_on);
          EXPECT_TRUE(honoured || goes_on || !named) << "neither honoured nor refused";
          if (!holds) {
            EXPECT_EQ(method_value(method, sample.key), method_value(Method{}, sample.key));
          }
          EXPECT_EQ(mentions(method, sample.key), !holds && !by_its_files);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Errc::enotsupport) << error.what();
          EXPECT_TRUE(named && !honoured) << error.what();
          EXPECT_NE(std::string(error.what()).find(sample.key + "="), std::string::npos)
              << error.what();
        }
      }
    }
  }
}

TEST(FrontEnd, what_is_refused_says_who_named_it_and_what_would_do) {
  Method method = choose_method("x.h5", {{"layout", "patches"}}, MethodSources{});
  try {
    keep_honoured(method, FrontEnd::hdf5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "MPI_Info: HDF5 files through the connector have no layout=patches (accepted here: "
        "auto|canonical|chunked|log; layout=patches is for netCDF files (docs/pnetcdf.md), netCDF "
        "files of groups (docs/groups.md))");
  }
  EXPECT_EQ(method.layout, "patches");
}

TEST(FrontEnd, a_general_rule_that_does_not_reach_a_file_leaves_its_defaults) {
  MethodSources sources;
  sources.forebay_hints = "layout=patches;codec=zstd:3;stage=burst;compact=close";
  Method method = choose_method("x.h5", {}, sources);
  keep_honoured(method, FrontEnd::hdf5);
  EXPECT_EQ(method.layout, "canonical");
  EXPECT_EQ(method.codec, "zstd:3");
  EXPECT_EQ(method.stage, "auto");
  EXPECT_EQ(method.compact, Compact::close);
  EXPECT_FALSE(method.origin.contains("layout"));
  EXPECT_EQ(method.notes.size(), 2u);
  EXPECT_TRUE(mentions(method, "stage"));
}

/// The weaker choice, which the front end honours, applies with its origin.
TEST(FrontEnd, a_general_rule_that_does_not_reach_a_file_leaves_the_weaker_choice) {
  MethodSources sources;
  sources.forebay_hints = "layout=log;transport=null";
  Method method =
      choose_method("x.nc", {{"layout", "chunked"}, {"transport", "collective"}}, sources);
  keep_honoured(method, FrontEnd::netcdf);
  EXPECT_EQ(method.layout, "chunked");
  EXPECT_EQ(method.transport, "collective");
  EXPECT_EQ(method.origin_of("layout"), "MPI_Info");
  EXPECT_TRUE(mentions(method, "layout"));
  for (const std::string& note : method.notes)
    EXPECT_EQ(note.find("is overruled by"), std::string::npos) << note;

  sources.forebay_hints.clear();
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*.nc' layout='chunked'/>\n<file match='*' layout='log'/></forebay>";
  method = choose_method("x.nc", {{"layout", "patches"}}, sources);
  keep_honoured(method, FrontEnd::netcdf);
  EXPECT_EQ(method.layout, "chunked");
  EXPECT_EQ(method.origin_of("layout"), "run.xml:1");
  ASSERT_EQ(method.notes.size(), 2u);
  EXPECT_EQ(method.notes[0],
            "layout=patches (MPI_Info) is overruled by layout=chunked (run.xml:1)");
}

TEST(FrontEnd, a_general_rule_does_not_hide_what_is_named_for_the_file_and_cannot_be) {
  MethodSources sources;
  sources.forebay_hints = "layout=decomposed";
  Method method = choose_method("x.h5", {{"layout", "patches"}}, sources);
  EXPECT_THROW(keep_honoured(method, FrontEnd::hdf5), Error);
}

/// cb_nodes is an alias of aggregators, and nc_burst_buf of stage. Messages name the key that was
/// set, and no other.
TEST(FrontEnd, words_of_other_libraries_are_told_as_they_were_said) {
  MethodSources sources;
  sources.pnetcdf_hints = "cb_buffer_size=1048576;nc_burst_buf=enable";
  Method method = choose_method("x.h5", {{"cb_nodes", "2"}, {"nc_var_align_size", "512"}}, sources);
  keep_honoured(method, FrontEnd::hdf5);
  EXPECT_EQ(method.passed_on.at("cb_nodes"), "2");  // HDF5 passes it to MPI-IO
  EXPECT_FALSE(mentions(method, "cb_nodes"));
  EXPECT_TRUE(mentions(method, "cb_buffer_size"));
  EXPECT_TRUE(mentions(method, "nc_burst_buf"));
  EXPECT_TRUE(mentions(method, "nc_var_align_size"));
  EXPECT_FALSE(mentions(method, "window_size"));
  EXPECT_FALSE(mentions(method, "aggregators"));
  EXPECT_FALSE(mentions(method, "stage"));
  EXPECT_EQ(method.stage, "auto");
  EXPECT_EQ(method.window_size, 0);
}

TEST(FrontEnd, rules_for_variables_are_told_of_too) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*'><variable match='T*' layout='patches'/></file></forebay>";
  Method method = choose_method("x.h5", {}, sources);
  keep_honoured(method, FrontEnd::hdf5);
  ASSERT_EQ(method.notes.size(), 1u);
  EXPECT_EQ(method.notes[0],
            "run.xml:1 did not reach this file: HDF5 files through the connector have no "
            "layout=patches (variables T*)");
  EXPECT_EQ(variable_value(method, "T1", "layout"), "canonical");
  sources.config_text =
      "<forebay><file match='x.h5'><variable match='T' layout='patches'/></file></forebay>";
  method = choose_method("x.h5", {}, sources);
  EXPECT_THROW(keep_honoured(method, FrontEnd::hdf5), Error);
}

TEST(FrontEnd, a_rule_for_variables_over_the_programs_word_is_told_of) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*' layout='chunked'><variable match='T' codec='zstd:2'/></file>"
      "</forebay>";
  Method method = choose_method("x.nc", {}, sources, {}, {{{"codec", "deflate:3"}}, "--method"});
  keep_honoured(method, FrontEnd::convert_netcdf);
  ASSERT_EQ(method.notes.size(), 1u);
  EXPECT_EQ(method.notes[0],
            "codec=deflate:3 (--method) of variables T is overruled by codec=zstd:2 (run.xml:1)");
  EXPECT_EQ(variable_value(method, "T", "codec"), "zstd:2");

  // The environment takes precedence over both, and only it is reported.
  sources.forebay_hints = "codec=none";
  method = choose_method("x.nc", {}, sources, {}, {{{"codec", "deflate:3"}}, "--method"});
  keep_honoured(method, FrontEnd::convert_netcdf);
  EXPECT_EQ(method.notes.size(), 1u);
}

}  // namespace front_end_test
}  // namespace forebay
