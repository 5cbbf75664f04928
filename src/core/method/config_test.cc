#include "method/config.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "method/part.h"

namespace forebay {
namespace config_test {

std::string refusal(const std::string& text) {
  try {
    parse_config(text, "run.xml");
  } catch (const Error& error) {
    return std::to_string(to_int(error.code())) + ": " + error.what();
  }
  return "none";
}

Method chosen(const std::string& text, const std::string& path) {
  Method method;
  apply_config(parse_config(text, "run.xml"), path, method);
  return method;
}

TEST(Config, all_matching_elements_apply_in_order) {
  const std::string text = R"(<?xml version="1.0"?>
<!-- the run of today -->
<forebay>
  <file match="*.nc" transport="posix" window_size="1MiB"/>
  <file match="restart*.nc" transport="aggregated" aggregators="4">
    <variable match="T*" layout="canonical"/>
    <variable match="T[0-9]" codec="none" />
  </file>
  <file match="hist/*.nc"
        nc_var_align_size="4k"/>
</forebay>
)";
  const Method restart = chosen(text, "/scratch/restart7.nc");
  EXPECT_EQ(restart.transport, "aggregated");
  EXPECT_EQ(restart.aggregators, 4);
  EXPECT_EQ(restart.window_size, 1 << 20);
  EXPECT_EQ(restart.origin.at("transport"), "run.xml:5");
  EXPECT_EQ(restart.origin.at("window_size"), "run.xml:4");
  ASSERT_EQ(restart.variables.size(), 2u);
  EXPECT_EQ(restart.variables[1].pattern, "T[0-9]");
  EXPECT_EQ(restart.variables[1].origin, "run.xml:7");
  EXPECT_EQ(restart.variables[1].keys.at("codec"), "none");

  const Method hist = chosen(text, "hist/a.nc");
  EXPECT_EQ(hist.transport, "posix");
  EXPECT_EQ(hist.var_align, 4096);
  EXPECT_EQ(hist.origin.at("nc_var_align_size"), "run.xml:10");
  EXPECT_TRUE(hist.variables.empty());

  EXPECT_TRUE(chosen(text, "other.cdf").origin.empty());
}

TEST(Config, elements_of_checkpoints_are_for_them_alone) {
  const Config config = parse_config(R"(<forebay>
  <file match="*" codec="deflate:1" checkpoint_memory="1MiB"/>
  <checkpoint match="run" checkpoint_memory="2MiB">
    <variable match="theta" codec="zfp:accuracy=1e-3"/>
  </checkpoint>
</forebay>)",
                                     "run.xml");
  Method file, checkpoint, other;
  apply_config(config, "/scratch/run", file);
  apply_config(config, "/scratch/run", checkpoint, {}, true);
  apply_config(config, "/scratch/walk", other, {}, true);
  EXPECT_EQ(file.checkpoint_memory, 1 << 20);
  EXPECT_TRUE(file.variables.empty());
  EXPECT_EQ(checkpoint.checkpoint_memory, 2 << 20);
  EXPECT_EQ(checkpoint.origin.at("checkpoint_memory"), "run.xml:3");
  EXPECT_EQ(variable_method(checkpoint, "theta")["codec"], "zfp:accuracy=1e-3");
  EXPECT_EQ(other.checkpoint_memory, 1 << 20);
  EXPECT_EQ(refusal("<forebay>\n<checkpoint match='a'><x/></checkpoint></forebay>"),
            "-36: run.xml:2: there is no element <x> here (accepted in <checkpoint>: <variable "
            "match=\"...\" ...>)");
}

TEST(Config, variable_rules_of_matching_names_win_in_order) {
  Method method;
  method.variables = {{"T*", {{"codec", "a"}}, "x:1"}, {"T1", {{"codec", "b"}}, "x:2"}};
  EXPECT_EQ(variable_method(method, "T1").at("codec"), "b");
  EXPECT_EQ(variable_method(method, "T2").at("codec"), "a");
  EXPECT_EQ(variable_method(method, "U").at("codec"), "none");
  EXPECT_EQ(variable_method(method, "U").at("layout"), "canonical");
}

TEST(Config, mistakes_are_found_whichever_element_matches) {
  EXPECT_EQ(chosen("<forebay/>", "x.nc").transport, "auto");
  EXPECT_NE(refusal("<forebay><file match='never' transport='fast'/></forebay>"), "none");
}

TEST(Config, bad_values_name_file_and_line) {
  EXPECT_EQ(refusal("<forebay>\n<file match='a'\n\n  transport='agregated'/></forebay>"),
            "-36: run.xml:4: \"agregated\" is no value of transport (did you mean \"aggregated\"? "
            "accepted: " +
                part_names(PartKind::transport, "|") + ")");
  const std::string unknown = refusal("<forebay>\n<file match='a' agregators='1'/></forebay>");
  EXPECT_EQ(unknown.substr(0, unknown.find("accepted")),
            "-36: run.xml:2: there is no key \"agregators\" (did you mean \"aggregators\"? ");
}

TEST(Config, codecs_of_variables_are_checked) {
  EXPECT_EQ(refusal("<forebay><file match='a'>\n<variable match='T' codec='zfp'/></file></forebay>")
                .substr(0, 22),
            "-36: run.xml:2: codec:");
}

TEST(Config, bad_patterns_are_explained) {
  EXPECT_EQ(refusal("<forebay><file match='a[b'/></forebay>"),
            "-36: run.xml:1: match=\"a[b\" is no pattern: '[' is never closed by ']' (accepted: a "
            "name in which * ? [abc] [a-z] [!abc] stand for characters)");
  EXPECT_EQ(refusal("<forebay>\n<file transport='posix'/></forebay>"),
            "-36: run.xml:2: <file> has no match (give match=\"PATTERN\")");
  EXPECT_EQ(refusal("<forebay>\n<file match=''/></forebay>"),
            "-36: run.xml:2: match=\"\" is no pattern: the pattern is empty (accepted: a name in "
            "which * ? [abc] [a-z] [!abc] stand for characters)");
}

TEST(Config, elements_out_of_place_are_refused) {
  EXPECT_EQ(refusal("<forebay>\n<files match='a'/></forebay>"),
            "-36: run.xml:2: there is no element <files> here (accepted in <forebay>: <file "
            "match=\"...\" ...>, <checkpoint match=\"...\" ...>, <group name=\"...\">, <method "
            "group=\"...\" ...>)");
  EXPECT_EQ(refusal("<foreby/>"),
            "-36: run.xml:1: there is no element <foreby> here (a configuration is one <forebay> "
            "element)");
  EXPECT_EQ(refusal("<forebay>\n\n words </forebay>"),
            "-36: run.xml:3: text where an element was expected: \"words\" (accepted in <forebay>: "
            "<file match=\"...\" ...>, <checkpoint match=\"...\" ...>, <group name=\"...\">, "
            "<method group=\"...\" ...>)");
  EXPECT_EQ(refusal("<forebay><file match='a'>\n<variable match='b'><x/></variable>"
                    "</file></forebay>"),
            "-36: run.xml:2: <variable> holds nothing but attributes (close it with />)");
  EXPECT_EQ(refusal("<forebay transport='posix'/>"),
            "-36: run.xml:1: <forebay> has no attribute transport (set keys in <file match=\"*\" "
            "...>)");
  EXPECT_EQ(refusal("<forebay/>\n<forebay/>"),
            "-36: run.xml:2: a second <forebay> (a configuration is one element)");
}

TEST(Config, keys_of_variables_are_layout_and_codec) {
  const auto in_variable = [](const std::string& attribute) {
    return refusal("<forebay><file match='a'>\n<variable match='b' " + attribute +
                   "='x'/></file></forebay>");
  };
  EXPECT_EQ(in_variable("transport"),
            "-36: run.xml:2: \"transport\" holds for whole files, not for variables (accepted in "
            "<variable>: match, layout, codec)");
  EXPECT_EQ(in_variable("codek"),
            "-36: run.xml:2: there is no key \"codek\" (did you mean \"codec\"? accepted in "
            "<variable>: match, layout, codec)");
}

TEST(Config, malformed_xml_is_refused_with_its_line) {
  EXPECT_EQ(refusal("<forebay>\n<file match='a'>\n</forebay>"),
            "-36: run.xml:3: not well-formed XML: Start-end tags mismatch (see docs/methods.md for "
            "an example)");
  EXPECT_EQ(refusal(""),
            "-36: run.xml:1: not well-formed XML: No document element found (see docs/methods.md "
            "for an example)");
  EXPECT_EQ(refusal("<forebay><file match='a'\n match='b'/></forebay>"),
            "-36: run.xml:1: <file> has match twice (give it once)");
}

}  // namespace config_test
}  // namespace forebay
