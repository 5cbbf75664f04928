// The text of generated code. groups/tests compiles and runs it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "groups/generate/group_code.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace generate_test {

GroupDefinition group_of(std::initializer_list<GroupVariableText> variables,
                         const std::string& language = "C") {
  GroupDefinition group = define_group("g", language);
  for (const GroupVariableText& v : variables) define_variable(group, v);
  return group;
}

GroupVariableText variable(const std::string& name, const std::string& type,
                           const std::string& dimensions = {}, const std::string& gwrite = {}) {
  GroupVariableText text;
  text.name = name, text.type = type, text.dimensions = dimensions, text.gwrite = gwrite;
  return text;
}

GroupVariableText global(GroupVariableText text, const std::string& shape,
                         const std::string& offsets) {
  text.global = shape, text.offsets = offsets;
  return text;
}

std::size_t place_of(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << "\nis not in\n" << text;
  return at;
}

std::string refusal(const GroupDefinition& group, Language language = Language::c) {
  try {
    group_code(group, language);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::einval);
    return error.what();
  }
  return "none";
}

TEST(Generate, scalars_come_before_arrays_that_name_them) {
  const auto group = group_of({variable("T", "double", "nx"), variable("nx", "int64", "", "s.n")});
  const std::string code = group_code(group, Language::c).write;
  EXPECT_LT(place_of(code, "const int64_t forebay_value = (s.n);"),
            place_of(code, "forebay_write(forebay_file, \"T\", T)"));
  place_of(code, "INT64_C(8) * (int64_t)(s.n) + INT64_C(8))");
}

TEST(Generate, what_says_the_box_is_not_read) {
  const auto group =
      group_of({variable("nx", "int64"), variable("x0", "int64"), variable("time", "double"),
                global(variable("T", "double", "nx"), "100", "x0")});
  const std::string code = group_code(group, Language::c).read;
  place_of(code, "which box is read: nx, x0 */");
  place_of(code, "time = forebay_value;");
  place_of(code, "forebay_start[] = {(int64_t)(x0)}");
  EXPECT_EQ(code.find("\"nx\""), std::string::npos) << code;
  EXPECT_EQ(code.find("MPI_Scan"), std::string::npos) << code;
}

TEST(Generate, reading_has_the_order_of_the_language_not_of_the_group) {
  auto p = variable("p", "float", "2,n");
  p.joined = "1";
  const auto group = group_of({variable("n", "int64"), p}, "Fortran");
  const std::string c = group_code(group, Language::c).read;
  place_of(c, "forebay_count[] = {(int64_t)(n), INT64_C(2)}");
  place_of(c, "MPI_Scan(&forebay_count[0]");
  const std::string fortran = group_code(group, Language::fortran).read;
  place_of(fortran, "forebay_count = [2_c_int64_t, int(n, c_int64_t)]");
  place_of(fortran, "MPI_Scan(forebay_count(2)");
  const auto other = group_of({variable("own", "float", "2,3")});
  place_of(group_code(other, Language::c).read, "MPI_Scan(&forebay_count[0]");
  place_of(group_code(other, Language::fortran).read, "MPI_Scan(forebay_count(2)");
}

TEST(Generate, names_that_are_none_in_the_language_need_gwrite) {
  EXPECT_NE(refusal(group_of({variable("grid/T", "float", "4")})).find("gwrite"),
            std::string::npos);
  EXPECT_EQ(refusal(group_of({variable("_T", "float", "4")})), "none");
  EXPECT_NE(refusal(group_of({variable("_T", "float", "4")}), Language::fortran), "none");
  EXPECT_NE(refusal(group_of({variable("2T", "float", "4")})), "none");
  const auto group = group_of({variable("a\"b\\?", "float", "4", "x->T")});
  place_of(group_code(group, Language::c).write, "forebay_file, \"a\\\"b\\\\\\?\", x->T)");
  place_of(group_code(group, Language::fortran).write, "forebay_file, \"a\"\"b\\?\", x->T,");
}

TEST(Generate, words_of_the_language_are_no_names) {
  const auto said = [](const std::string& name, Language language) {
    return refusal(group_of({variable(name, "float", "4")}), language);
  };
  for (const char* name : {"int", "short", "new", "while"})
    EXPECT_NE(said(name, Language::c).find("cannot have a variable called"), std::string::npos);
  for (const char* name : {"int", "Real", "CMPLX"})
    EXPECT_NE(said(name, Language::fortran).find("cannot have a variable called"),
              std::string::npos);
  EXPECT_EQ(said("real", Language::c), "none");
  EXPECT_EQ(said("Int", Language::c), "none");
  EXPECT_EQ(said("while", Language::fortran), "none");
  EXPECT_EQ(refusal(group_of({variable("int", "float", "4", "T")})), "none");
}

TEST(Generate, divisors_are_looked_at_before_they_divide) {
  auto a = variable("a", "double", "n/(parts/2),n/2");
  a.joined = "0";
  const auto group = group_of(
      {variable("n", "int64"), variable("parts", "int64"), a, variable("b", "float", "n/4")});
  const GroupCode c = group_code(group, Language::c);
  EXPECT_EQ(c.write.find("parts) /"), std::string::npos) << c.write;
  place_of(c.write, "INT64_C(4) * ((int64_t)(n) / INT64_C(4))");
  place_of(c.read, "forebay_divides = ((int64_t)(parts) / INT64_C(2)) != 0;");
  const GroupCode fortran = group_code(group, Language::fortran);
  EXPECT_LT(place_of(fortran.read, "if (forebay_divides) then"),
            place_of(fortran.read, "forebay_count = [(int(n, c_int64_t) / 2_c_int64_t)"));
}

TEST(Generate, names_of_the_library_are_refused) {
  const auto refused = [](const std::string& name, const std::string& gwrite, Language language) {
    return refusal(group_of({variable(name, "float", "4", gwrite)}), language).find("forebay_") !=
           std::string::npos;
  };
  for (const Language language : {Language::c, Language::fortran}) {
    EXPECT_TRUE(refused("forebay_value", "", language));
    EXPECT_TRUE(refused("T", "a + forebay_start", language));
    EXPECT_TRUE(refused("T", "my_forebay_x+forebay_x", language));
    EXPECT_FALSE(refused("my_forebay_x", "", language));
    EXPECT_FALSE(refused("forebay_value", "T", language));
  }
  EXPECT_TRUE(refused("Forebay_Value", "", Language::fortran));
  EXPECT_FALSE(refused("Forebay_Value", "", Language::c));
}

TEST(Generate, nothing_leaves_its_line_or_comment) {
  EXPECT_NE(refusal(group_of({variable("T\n", "float", "4", "T")})), "none");
  EXPECT_NE(refusal(group_of({variable("T", "float", "4", "T\r")})), "none");
  const auto group = group_of({variable("a*/b", "string", "", "title")});
  place_of(group_code(group, Language::c).read, "a* /b is a string");
}

TEST(Generate, lines_of_fortran_are_cut) {
  const std::string name(300, 'n');
  const auto group = group_of({variable(name, "float", "4", std::string(200, 'w'))});
  std::istringstream code(group_code(group, Language::fortran).write);
  std::string all;
  for (std::string line; std::getline(code, line);) {
    EXPECT_LE(line.size(), 132U);
    if (const auto from = line.find("&"); from != std::string::npos && from < 10)
      line = line.substr(from + 1);
    if (line.ends_with('&')) line.pop_back();
    all += line;
  }
  place_of(all, "forebay_write(forebay_file, \"" + name + "\", " + std::string(200, 'w'));
}

TEST(Generate, complex_numbers_are_passed_where_they_are) {
  const auto group = group_of({variable("z", "complex")});
  place_of(group_code(group, Language::c).write, "forebay_write(forebay_file, \"z\", &(z))");
  place_of(group_code(group, Language::fortran).write, "cmplx(z, kind=c_float_complex)");
}

class GenerateCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("forebay_generate_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string xml(const std::string& groups) const {
    std::ofstream(folder_ / "run.xml") << "<forebay>" << groups << "</forebay>";
    return (folder_ / "run.xml").string();
  }
  bool has(const char* name) const { return std::filesystem::exists(folder_ / name); }

  std::filesystem::path folder_;
};

constexpr const char* one_of_each =
    "<group name='a'><var name='n' type='int64'/></group>"
    "<group name='b' language='Fortran'><var name='n' type='int64'/></group>";

TEST_F(GenerateCommand, writes_two_files_for_each_group_in_its_language) {
  EXPECT_EQ(run_application({"generate", xml(one_of_each), "-o", folder_.string()}), exit_done);
  EXPECT_TRUE(has("gwrite_a.ch") && has("gread_a.ch"));
  EXPECT_TRUE(has("gwrite_b.fh") && has("gread_b.fh"));
}

TEST_F(GenerateCommand, writes_only_groups_that_are_asked_for) {
  const std::string path = xml(one_of_each);
  EXPECT_EQ(run_application({"generate", path, "-g", "b", "-l", "c", "-o", folder_.string()}),
            exit_done);
  EXPECT_TRUE(has("gwrite_b.ch"));
  EXPECT_FALSE(has("gwrite_a.ch"));
  EXPECT_THROW(run_application({"generate", path, "-g", "c"}), Error);
}

TEST_F(GenerateCommand, leaves_no_files_where_something_is_refused) {
  const std::string groups = std::string(one_of_each) + "<group name='../c'/>";
  EXPECT_THROW(run_application({"generate", xml(groups), "-o", folder_.string()}), Error);
  EXPECT_FALSE(has("gwrite_a.ch"));
  EXPECT_THROW(run_application({"generate", xml(""), "-o", folder_.string()}), Error);
  EXPECT_THROW(run_application({"generate", xml(one_of_each), "-o", "/no/such/folder"}), Error);
}

}  // namespace generate_test
}  // namespace forebay::tools
