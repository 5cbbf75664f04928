#include "method/effect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "method/front_end.h"
#include "method/key_samples_testing.h"
#include "method/method_keys.h"
#include "method/part.h"
#include "method/parts_testing.h"

namespace forebay {
namespace effect_test {

std::vector<std::string> told(const std::string& hints, const FileAsMade& file) {
  MethodSources sources;
  sources.forebay_hints = hints;
  return without_effect(choose_method("x.nc", {}, sources), file);
}

/// The layouts of this build that take a codec.
const std::string encoded = std::string("layout=chunked") +
                            (is_built("layout=patches") ? "|patches" : "") +
                            (is_built("layout=decomposed") ? "|decomposed" : "");

const FileAsMade plain{false, {{"T", "canonical"}}};
const FileAsMade chunks{false, {{"T", "canonical"}, {"U", "chunked"}}};

TEST(Effect, a_codec_without_a_layout_is_told_of) {
  const auto lines = told("codec=zstd:3", plain);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "codec=zstd:3 (FOREBAY_HINTS) has no effect on this file: it takes " + encoded);
  EXPECT_TRUE(told("codec=zstd:3", chunks).empty());
  EXPECT_TRUE(told("codec=none", plain).empty());
}

TEST(Effect, keys_tell_what_they_take) {
  for (const char* hints : {"chunk_bytes=64KiB", "subfiling=node", "subfile_ranks=2",
                            "async_memory=1MiB", "pnetcdf_subfiling=enable;layout=chunked"})
    EXPECT_EQ(told(hints, plain).size(), 1u) << hints;
  EXPECT_EQ(told("subfiling=node", chunks).size(), 1u);
  EXPECT_EQ(told("chunk_read=owners", {false, {{"T", "decomposed"}}}).size(), 1u);
  for (const char* layout : {"patches", "decomposed"}) {
    if (!is_built(std::string("layout=") + layout)) continue;
    EXPECT_TRUE(told("subfiling=node;chunk_bytes=64KiB", {false, {{"T", layout}}}).empty());
  }
  EXPECT_TRUE(told("subfiling=node;container=directory", chunks).empty());
  EXPECT_EQ(told("subfiling=node;container=directory", plain).size(), 1u);
  EXPECT_TRUE(told("async_memory=1MiB;stage=async", plain).empty());
  EXPECT_TRUE(told("pnetcdf_subfiling=enable", {false, {{"T", "decomposed"}}}).empty());
  if (find_part(PartKind::stage, "burst"))
    EXPECT_EQ(told("burst_flush_size=1MiB", plain).size(), 1u);
}

TEST(Effect, what_aggregators_are_told_is_told_of_where_nobody_aggregates) {
  FileAsMade exchanged = plain;
  exchanged.in_windows = true;
  for (const std::string hint : {"aggregators=2", "aggregators=1/node", "window_size=1MiB",
                                 "cb_nodes=2", "cb_config_list=*:1", "cb_buffer_size=1048576"}) {
    EXPECT_EQ(told(hint, plain).size(), 1u) << hint;
    EXPECT_TRUE(told(hint, exchanged).empty()) << hint;
    for (const std::string transport : {"posix", "independent"})
      EXPECT_EQ(told(hint + ";transport=" + transport, exchanged).size(), 1u) << hint;
    EXPECT_TRUE(told(hint + ";transport=aggregated", exchanged).empty()) << hint;
    // MPI-IO uses its own hints.
    EXPECT_EQ(told(hint + ";transport=collective", plain).size(), hint.starts_with("cb_") ? 0u : 1u)
        << hint;
  }
  EXPECT_EQ(told("window_size=1MiB", plain)[0],
            "window_size=1048576 (FOREBAY_HINTS) has no effect on this file: it takes "
            "transport=auto|aggregated and file=in windows");
}

TEST(Effect, what_bundles_are_told_is_told_of_a_file_that_is_in_none) {
  FileAsMade member = plain;
  member.in_bundle = true;
  for (const char* hint : {"bundle_files=2", "bundle_scheme=bps", "bundle_memory=1MiB",
                           "bundle_async=enable", "bundle_create=later"}) {
    EXPECT_EQ(told(hint, plain).size(), 1u) << hint;
    EXPECT_TRUE(told(hint, member).empty()) << hint;
  }
  EXPECT_TRUE(told("bundle_scheme=auto;bundle=a", plain).empty());
}

TEST(Effect, a_layout_that_variables_do_not_have_as_they_were_there_before_is_told_of) {
  FileAsMade opened{true, {{"T", "canonical"}, {"U", "chunked"}, {"new", "chunked"}}};
  EXPECT_TRUE(told("layout=chunked", opened).empty());  // for reading
  opened.found = {{"T", "canonical"}, {"U", "chunked"}};
  ASSERT_EQ(told("layout=chunked", opened).size(), 1u);
  EXPECT_EQ(told("layout=chunked", opened)[0],
            "layout=chunked (FOREBAY_HINTS) has no effect on variables that were in the file "
            "before: T");
  EXPECT_TRUE(told("", opened).empty());
  EXPECT_TRUE(told("layout=canonical", opened).empty());
  opened.found = {{"T", "canonical"}};
  for (const char* name : {"A", "B", "C", "D"}) opened.found[name] = "canonical";
  EXPECT_TRUE(told("layout=chunked", opened)[0].ends_with("before: A, B, C and 2 others"));

  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*'><variable match='T*' layout='chunked'/></file></forebay>";
  const Method method = choose_method("x.nc", {}, sources);
  ASSERT_EQ(without_effect(method, opened).size(), 1u);
  EXPECT_EQ(without_effect(method, opened)[0],
            "layout=chunked (run.xml:1, variables T*) has no effect on variables that were in the "
            "file before: T");
}

TEST(Effect, a_rule_for_variables_is_told_of_where_none_of_them_is_encoded) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*'><variable match='T*' codec='zstd:1'/></file></forebay>";
  const Method method = choose_method("x.nc", {}, sources);
  ASSERT_EQ(without_effect(method, chunks).size(), 1u);
  EXPECT_EQ(
      without_effect(method, chunks)[0],
      "codec=zstd:1 (run.xml:1, variables T*) has no effect on this file: it takes " + encoded);
  EXPECT_TRUE(without_effect(method, {false, {{"T", "chunked"}}}).empty());
  EXPECT_TRUE(without_effect(method, {false, {{"U", "canonical"}}}).empty());
}

/// Conditions of keys only use existing keys and values.
TEST(Effect, needs_are_words_of_the_table) {
  for (const KeySpec& spec : key_specs()) {
    if (!spec.needs) continue;
    SCOPED_TRACE(spec.shown.name);
    std::string text = spec.needs;
    for (const std::string between : {" or ", " and "})
      for (std::size_t at; (at = text.find(between)) != std::string::npos;)
        text.replace(at, between.size(), ";");
    text += ";";
    for (std::size_t at = 0, end; (end = text.find(';', at)) != std::string::npos; at = end + 1) {
      const std::string word = text.substr(at, end - at);
      if (word == "file=opened" || word == "file=in windows" || word == "file=in a bundle")
        continue;
      const std::size_t equals = word.find('=');
      ASSERT_NE(equals, std::string::npos) << word;
      const KeySpec* key = find_key_spec(word.substr(0, equals));
      ASSERT_NE(key, nullptr) << word;
      for (std::size_t from = equals + 1, to; from <= word.size(); from = to + 1) {
        to = std::min(word.find('|', from), word.size());
        const std::string value = word.substr(from, to - from);
        EXPECT_TRUE(std::find(key->words.begin(), key->words.end(), value) != key->words.end() ||
                    absent(key->shown.name, value, ""))
            << value;
      }
    }
  }
}

}  // namespace effect_test
}  // namespace forebay
