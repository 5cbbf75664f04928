#include "command.h"

#include <cstdlib>

namespace forebay::bench {

CLI::Validator size_validator() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        const std::string unit = end;
        std::int64_t factor = 1;
        if (unit == "K" || unit == "KiB") {
          factor = std::int64_t{1} << 10;
        } else if (unit == "M" || unit == "MiB") {
          factor = std::int64_t{1} << 20;
        } else if (unit == "G" || unit == "GiB") {
          factor = std::int64_t{1} << 30;
        } else if (!unit.empty() && unit != "B") {
          return "sizes are bytes, KiB, MiB or GiB";
        }
        if (number <= 0 || end == text.c_str()) return "a size must be a positive number";
        text = std::to_string(static_cast<std::int64_t>(number * static_cast<double>(factor)));
        return {};
      },
      "SIZE");
}

void add_read_options(CLI::App* sub, ReadOptions& read) {
  sub->add_option("--read-back", read.mode,
                  "what is read: own (each rank what it wrote), whole (all variables, cut into a "
                  "slab a rank) or hyperslab (random boxes, cut likewise)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ReadBack>{
          {"own", ReadBack::Own}, {"whole", ReadBack::Whole}, {"hyperslab", ReadBack::Hyperslab}}));
  sub->add_option("--hyperslabs", read.hyperslabs, "how many of them")->check(CLI::PositiveNumber);
  sub->add_option("--seed", read.seed, "of their places");
}

}  // namespace forebay::bench
