#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "method/config.h"
#include "method/group_methods.h"

namespace forebay {
namespace group_config_test {

std::string refusal(const std::string& inner) {
  try {
    parse_config("<forebay>\n" + inner + "\n</forebay>", "run.xml");
  } catch (const Error& error) {
    return std::to_string(to_int(error.code())) + ": " + error.what();
  }
  return "none";
}

std::string refused_in_group(const std::string& inner) {
  return refusal(
      "<group name=\"g\">\n<var name=\"nx\" type=\"int64\"/><var name=\"x\" type=\"double\"/>\n" +
      inner + "\n</group>");
}

::testing::AssertionResult says(const std::string& text, const std::string& what) {
  if (text.find(what) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << text << " does not say " << what;
}

constexpr const char* restart = R"(<forebay>
  <group name="restart" language="C">
    <var name="nx" type="int64"/> <var name="x0" type="integer"/> <var name="np" type="unsigned long"/>
    <global dimensions="4*nx,64" offsets="x0,0">
      <var name="T" type="double" dimensions="nx,64" gwrite="temp" characteristics="minmax"/>
    </global>
    <var name="ions" type="float" dimensions="np,7" joined="0" steps="once"/>
    <var name="own" type="double complex" dimensions="np"/>
    <attribute name="T/units" value="K"/>
    <attribute name="levels" value="1, 2.5" type="double"/>
  </group>
  <method group="restart" buffer_limit="1MiB" transport="posix"/>
  <file match="*" buffer_limit="8MiB"/>
</forebay>)";

TEST(GroupConfig, groups_are_what_is_written) {
  const Config config = parse_config(restart, "run.xml");
  ASSERT_EQ(config.groups.size(), 1u);
  const GroupDefinition& group = config.groups[0];
  EXPECT_EQ(group.name, "restart");
  EXPECT_EQ(group.line, 2);
  EXPECT_FALSE(group.column_major);
  ASSERT_EQ(group.variables.size(), 6u);
  const GroupVariable* t = group.find("T");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->type, GroupType::float64);
  ASSERT_EQ(t->global.size(), 2u);
  EXPECT_EQ(t->global[0].text(), "4*nx");
  EXPECT_EQ(t->offsets[1].text(), "0");
  EXPECT_EQ(t->dimensions[1].text(), "64");
  EXPECT_EQ(t->gwrite, "temp");
  EXPECT_FALSE(t->joined);
  const GroupVariable* ions = group.find("ions");
  ASSERT_NE(ions, nullptr);
  EXPECT_EQ(ions->joined, 0);
  EXPECT_TRUE(ions->once);
  EXPECT_TRUE(ions->global.empty());
  EXPECT_EQ(group.find("own")->type, GroupType::complex128);
  EXPECT_EQ(group.find("x0")->type, GroupType::int32);
  ASSERT_EQ(group.attributes.size(), 2u);
  EXPECT_EQ(group.attributes[0].type, GroupType::string);
  EXPECT_EQ(group.attributes[1].type, GroupType::float64);
}

TEST(GroupConfig, a_groups_method_beats_the_files) {
  const Config config = parse_config(restart, "run.xml");
  Method method;
  apply_config(config, "out", method, "restart");
  EXPECT_EQ(method.buffer_limit, 1 << 20);
  EXPECT_EQ(method.transport, "posix");
  EXPECT_EQ(method.origin.at("transport"), "run.xml:12");
  Method other;
  apply_config(config, "out", other);
  EXPECT_EQ(other.buffer_limit, 8 << 20);
  EXPECT_EQ(other.transport, "auto");
}

TEST(GroupConfig, each_method_of_a_group_is_one_by_itself) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text = R"(<forebay>
    <method group="g" transport="posix"/>
    <method group="other" buffer_limit="1MiB"/>
    <method group="g" buffer_limit="2MiB" subfiling="node"/>
    <method group="g" method="null" buffer_limit="4MiB"/>
  </forebay>)";
  EXPECT_EQ(methods_of_group(sources, "g"), 3U);
  EXPECT_EQ(methods_of_group(sources, "other"), 1U);
  EXPECT_EQ(methods_of_group(sources, "none"), 0U);
  EXPECT_EQ(methods_of_group({}, "g"), 0U);
  const auto method = [&](std::size_t which) {
    return choose_group_method("out", sources, "g", which);
  };
  EXPECT_EQ(method(0).transport, "posix");
  EXPECT_EQ(method(0).buffer_limit, Method{}.buffer_limit);
  EXPECT_EQ(method(1).transport, "auto");
  EXPECT_EQ(method(1).buffer_limit, 2 << 20);
  EXPECT_EQ(method(2).layout, "null");
  EXPECT_EQ(method(2).buffer_limit, 4 << 20);
  EXPECT_EQ(method(2).origin.at("buffer_limit"), "run.xml:5");
  EXPECT_EQ(method(2).origin.at("layout"), "run.xml:5, method=null");
}

TEST(GroupConfig, the_environment_beats_a_groups_method) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text = restart;
  sources.forebay_hints = "buffer_limit=2MiB";
  const Method method = choose_method("out", {}, sources, "restart");
  EXPECT_EQ(method.buffer_limit, 2 << 20);
  EXPECT_EQ(method.transport, "posix");
}

TEST(GroupConfig, mistakes_are_told_with_their_line) {
  EXPECT_TRUE(says(refusal("<groups/>"), "run.xml:2: there is no element <groups>"));
  EXPECT_TRUE(says(refusal("<group/>"), "run.xml:2: a group has no name"));
  EXPECT_TRUE(says(refusal("<group name=\"g\" language=\"Pascal\"/>"), "accepted: C, Fortran"));
  EXPECT_TRUE(says(refusal("<group name=\"g\" languge=\"C\"/>"), "did you mean \"language\"?"));
  EXPECT_TRUE(
      says(refusal("<group name=\"g\"/>\n<group name=\"g\"/>"), "run.xml:3: a second group g"));
  EXPECT_TRUE(says(refusal("<method transport=\"posix\"/>"), "<method> has no group"));
  EXPECT_TRUE(says(refusal("<method group=\"g\" transport=\"pigeon\"/>"), "run.xml:2"));
  EXPECT_TRUE(says(refusal("<group name=\"restart\"/><method group=\"restrat\"/>"),
                   "did you mean \"restart\"?"));
  EXPECT_EQ(refusal("<method group=\"by_calls\" transport=\"posix\"/>"), "none");
  EXPECT_TRUE(says(refusal("<method group=\"g\" method=\"VAR_MERGE\"/>"),
                   "run.xml:2: ADIOS's method VAR_MERGE has nothing like it here"));
  EXPECT_TRUE(says(refusal("<method group=\"g\"\nmethod=\"MPI_AGREGATE\"/>"),
                   "run.xml:3: \"MPI_AGREGATE\" is no method of ADIOS (did you mean "
                   "\"MPI_AGGREGATE\"?"));
  EXPECT_TRUE(says(refusal("<method group=\"g\" method=\"MPI\">num_aggregators=4</method>"),
                   "<method> holds nothing but attributes"));
}

TEST(GroupConfig, variables_that_make_no_sense_are_refused) {
  EXPECT_TRUE(says(refused_in_group("<var type=\"int8\"/>"),
                   "run.xml:4: a variable of group g has no name"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\"/>"), "there is no type"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"int9\"/>"), "accepted: int8"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"nx\" type=\"int8\"/>"), "two variables nx"));
  EXPECT_TRUE(
      says(refused_in_group("<var name=\"v\" type=\"int8\" dimensions=\"4*\"/>"), "character 3"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"int8\" dimensions=\"ny\"/>"),
                   "names ny, which group g does not have"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"int8\" dimensions=\"x\"/>"),
                   "names x, which is no integer scalar"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"string\" dimensions=\"nx\"/>"),
                   "array of strings"));
  EXPECT_TRUE(
      says(refused_in_group("<var name=\"v\" type=\"int8\" dimensions=\"nx\" joined=\"1\"/>"),
           "none of its dimensions"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"int8\" steps=\"twice\"/>"),
                   "accepted: every, once"));
  EXPECT_TRUE(
      says(refused_in_group("<var name=\"v\" type=\"int8\">1</var>"), "nothing but attributes"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"int8\" size=\"3\"/>"),
                   "has no attribute size"));
  EXPECT_TRUE(
      says(refused_in_group(
               "<var name=\"v\" type=\"int8\" characteristics=\"minmax,histogram:0,1,5\"/>"),
           "no array of real numbers"));
  const auto wrong = [](const std::string& list) {
    return refused_in_group("<var name=\"v\" type=\"int8\" dimensions=\"4\" characteristics=\"" +
                            list + "\"/>");
  };
  for (const char* list :
       {"histogram:0,1", "histogram:1,1,5", "histogram:0,1,0", "histogram:0,1,2e9",
        "histogram:0,nan,5", "histogram:-1e308,1e308,5", "histogram:0,5e-324,9", "histogram:,,"})
    EXPECT_TRUE(says(wrong(list), "no least and greatest value and number of bins")) << list;
  EXPECT_TRUE(says(wrong("median"), "\"median\" is none"));
  EXPECT_TRUE(says(refused_in_group("<var name=\"v\" type=\"int8\" dimensions=\"4\" "
                                    "characteristics=\"histogram:0,1,2\"/>"
                                    "<var name=\"v.histogram\" type=\"int8\"/>"),
                   "has two variables v.histogram"));
}

// Calls may continue after an error, and a variable's histogram directly follows it.
TEST(GroupConfig, a_variable_whose_histogram_is_refused_is_not_there) {
  GroupDefinition group = define_group("g", "C");
  GroupVariableText counts{"v.histogram", "int8", {}, {}, {}, {}, {}, {}, {}};
  GroupVariableText v{"v", "int8", "4", {}, {}, {}, {}, {}, "histogram:0,1,2"};
  define_variable(group, counts);
  EXPECT_THROW(define_variable(group, v), Error);
  define_attribute(group, "w.histogram/bounds", "1", "int8");
  GroupVariableText w = v;
  w.name = "w";
  EXPECT_THROW(define_variable(group, w), Error);
  EXPECT_EQ(group.find("v"), nullptr);
  EXPECT_EQ(group.find("w"), nullptr);
  EXPECT_EQ(group.variables.size(), 1U);
  EXPECT_EQ(group.attributes.size(), 1U);
  v.name = "u";
  define_variable(group, v);
  ASSERT_EQ(group.variables.size(), 3U);
  EXPECT_EQ(group.variables[2].name, "u.histogram");
}

TEST(GroupConfig, global_arrays_have_as_many_offsets_as_dimensions) {
  const std::string var = "<var name=\"v\" type=\"int8\" dimensions=\"nx\"/>";
  EXPECT_TRUE(says(refused_in_group("<global dimensions=\"9\">" + var + "</global>"),
                   "lacks dimensions or offsets"));
  EXPECT_TRUE(
      says(refused_in_group("<global dimensions=\"9,9\" offsets=\"0,0\">" + var + "</global>"),
           "1 dimensions in an array of 2 with 2 offsets"));
  EXPECT_TRUE(
      says(refused_in_group("<global dimensions=\"9\" offsets=\"0,0\">" + var + "</global>"),
           "with 2 offsets"));
  EXPECT_TRUE(
      says(refused_in_group("<global dimensions=\"9\" offsets=\"0\"><var name=\"v\" type=\"int8\" "
                            "dimensions=\"nx\" joined=\"0\"/></global>"),
           "joined, and part of a global array"));
  EXPECT_EQ(refused_in_group("<global dimensions=\"9\" offsets=\"0\">" + var + "</global>"),
            "none");
}

TEST(GroupConfig, attributes_are_of_their_type) {
  EXPECT_TRUE(says(refused_in_group("<attribute value=\"1\"/>"), "has no name"));
  EXPECT_TRUE(says(refused_in_group("<attribute name=\"a\" value=\"300\" type=\"int8\"/>"),
                   "\"300\" is no int8"));
  EXPECT_TRUE(says(refused_in_group("<attribute name=\"a\" value=\"1,\" type=\"double\"/>"),
                   "is no double"));
  EXPECT_TRUE(says(
      refused_in_group("<attribute name=\"a\" value=\"1\"/><attribute name=\"a\" value=\"1\"/>"),
      "two attributes a"));
}

// Users' programs edit this file. Whatever it contains, the result is an error with a line, or a
// group whose extents can be computed or are refused.
TEST(GroupConfig, damage_is_an_error_or_a_group) {
  const std::string whole = restart;
  int refused = 0, taken = 0;
  const auto look = [&](const std::string& text) {
    try {
      const Config config = parse_config(text, "run.xml");
      ++taken;
      for (const GroupDefinition& group : config.groups)
        for (const GroupVariable& v : group.variables)
          for (const Expression& e : v.global) try {
              e.value([](std::string_view) { return std::optional<Count>(Count{1} << 60); });
            } catch (const Error&) {
            }
    } catch (const Error& error) {
      ++refused;
      EXPECT_FALSE(std::string(error.what()).empty());
    }
  };
  const std::string marks = "<>\"/*+-()&;,:=9n \n";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    look(whole.substr(0, at));
    look(whole.substr(0, at) + whole.substr(at + 1));
    for (const char mark : marks + std::string("\0\xff", 2)) {
      std::string text = whole;
      text[at] = mark;
      look(text);
      look(text.insert(at, 3, mark));
    }
  }
  look("<forebay>" + std::string(100'000, '<') + "</forebay>");
  look("<forebay><group name=\"g\"><global dimensions=\"" + std::string(100'000, '(') +
       "\" offsets=\"0\"/></group></forebay>");
  look("<forebay><group name=\"g\"><global dimensions=\"" + std::string(100'000, '-') +
       "1\" offsets=\"0\"><var name=\"x\" dimensions=\"1\" "
       "type=\"double\"/></global></group></forebay>");
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 1000);
}

}  // namespace group_config_test
}  // namespace forebay
