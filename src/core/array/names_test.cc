#include "array/names.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace forebay {
namespace names_test {

Errc code_of(std::string_view name) {
  try {
    checked_name(name);
  } catch (const Error& e) {
    return e.code();
  }
  return Errc::ok;
}

TEST(checked_name, accepts_what_netcdf_accepts) {
  for (const char* name : {"a", "_a", "1a", "a b", "a+b", "a\\b", "\xc3\xa9", "\xf0\x9f\x8c\x8a"}) {
    EXPECT_EQ(checked_name(name), name);
  }
  EXPECT_EQ(code_of(std::string(256, 'a')), Errc::ok);
}

TEST(checked_name, refuses_what_netcdf_refuses) {
  for (const char* name : {"", " a", "a ", "-a", "+a", "@a", "a/b", "/", "a\t", "a\x01", "a\x7f",
                           "\xff\xfe", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(code_of(name), Errc::ebadname) << name;
  }
  EXPECT_EQ(code_of(std::string(257, 'a')), Errc::emaxname);
}

#if FOREBAY_UTF8PROC
TEST(checked_name, composes_letters_and_their_marks) {
  EXPECT_EQ(checked_name("e\xcc\x81"), "\xc3\xa9");
  EXPECT_EQ(normalized_name("e\xcc\x81"), normalized_name("\xc3\xa9"));
}
#endif

TEST(normalized_name, leaves_ascii_and_broken_text_alone) {
  EXPECT_EQ(normalized_name("plain name"), "plain name");
  EXPECT_EQ(normalized_name("\xff\xfe"), "\xff\xfe");
}

}  // namespace names_test
}  // namespace forebay
