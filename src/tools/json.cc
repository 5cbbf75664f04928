#include "tools/json.h"

#include <fmt/format.h>

namespace forebay::tools {

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace forebay::tools
