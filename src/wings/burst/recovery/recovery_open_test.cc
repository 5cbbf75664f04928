// What opening and creating do about logs that a job left, and how logs are matched with files.
#include "burst/recovery/recovery_testing.h"

namespace forebay {
namespace recovery_open_test {

TEST_F(RecoveryTest, opening_says_what_is_there) {
  leave_two_ranks();
  const Method method = choose_method(file_, {});
  for (const bool writable : {false, true}) {
    const auto error = [&]() -> std::optional<Error> {
      try {
        meet_leftover_logs(Comm(), file_, writable, false, method);
      } catch (const Error& e) {
        return e;
      }
      return std::nullopt;
    }();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Errc::ebadlog);
    EXPECT_NE(error->advice().find("recover=auto"), std::string::npos);
  }
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoveryTest, opening_replays_if_asked_to) {
  leave_two_ranks();
  meet_leftover_logs(Comm(), file_, false, false, choose_method(file_, {{"recover", "auto"}}));
  expect_two_ranks();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, opening_ignores_if_asked_to) {
  leave_two_ranks();
  meet_leftover_logs(Comm(), file_, true, false, choose_method(file_, {{"recover", "ignore"}}));
  EXPECT_EQ(load(file_), before_);
  EXPECT_FALSE(nothing_is_left());
}

TEST_F(RecoveryTest, file_of_a_living_job_can_be_read_and_not_written) {
  leave_two_ranks();
  const auto control = StagingControl::take_over(StagingControl::path_of(file_));
  const Method method = choose_method(file_, {{"recover", "auto"}});
  meet_leftover_logs(Comm(), file_, false, false, method);
  EXPECT_THROW(meet_leftover_logs(Comm(), file_, true, false, method), Error);
  EXPECT_THROW(meet_leftover_logs(Comm(), file_, true, true, method), Error);
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoveryTest, creating_discards_logs_unless_forbidden) {
  leave_two_ranks();
  EXPECT_THROW(meet_leftover_logs(Comm(), file_, true, true,
                                  choose_method(file_, {{"nc_burst_buf_overwrite", "disable"}})),
               Error);
  EXPECT_FALSE(nothing_is_left());
  meet_leftover_logs(Comm(), file_, true, true, choose_method(file_, {}));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, closed_session_does_not_keep_a_file_from_being_opened) {
  leave_two_ranks();
  StagingControl::take_over(StagingControl::path_of(file_))->set_closed(1);
  const Method method = choose_method(file_, {});
  meet_leftover_logs(Comm(), file_, false, false, method);
  EXPECT_FALSE(nothing_is_left());
  meet_leftover_logs(Comm(), file_, true, false, method);
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(load(file_), before_);
}

TEST(Fingerprint, depends_on_shapes_and_types_alone) {
  const auto make = [](Count length, Type type, const char* name, bool second) {
    Schema schema;
    schema.version = 5;
    schema.add_dim({"x", length});
    Variable var;
    var.name = name;
    var.type = type;
    var.dimids = {0};
    schema.add_var(var);
    if (second) {
      var.name = "second";
      schema.add_var(var);
    }
    return schema;
  };
  Schema schema = make(4, Type::int32, "a", false);
  const std::uint64_t usual = schema_fingerprint(schema);
  schema.numrecs = 7;
  schema.attributes.put({"title", Type::byte, 1, {std::byte{1}}});
  EXPECT_EQ(schema_fingerprint(schema), usual);
  EXPECT_EQ(schema_fingerprint(make(4, Type::int32, "b", false)), usual);
  EXPECT_NE(schema_fingerprint(make(5, Type::int32, "a", false)), usual);
  EXPECT_NE(schema_fingerprint(make(4, Type::float32, "a", false)), usual);
  EXPECT_NE(schema_fingerprint(make(4, Type::int32, "a", true)), usual);
  schema.version = 2;
  EXPECT_NE(schema_fingerprint(schema), usual);
}

}  // namespace recovery_open_test
}  // namespace forebay
