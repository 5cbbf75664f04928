// Runs the subcommands in this process, on a file written byte by byte.
#include "tools/commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/byteorder.h"
#include "base/error.h"
#include "method/part.h"
#include "tools/application.h"

namespace forebay::tools {
namespace commands_test {

// Builds a CDF-1 file field by field.
class Bytes {
 public:
  Bytes& number(std::int32_t value) {
    std::byte bytes[4];
    store_be(bytes, value);
    return append(bytes, 4);
  }
  Bytes& real(float value) {
    std::byte bytes[4];
    store_be(bytes, value);
    return append(bytes, 4);
  }
  Bytes& raw(const std::string& text) { return append(text.data(), text.size()); }
  // Appends length, characters, padding.
  Bytes& text(const std::string& text) {
    number(static_cast<std::int32_t>(text.size()));
    raw(text);
    return raw(std::string((4 - text.size() % 4) % 4, '\0'));
  }
  const std::string& all() const { return bytes_; }

 private:
  Bytes& append(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }
  std::string bytes_;
};

constexpr int dimensions = 10, variables = 11, attributes = 12, chars = 2, ints = 4, floats = 5;
constexpr float fill = 9.9692099683868690e+36f;

// time = 2 (unlimited), x = 3; int v(x) with units; float r(time, x) with one fill value.
std::string sample_file() {
  Bytes file;
  file.raw("CDF\x01").number(2);
  file.number(dimensions).number(2).text("time").number(0).text("x").number(3);
  file.number(attributes).number(1).text("title").number(chars).text("a\nb");
  file.number(variables).number(2);
  file.text("v").number(1).number(1);
  file.number(attributes).number(1).text("scale_factor").number(floats).number(1).real(0.5f);
  file.number(ints).number(12).number(200);
  file.text("r").number(2).number(0).number(1);
  file.number(0).number(0);
  file.number(floats).number(12).number(212);
  EXPECT_LE(file.all().size(), 200u);
  file.raw(std::string(200 - file.all().size(), '\0'));
  file.number(10).number(20).number(30);
  file.real(1).real(2).real(3).real(4).real(fill).real(6);
  return file.all();
}

class CommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string stem = ::testing::TempDir() + "forebay_commands_" + std::to_string(getpid());
    path_ = stem + ".nc";
    xml_ = stem + ".xml";
    save(path_, sample_file());
  }
  void TearDown() override {
    for (const std::string& path : {path_, xml_}) std::remove(path.c_str());
  }

  static void save(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  // Returns what the command prints, or the text of the Error that it throws.
  std::string run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    std::string text;
    status_ = exit_usage;
    try {
      status_ = run_application(std::move(arguments));
    } catch (const Error& error) {
      text = error.what();
    }
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout() + text;
  }

  std::string path_, xml_;
  int status_ = exit_usage;
};

TEST_F(CommandsTest, info_as_json_tells_schema_and_byte_ranges) {
  const auto json = nlohmann::json::parse(run({"info", "--json", path_}));
  EXPECT_EQ(status_, exit_done);
  auto expected = nlohmann::json::parse(R"({
    "format": "CDF-1", "file_size": 236, "expected_size": 236,
    "header": {"size": 0, "extent": 200},
    "records": {"dimension": "time", "count": 2, "added": 0, "size": 12, "begin": 212},
    "dimensions": [{"name": "time", "length": 2, "unlimited": true},
                   {"name": "x", "length": 3, "unlimited": false}],
    "variables": [
      {"name": "v", "type": "int", "dimensions": ["x"], "shape": [3], "record": false,
       "begin": 200, "end": 212, "bytes": 12, "alignment": 8,
       "attributes": [{"name": "scale_factor", "type": "float", "value": [0.5]}]},
      {"name": "r", "type": "float", "dimensions": ["time", "x"], "shape": [2, 3], "record": true,
       "begin": 212, "end": 236, "bytes": 24, "bytes_per_record": 12, "alignment": 4,
       "attributes": []}],
    "attributes": [{"name": "title", "type": "char", "value": "a\nb"}]})");
  expected["path"] = path_;
  expected["header"]["size"] = json["header"]["size"];
  EXPECT_GT(json["header"]["size"], 150);
  EXPECT_EQ(json, expected) << json.dump(2);
}

TEST_F(CommandsTest, info_for_people_lines_up) {
  const std::string text = run({"info", path_});
  EXPECT_NE(text.find("\nvariables\n"
                      "  name  type   dimensions  begin  end  bytes  per record  aligned\n"
                      "  v     int    x             200  212   12 B           -      8 B\n"
                      "  r     float  time, x       212  236   24 B        12 B      4 B\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  title  =  \"a\\nb\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  records  2 along time, 12 B each, from byte 212\n"), std::string::npos)
      << text;
  EXPECT_NE(run({"info", "-a", path_}).find("      scale_factor = 0.5f\n"), std::string::npos);
}

TEST_F(CommandsTest, info_says_that_data_is_missing) {
  save(path_, sample_file().substr(0, 230));
  EXPECT_NE(run({"info", path_}).find("the file ends 6 B before its last variable does"),
            std::string::npos);
}

TEST_F(CommandsTest, info_misses_nothing_in_a_file_without_records) {
  std::string bytes = sample_file().substr(0, 212);
  bytes[7] = 0;
  save(path_, bytes);
  EXPECT_EQ(run({"info", path_}).find("the file ends"), std::string::npos);
  const auto json = nlohmann::json::parse(run({"info", "--json", path_}));
  EXPECT_EQ(json["expected_size"], 212);
  EXPECT_EQ(json["variables"][1]["bytes"], 0);
}

TEST_F(CommandsTest, info_refuses_what_it_cannot_read) {
  save(path_, sample_file().substr(0, 100));
  EXPECT_EQ(run({"info", path_}).find(path_ + ": "), 0u);
  save(path_, "\x89HDF\r\n\x1a\n rest");
  EXPECT_NE(run({"info", path_}).find("HDF5"), std::string::npos);
  EXPECT_EQ(status_, exit_usage);
}

TEST_F(CommandsTest, config_shows_the_choice_and_its_origin) {
  save(xml_,
       "<forebay>\n"
       "<file match='r*.nc' transport='posix'>\n"
       "<variable match='T*' codec='none'/></file>\n"
       "</forebay>");
  EXPECT_EQ(run({"config", xml_, "--name", "d/r1.nc", "--var", "T1", "--var", "U"}),
            xml_ +
                ": in order, 1 file element, 1 variable element\n\nd/r1.nc\n  container  classic   "
                " default\n"
                "  transport  posix      " +
                xml_ +
                ":2\n"
                "  layout     canonical  default\n"
                "  stage      auto       default\n"
                "  codec      none       default\n"
                "  variable T1  codec=none layout=canonical  " +
                xml_ + ":3\n  variable U   codec=none layout=canonical  as the file\n");
  const auto json =
      nlohmann::json::parse(run({"config", xml_, "-n", "r1.nc", "-v", "T", "--json"}));
  EXPECT_EQ(json["choices"][0]["method"]["transport"]["value"], "posix");
  EXPECT_EQ(json["choices"][0]["variables"][0]["origins"][0], xml_ + ":3");
}

TEST_F(CommandsTest, config_refuses_mistakes) {
  save(xml_, "<forebay>\n<file match='*' transport='fast'/></forebay>");
  EXPECT_EQ(run({"config", xml_}), xml_ + ":2: \"fast\" is no value of transport (accepted: " +
                                       part_names(PartKind::transport, "|") + ")");
  EXPECT_EQ(run({"config", "none.xml"}), "none.xml: cannot be read (give the path of an XML file)");
}

TEST_F(CommandsTest, docs_lists_every_key) {
  const std::string page = run({"docs", "methods"});
  EXPECT_EQ(page.find("# Methods"), 0u);
  EXPECT_NE(page.find("| `transport` | " + part_names(PartKind::transport, "\\|")),
            std::string::npos);
  EXPECT_EQ(page.back(), '\n');
}

}  // namespace commands_test
}  // namespace forebay::tools
