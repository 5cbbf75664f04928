// BP directories as files of the classic model: what adios2 may write and this library does not,
// and damaged files (groups/files/bp_source.h).
#include "groups/files/bp_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/files/bp_source_testing.h"
#include "groups/format/bp_testing.h"
#include "groups/format/bp_write.h"
#include "groups/records/group_file.h"
#include "support/cases.h"

namespace forebay {
namespace bp_source_test {

namespace fs = std::filesystem;
using bp::Block;

template <typename T>
bp::Value value_of(T number) {
  bp::Value value{};
  std::memcpy(value.data(), &number, sizeof number);
  return value;
}

class BpSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_source_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
    for (std::size_t n = 0; n < values_.size(); ++n) values_[n] = static_cast<double>(n);
  }
  void TearDown() override { fs::remove_all(path_); }

  void make(const std::vector<bp::MadeStep>& steps) const {
    bp::make_directory(path_, steps, std::as_bytes(std::span(values_)));
  }
  std::unique_ptr<Source> open(Strings strings = Strings::given) const {
    return open_bp(path_.string(), strings);
  }

  /// Makes a block whose first element is values_[first].
  static Block block(const bp::Shape& at, int first) {
    Block made;
    made.at = at;
    made.payload = bp::head_bytes + Offset{8} * first;
    return made;
  }
  static Block local_value(double value) {
    Block made;
    made.at.shape = {bp::local_value};
    made.has_value = true;
    made.min = made.max = value_of(value);
    return made;
  }
  static Block text(const std::string& what) {
    Block made;
    made.has_value = true;
    made.text = what;
    return made;
  }

  template <typename T = double>
  static std::vector<T> all_of(const Source& file, const std::string& name) {
    const VarId id = find_variable(file.schema(), file.path(), name);
    const Subarray box = whole(file.shape(id));
    std::vector<T> read(static_cast<std::size_t>(box.elements()));
    file.read(id, box, read.data());
    return read;
  }
  static std::vector<std::string> left_out(const Source& file) {
    std::vector<std::string> names;
    for (const LeftOut& one : file.left_out()) names.push_back(one.name);
    return names;
  }
  static const Variable& variable(const Source& file, const std::string& name) {
    return file.schema()
        .vars[static_cast<std::size_t>(find_variable(file.schema(), file.path(), name))];
  }

  fs::path path_;
  std::vector<double> values_ = std::vector<double>(100);
};

const bp::Variable T{"T", bp::Type::float64}, U{"U", bp::Type::float64};
using Doubles = std::vector<double>;

TEST_F(BpSourceTest, arrays_without_extents_in_some_steps_are_ragged) {
  const auto global = [](Count n, int first) { return block({{n}, {0}, {n}}, first); };
  make({{{{T, {global(0, 0)}}, {U, {global(2, 0)}}}, {}},
        {{{T, {global(3, 10)}}, {U, {global(2, 2)}}}, {}},
        {{{T, {global(0, 0)}}, {U, {global(2, 4)}}}, {}},
        {{{T, {global(2, 20)}}, {U, {global(2, 6)}}}, {}}});
  const auto file = open();
  EXPECT_EQ(all_of(*file, "T"), (Doubles{10, 11, 12, 20, 21}));
  EXPECT_EQ(all_of<std::int64_t>(*file, "T_count"), (std::vector<std::int64_t>{0, 3, 0, 2}));
  EXPECT_EQ(all_of(*file, "U"), (Doubles{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(file->left_out().empty());
}

TEST_F(BpSourceTest, local_blocks_without_elements_are_passed_over) {
  const auto local = [](const std::vector<Count>& count, int first) {
    return block({{}, {}, count}, first);
  };
  for (const auto& empty : {std::vector<Count>{0, 0}, {0, 2}, {1, 0}}) {
    make({{{{T, {local(empty, 0), local({2, 2}, 8), local(empty, 0), local({1, 2}, 30)}}}, {}}});
    EXPECT_EQ(all_of(*open(), "T"), (Doubles{8, 9, 10, 11, 30, 31}));
  }
  make({{{{T, {local({0, 0}, 0)}}, {U, {local({1}, 5)}}}, {}}});
  EXPECT_EQ(left_out(*open()), std::vector<std::string>{"T"});
}

TEST_F(BpSourceTest, what_cannot_be_read_leaves_the_rest_readable) {
  const bp::Variable texts{"texts", bp::Type::string}, shorts{"T", bp::Type::int16};
  Block own = text("one");
  own.at.shape = {bp::local_value};
  make({{{{T, {block({{}, {}, {2}}, 0)}}, {U, {block({{}, {}, {2}}, 3)}}, {texts, {own, own}}}, {}},
        {{{shorts, {block({{}, {}, {2}}, 0)}}}, {}}});
  const auto file = open();
  EXPECT_EQ(left_out(*file), (std::vector<std::string>{"T", "texts"}));
  EXPECT_EQ(all_of(*file, "U"), (Doubles{3, 4}));
  // Sums of extents that overflow.
  constexpr Count many = Count{1} << 59;
  std::vector<bp::MadeStep> steps(20);
  for (bp::MadeStep& step : steps)
    step.variables = {{T, {block({{many - std::ssize(steps)}, {0}, {1}}, 0)}},
                      {U, {block({{}, {}, {2}}, 3)}}};
  steps[1].variables[0].second[0].at.shape = {3};
  make(steps);
  EXPECT_EQ(left_out(*open()), std::vector<std::string>{"T"});
}

TEST_F(BpSourceTest, a_value_of_each_rank) {
  make({{{{T, {local_value(4), local_value(-1)}}}, {}}, {{{T, {local_value(7)}}}, {}}});
  EXPECT_EQ(all_of(*open(), "T"), (Doubles{4, -1, 7}));
}

TEST_F(BpSourceTest, of_overlapping_blocks_the_later_one_wins) {
  std::vector<Block> blocks;
  Doubles expected(70, -1);
  for (int n = 0; n < 70; ++n) {
    const int from = n * 13 % 61, count = 1 + n % 9;
    blocks.push_back(block({{70}, {from}, {count}}, n));
    for (int i = 0; i < count; ++i)
      expected[static_cast<std::size_t>(from + i)] = static_cast<double>(n + i);
  }
  for (double& value : expected)
    if (value < 0) value = 9.969209968386869e36;  // no rank wrote it
  make({{{{T, blocks}}, {}}});
  EXPECT_EQ(all_of(*open(), "T"), expected);
}

TEST_F(BpSourceTest, attributes_are_those_of_the_longest_name) {
  const bp::Variable whole{"a", bp::Type::float64}, part{"a/b", bp::Type::float64};
  const auto attribute = [](const std::string& name) {
    return bp::Attribute{name, bp::Type::string, {}, {"K"}};
  };
  const bp::MadeStep step{{{part, {block({{}, {}, {1}}, 0)}}, {whole, {block({{}, {}, {1}}, 0)}}},
                          {attribute("a/b/units"), attribute("a/c/units"), attribute("a/units"),
                           attribute("/x"), attribute("b/units")}};
  make({step});
  const auto file = open();
  EXPECT_TRUE(variable(*file, "a.b").attributes.find("units"));
  EXPECT_TRUE(variable(*file, "a").attributes.find("units"));
  EXPECT_TRUE(variable(*file, "a").attributes.find("c.units"));
  EXPECT_FALSE(variable(*file, "a").attributes.find("b.units"));
  EXPECT_TRUE(file->schema().attributes_of(global_id).find(".x"));
  EXPECT_TRUE(file->schema().attributes_of(global_id).find("b.units"));
}

TEST_F(BpSourceTest, ragged_variables_of_some_steps_say_which) {
  const auto local = [](Count n) { return block({{}, {}, {n}}, 0); };
  make({{{{U, {local(1)}}}, {}}, {{{T, {local(2)}}}, {}}, {{{T, {local(3)}}}, {}}});
  const auto file = open();
  EXPECT_TRUE(variable(*file, "T_count").attributes.find("bp_steps"));
}

TEST_F(BpSourceTest, pipes_are_no_files) {
  make({{{{T, {block({{}, {}, {2}}, 0)}}}, {}}});
  for (const char* name : {"data.0", "md.0", "md.idx"}) {
    fs::remove(path_ / name);
    ASSERT_EQ(::mkfifo((path_ / name).c_str(), 0600), 0);
    EXPECT_TRUE(attempt_to([&] { all_of(*open(), "T"); })) << name;
    fs::remove(path_ / name);
    make({{{{T, {block({{}, {}, {2}}, 0)}}}, {}}});
  }
}

TEST_F(BpSourceTest, a_file_that_was_written_anew_is_not_what_it_was) {
  make({{{{T, {block({{2}, {0}, {2}}, 0)}}}, {}}});
  const auto file = open();
  // The second type has an entry of the same size.
  for (const bp::Type other : {bp::Type::complex128, bp::Type::int64}) {
    make({{{{{"T", other}, {block({{2}, {0}, {2}}, 0)}}}, {}}});
    const auto failed = attempt_to([&] { all_of(*file, "T"); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::ebad_file);
  }
}

TEST_F(BpSourceTest, blocks_are_found_by_their_least_and_greatest_value) {
  const auto ranged = [&](int first, Count count) {
    Block made = block({{40}, {first}, {count}}, first);
    made.has_range = true;
    made.min = value_of(static_cast<double>(first));
    made.max = value_of(static_cast<double>(first) + static_cast<double>(count) - 1);
    return made;
  };
  Block nothing = ranged(30, 5);
  nothing.min = value_of(std::numeric_limits<double>::infinity());
  nothing.max = value_of(-std::numeric_limits<double>::infinity());
  make({{{{T, {ranged(0, 10), ranged(10, 10), nothing}}}, {}}, {{{T, {ranged(5, 3)}}}, {}}});
  const auto found = [&](const std::string& condition, bool values = false) {
    std::string text;
    find_in_bp(path_.string(), parse_search(condition), values, [&](const FoundBlock& one) {
      text += std::to_string(one.step) + "." + std::to_string(one.block);
      text += one.certain ? "! " : "? ";
      if (one.matches) text.insert(text.size() - 1, std::to_string(*one.matches));
    });
    return text;
  };
  EXPECT_EQ(found("T > 18"), "0.1! ");
  EXPECT_EQ(found("T>19"), "");
  EXPECT_EQ(found(" T >= 19 "), "0.1! ");
  EXPECT_EQ(found("T < 0"), "");
  EXPECT_EQ(found("T <= 0"), "0.0! ");
  EXPECT_EQ(found("T == 6.5"), "0.0? 1.0? ");
  EXPECT_EQ(found("T = 9"), "0.0! ");
  EXPECT_EQ(found("T != 3"), "0.0! 0.1! 1.0! ");
  EXPECT_EQ(found("T > 5.2 and T < 5.8"), "0.0? 1.0? ");
  EXPECT_EQ(found("T > 5.2 and T < 5.8", true), "");
  EXPECT_EQ(found("T > 5.2 and T < 7.8", true), "0.0!2 1.0!2 ");
  fs::remove(path_ / "data.0");
  EXPECT_EQ(found("T > 18"), "0.1! ");
  EXPECT_TRUE(attempt_to([&] { found("T > 18", true); }));
  for (const char* nonsense : {"", "T", "T >", "> 3", "T > x", "T > 3x", "T ! 3", "T > 1 and ",
                               "T > 1 and U < 3", "T > nan", "T > inf", "and", "T > 1 T < 2"})
    EXPECT_EQ(attempt_to([&] { found(nonsense); })->code(), Errc::einval) << nonsense;
  EXPECT_EQ(attempt_to([&] { found("t > 1"); })->code(), Errc::enotvar);
}

// The names in the file come before those that ls shows.
TEST_F(BpSourceTest, variables_are_found_by_both_of_their_names) {
  const auto value_block = [](double value) {
    Block made;
    made.has_value = true;
    made.min = made.max = value_of(value);
    return made;
  };
  make({{{{{"a/b/c", bp::Type::float64}, {value_block(1)}},
          {{"d/e", bp::Type::float64}, {value_block(2)}},
          {{"d.e", bp::Type::float64}, {value_block(3)}}},
         {}}});
  const auto found = [&](const std::string& condition) {
    std::string text;
    find_in_bp(path_.string(), parse_search(condition), false,
               [&](const FoundBlock& one) { text += std::to_string(static_cast<int>(one.least)); });
    return text;
  };
  for (const std::string name : {"a/b/c", "/a/b/c", "a.b.c", "/a.b.c"})
    EXPECT_EQ(found(name + " > 0"), "1") << name;
  EXPECT_EQ(found("d/e > 0"), "2");
  EXPECT_EQ(found("d.e > 0"), "3");
  EXPECT_EQ(attempt_to([&] { found("a.b > 0"); })->code(), Errc::enotvar);
}

// A threshold is rounded to the variable's type.
TEST_F(BpSourceTest, decimal_thresholds_are_those_of_the_type) {
  Block wide, narrow;
  wide.has_value = narrow.has_value = true;
  wide.min = wide.max = value_of(0.1);
  narrow.min = narrow.max = value_of(0.1F);
  make({{{{T, {wide}}, {{"F", bp::Type::float32}, {narrow}}}, {}}});
  const auto is_found = [&](const std::string& condition) {
    bool any = false;
    find_in_bp(path_.string(), parse_search(condition), true,
               [&](const FoundBlock&) { any = true; });
    return any;
  };
  for (const std::string name : {"T", "F"}) {
    EXPECT_TRUE(is_found(name + " == 0.1")) << name;
    EXPECT_TRUE(is_found(name + " <= 0.1")) << name;
    EXPECT_FALSE(is_found(name + " > 0.1")) << name;
    EXPECT_FALSE(is_found(name + " != 0.1")) << name;
    EXPECT_TRUE(is_found(name + " < 1e300")) << name;
    EXPECT_FALSE(is_found(name + " > 1e300")) << name;
  }
}

// A double cannot hold this number.
TEST_F(BpSourceTest, integers_are_compared_as_integers) {
  constexpr std::int64_t odd = (std::int64_t{1} << 60) + 1;
  Block value;
  value.has_value = true;
  std::memcpy(value.min.data(), &odd, sizeof odd);
  value.max = value.min;
  make({{{{{"n", bp::Type::int64}, {value}}}, {}}});
  const auto is_found = [&](const std::string& condition) {
    bool any = false;
    find_in_bp(path_.string(), parse_search(condition), false,
               [&](const FoundBlock&) { any = true; });
    return any;
  };
  EXPECT_TRUE(is_found("n == 1152921504606846977"));
  EXPECT_FALSE(is_found("n == 1152921504606846976"));
  EXPECT_TRUE(is_found("n > 1152921504606846976"));
}

TEST_F(BpSourceTest, blocks_are_checked_in_parts) {
  constexpr Count many = 700'000;  // more than 4 MiB
  values_.assign(many, 1);
  values_[600'000] = 5;
  Block large = block({{many}, {0}, {many}}, 0);
  large.has_range = true;
  large.min = value_of(1.0);
  large.max = value_of(5.0);
  make({{{{T, {large}}}, {}}});
  BpCheck found = check_bp(path_.string(), true);
  EXPECT_EQ(found.bytes, 8 * many);
  EXPECT_TRUE(found.faults.empty() && found.notes.empty());
  values_[600'000] = 1;
  make({{{{T, {large}}}, {}}});
  EXPECT_EQ(check_bp(path_.string(), true).notes.size(), 1U);
}

TEST_F(BpSourceTest, a_data_file_that_is_gone_is_told_of_each_step) {
  const bp::MadeStep step{{{T, {block({{3}, {0}, {3}}, 0)}}}, {}};
  make({step, step});
  fs::remove(path_ / "data.0");
  const BpCheck found = check_bp(path_.string(), false);
  ASSERT_EQ(found.faults.size(), 2U);
  for (const std::string& fault : found.faults)
    EXPECT_NE(fault.find("No such file"), std::string::npos) << fault;
}

// If md.0 lacks a step, its record is not used, and the loss is reported.
TEST_F(BpSourceTest, steps_that_lost_their_index_are_told) {
  const bp::MadeStep step{{{T, {block({{3}, {0}, {3}}, 0)}}}, {}};
  make({step, step, step});
  EXPECT_TRUE(check_bp(path_.string(), false).faults.empty());
  EXPECT_TRUE(open_bp(path_.string(), Strings::given)->left_out().empty());
  fs::resize_file(path_ / "md.0", fs::file_size(path_ / "md.0") - 1);
  const BpCheck found = check_bp(path_.string(), false);
  EXPECT_EQ(found.steps, 2);
  ASSERT_EQ(found.faults.size(), 1U);
  EXPECT_NE(found.faults[0].find("1 of the steps"), std::string::npos) << found.faults[0];
  const auto left_out = open_bp(path_.string(), Strings::given)->left_out();
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].name, "md.idx");
  const auto searched =
      find_in_bp(path_.string(), parse_search("T > 0"), false, [](const FoundBlock&) {});
  EXPECT_EQ(searched.steps, 2);
  EXPECT_EQ(searched.unread, 1U);
  fs::resize_file(path_ / "md.idx", fs::file_size(path_ / "md.idx") - 1);  // a torn record
  EXPECT_TRUE(check_bp(path_.string(), false).faults.empty());
}

// Half of the 12 elements were written twice, and half by no rank.
TEST_F(BpSourceTest, blocks_that_overlap_do_not_hide_holes) {
  make({{{{T, {block({{12}, {0}, {6}}, 0), block({{12}, {0}, {6}}, 0)}}}, {}}});
  const BpCheck found = check_bp(path_.string(), false);
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_NE(found.notes[0].find("6 elements or more"), std::string::npos) << found.notes[0];
  EXPECT_NE(found.notes[1].find("overlap"), std::string::npos) << found.notes[1];
}

TEST_F(BpSourceTest, an_array_beyond_all_sizes_is_left_out_alone) {
  const Count huge = Count{1} << 40;
  make({{{{T, {block({{huge, huge}, {0, 0}, {1, 3}}, 0)}}, {U, {local_value(3)}}}, {}}});
  const auto file = open();
  ASSERT_EQ(file->left_out().size(), 1U);
  EXPECT_EQ(file->left_out()[0].name, T.name);
  EXPECT_EQ(file->schema().vars.size(), 1U);
  EXPECT_THROW(bp::check(T, {{huge, huge}, {0, 0}, {1, 3}}), Error);
  bp::check(T, {{huge, 0, huge}, {0, 0, 0}, {1, 0, 3}});
}

TEST_F(BpSourceTest, blocks_are_shown_by_the_index_alone) {
  make({{{{T, {block({{12}, {0}, {6}}, 0), block({{12}, {6}, {6}}, 6)}}, {U, {local_value(3)}}},
         {}}});
  std::vector<std::string> names;
  std::vector<FoundBlock> blocks;
  Report report;
  const process_group::BpReader file(Comm(), path_.string(), report);
  for (std::size_t v = 0; v < file.variables().size(); ++v) {
    names.push_back(file.variables()[v].variable.name);
    each_block(file, v, [&](const FoundBlock& one) { blocks.push_back(one); });
  }
  EXPECT_EQ(names, (std::vector<std::string>{T.name, U.name}));
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[1].start, std::vector<Count>{6});
  EXPECT_EQ(blocks[1].block, 1);
  EXPECT_TRUE(blocks[2].known && blocks[2].least == 3);
}

// There is no other evidence of the damage.
TEST_F(BpSourceTest, values_that_were_written_over_are_damage_where_this_library_wrote_them) {
  for (const char* const version : {"4", "3"}) {
    fs::remove_all(path_);
    GroupDefinition group = define_group("g", "C");
    define_variable(group, {.name = "T", .type = "double", .dimensions = "1000"});
    Method method;
    apply_hints(method, std::string("bp_version=") + version, "the test");
    const auto file = GroupFile::create(Comm(), path_, group, method, false);
    const std::vector<double> values(1000, 7);
    file->write("T", values.data(), false);
    file->end_step();
    file->close();
    EXPECT_TRUE(check_bp(path_.string(), true).faults.empty());
    const fs::path data = fs::is_directory(path_) ? path_ / "data.0" : path_;
    std::fstream(data, std::ios::in | std::ios::out | std::ios::binary).seekp(6000).put('!');
    EXPECT_TRUE(check_bp(path_.string(), false).faults.empty());
    EXPECT_EQ(check_bp(path_.string(), true).faults.size(), 1U);
  }
}

// Changes each byte of the index in turn, or each fifth. The result is an error, or values, but no
// crash.
TEST_F(BpSourceTest, damage_is_an_error_or_shows_in_what_is_read) {
  const bp::Variable texts{"text", bp::Type::string}, pair{"pair", bp::Type::complex64};
  const bp::MadeStep step{
      {{T, {block({{2, 3}, {0, 0}, {1, 3}}, 0), block({{2, 3}, {1, 0}, {1, 3}}, 3)}},
       {texts, {text("ab")}},
       {pair, {block({{}, {}, {2}}, 7)}},
       {U, {local_value(3), local_value(4)}}},
      {{"T/units", bp::Type::string, {}, {"K"}},
       {"list", bp::Type::string_array, {}, {"a", "bc"}}}};
  make({step, step});
  const auto bytes_of = [&](const char* name) {
    std::ifstream file(path_ / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  ReadAll all;
  for (const char* name : {"md.idx", "md.0"}) {
    const std::string whole_file = bytes_of(name);
    const std::size_t end = whole_file.size();
    for (std::size_t at = 0; at < end; at = forebay_test::next_place<std::size_t>(at, 1, end)) {
      for (const char by : {'\x01', '\x0f', '\x80', '\xff'}) {
        std::string bytes = whole_file;
        bytes[at] = static_cast<char>(bytes[at] ^ by);
        bp::write_bytes(path_ / name, std::as_bytes(std::span(bytes)));
        read_all(path_, std::string(name) + " at " + std::to_string(at), all);
      }
    }
    bp::write_bytes(path_ / name, std::as_bytes(std::span(whole_file)));
  }
  EXPECT_GT(all.refused, forebay_test::few_of(1000));
  EXPECT_GT(all.read, forebay_test::few_of(1000));
}

}  // namespace bp_source_test
}  // namespace forebay
