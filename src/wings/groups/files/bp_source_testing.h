// Reads all of a BP file that may be damaged, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/files/bp_source.h"

namespace forebay {

struct ReadAll {
  int refused = 0, read = 0;  ///< files; variables
};

/// Reads and checks the file, with strings given and left out. Errors must blame the file.
inline void read_all(const std::string& path, const std::string& where, ReadAll& sum) {
  for (const Strings strings : {Strings::given, Strings::left_out}) {
    const auto failed = attempt_to([&] {
      const auto file = open_bp(path, strings);
      for (VarId v = 0; std::cmp_less(v, file->schema().vars.size()); ++v) {
        const Subarray box = whole(file->shape(v));
        if (box.elements() < 0 || box.elements() > 1000) continue;
        if (file->width(v) == 0) {
          (void)file->read_strings(v, box);
        } else {
          std::vector<std::byte> values(static_cast<std::size_t>(box.elements() * file->width(v)));
          file->read(v, box, values.data());
        }
        ++sum.read;
      }
    });
    sum.refused += failed.has_value();
    if (!failed) continue;
    EXPECT_NE(failed->code(), Errc::enomem) << where;
    EXPECT_NE(failed->code(), Errc::einternal) << where << failed->message();
  }
  attempt_to([&] { check_bp(path, true); });
}

}  // namespace forebay
