// When the steps of a file took place, one lane for a rank: from a report in JSON.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/canvas.h"
#include "tools/plot_parts.h"

namespace forebay::tools {

/// Of one rank, or the mean of several: how much of each pixel's time every step took.
struct Lane {
  std::string name;
  std::map<std::string, std::vector<float>> shares;  ///< 0 to 1, picture_width of them
  double end = 0;                                    ///< seconds until the file was closed
};

struct Lanes {
  std::vector<Lane> lanes;  ///< none: the report does not tell
  double longest = 0;       ///< seconds from opening to the last thing that happened
};

/// At most `most` lanes; ranks that are next to each other share one where there are more.
Lanes lanes_of(const nlohmann::json& report, std::size_t most);

/// One step's colour is the same in all figures.
Colour step_colour(const std::string& step);
constexpr Colour rest_colour = {226, 228, 231};  ///< between the steps

/// Below the heading, `height` pixels high, with axes. In every column of pixels the steps lie on
/// each other in the order of `steps`, each as high as its share of that time.
void draw_lanes(Canvas& canvas, const Lanes& lanes, const std::vector<std::string>& steps,
                int height);

}  // namespace forebay::tools
