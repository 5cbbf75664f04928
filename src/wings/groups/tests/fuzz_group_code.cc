// Fuzz target over the code that is generated of groups in XML, whatever their names are. The
// inputs are those of fuzz_config.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "groups/generate/group_code.h"
#include "method/config.h"
#include "must.h"

namespace {

using namespace forebay;

void check_code(const GroupDefinition& group) {
  for (const auto language : {tools::Language::c, tools::Language::fortran}) {
    try {
      const auto code = tools::group_code(group, language);
      for (const std::string* text : {&code.write, &code.read})
        for (const char c : *text)
          must(c == '\n' || static_cast<unsigned char>(c) >= ' ', "code is lines of text");
    } catch (const Error& error) {
      must(error.code() == Errc::einval, "a name that the language does not have");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    for (const GroupDefinition& group : parse_config(text, "run.xml").groups) check_code(group);
  } catch (const Error&) {
    // The text is wrong, which fuzz_config looks at.
  }
  return 0;
}
