// The map of a variable's chunks: sizes in the file, and owners or places.
//
// The grid of chunks is drawn flat: the last dimension that has several chunks runs to the right,
// all others, row-major, run down. Where there are more chunks than pixels, pixels show means of
// sizes and the first chunk's owner.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/text_table.h"
#include "method/method_values.h"
#include "tools/plot_parts.h"

namespace forebay::tools {
namespace {

constexpr int gap = 128;  // between the two maps: ticks, their labels, the scale, the next name
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

struct ChunkMap {
  std::vector<Count> grid;
  Count columns = 1, rows = 1;
  std::string x_name, y_name;
  std::vector<double> bytes;  // of each chunk; NaN: never written
  std::vector<double> place;  // in the file, in bytes from its beginning
  std::vector<double> owner;  // empty: not known
  Count present = 0, stored = 0, raw = 0;
  Count unfiltered = 0;  // stored without some of the filters
};

constexpr Count most_chunks = 64 << 20;

ChunkMap read_map(const Source& source, VarId id) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  if (!var.chunking) source.each_stored_chunk(id, [](const ChunkPlace&) {});  // refuses
  ChunkMap map;
  const std::vector<Count> shape = source.shape(id);
  Count chunks = 1, chunk_bytes = source.width(id);
  bool countable = !shape.empty();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Count length = std::max<Count>(var.chunking->shape[d], 1);
    map.grid.push_back(shape[d] / length + (shape[d] % length > 0 ? 1 : 0));
    countable = countable && multiply_fits(chunks, map.grid[d], chunks) &&
                multiply_fits(chunk_bytes, length, chunk_bytes);
  }
  if (!countable || chunks == 0 || chunks > most_chunks)
    throw Error(Errc::einval,
                fmt::format("{}: variable {} has {} chunks", printable(source.path()),
                            printable(var.name), countable ? grouped(chunks) : "too many"),
                "between 1 and 64 million can be drawn");
  map.bytes.assign(static_cast<std::size_t>(chunks), nothing);
  map.place = map.bytes;
  source.each_stored_chunk(id, [&](const ChunkPlace& chunk) {
    Count number = 0;
    for (std::size_t d = 0; d < map.grid.size(); ++d) {
      if (chunk.at[d] >= map.grid[d]) return;
      number = number * map.grid[d] + chunk.at[d];
    }
    const auto i = static_cast<std::size_t>(number);
    map.bytes[i] = static_cast<double>(chunk.bytes);
    if (chunk.place) map.place[i] = static_cast<double>(*chunk.place);
    ++map.present;
    map.stored += chunk.bytes;
    map.unfiltered += chunk.filtered ? 0 : 1;
  });
  // HDF5 stores chunks at the edge whole.
  map.raw = source.classic() != nullptr ? source.classic()->chunks()->facts(id).raw_bytes
                                        : map.present * chunk_bytes;
  return map;
}

// Which dimension runs to the right, which down.
void lay_out(const Source& source, VarId id, ChunkMap& map) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  std::size_t x = map.grid.size();
  for (std::size_t d = 0; d < map.grid.size(); ++d)
    if (map.grid[d] > 1) x = d;
  if (x == map.grid.size()) x = map.grid.size() - 1;
  const auto name = [&](std::size_t d) {
    return source.schema().dims[static_cast<std::size_t>(var.dimids[d])].name;
  };
  // Dimensions behind x have one chunk, so that chunk ids run along x fastest.
  map.columns = map.grid[x];
  map.x_name = "chunks along " + name(x);
  for (std::size_t d = 0; d < x; ++d) {
    map.rows *= map.grid[d];
    if (map.grid[d] > 1) map.y_name += (map.y_name.empty() ? "chunks along " : " x ") + name(d);
  }
}

// From a report: the last entry that tells of this variable with as many chunks.
void read_owners(const std::string& report, const std::string& variable, ChunkMap& map) {
  for (const nlohmann::json& entry : read_reports(report)) {
    const auto owners = entry.find("chunk_owners");
    if (owners == entry.end() || !owners->is_object() || !owners->contains(variable)) continue;
    const nlohmann::json& list = (*owners)[variable];
    if (!list.is_array() || list.size() > map.bytes.size()) continue;
    map.owner.assign(map.bytes.size(), nothing);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].is_number_integer() && list[i].get<int>() >= 0) map.owner[i] = list[i].get<int>();
  }
  if (map.owner.empty())
    throw Error(
        Errc::einval,
        printable(report) + ": no entry tells who encoded the chunks of " + printable(variable),
        "make it with FOREBAY_REPORT=json:PATH in the run that writes the file");
}

// -- drawing --------------------------------------------------------------------------------------

int map_height(const ChunkMap& map) {
  if (map.rows == 1) return 90;
  return static_cast<int>(std::clamp<Count>(map.rows * 24, 120, 300));
}

// f(mean of the finite values of a pixel's chunks, or NaN) → colour
template <typename F>
void draw_cells(Canvas& canvas, const ChunkMap& map, const std::vector<double>& values, int top,
                bool average, F&& colour) {
  const int height = map_height(map);
  const auto range = [](int pixel, int pixels, Count cells) {
    const Count first = pixel * cells / pixels;
    return std::pair(first, std::max(first + 1, (pixel + 1) * cells / pixels));
  };
  for (int y = 0; y < height; ++y) {
    const auto [row, last_row] = range(y, height, map.rows);
    for (int x = 0; x < picture_width; ++x) {
      const auto [column, last_column] = range(x, picture_width, map.columns);
      double sum = 0;
      Count n = 0;
      for (Count r = row; r < last_row; ++r) {
        for (Count c = column; c < last_column; ++c) {
          const double value = values[static_cast<std::size_t>(r * map.columns + c)];
          if (std::isnan(value) || (!average && n > 0)) continue;
          sum += value;
          ++n;
        }
      }
      canvas.set(left_margin + x, top + y, n == 0 ? no_data : colour(sum / static_cast<double>(n)));
    }
  }
  // Lines between chunks, where there is room for them.
  if (picture_width / map.columns >= 6 && height / map.rows >= 6) {
    for (Count c = 1; c < map.columns; ++c)
      canvas.fill(left_margin + static_cast<int>(c * picture_width / map.columns), top, 1, height,
                  paper);
    for (Count r = 1; r < map.rows; ++r)
      canvas.fill(left_margin, top + static_cast<int>(r * height / map.rows), picture_width, 1,
                  paper);
  }
}

Axes axes_of(const ChunkMap& map, const std::string& what) {
  Axes axes;
  axes.x = ticks_of({"", map.columns, {}, false, false}, 12);
  if (map.rows > 1) axes.y = ticks_of({"", map.rows, {}, false, false}, 5);
  axes.x_name = map.x_name;
  axes.y_name = what + (map.y_name.empty() ? "" : "; downwards " + map.y_name);
  return axes;
}

Range range_of(const std::vector<double>& values) {
  Range range{nothing, nothing};
  for (const double value : values) {
    if (std::isnan(value)) continue;
    range.low = std::isnan(range.low) ? value : std::min(range.low, value);
    range.high = std::isnan(range.high) ? value : std::max(range.high, value);
  }
  return range;
}

void draw_values(Canvas& canvas, const ChunkMap& map, const std::vector<double>& values,
                 const std::string& what, int top) {
  Range range = range_of(values);
  const int height = map_height(map);
  // Sizes in units that keep labels short.
  double unit = 1;
  const char* name = "bytes";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (std::isnan(range.high) || range.high / unit < 4096) break;
    unit *= 1024;
    name = larger;
  }
  draw_cells(canvas, map, values, top, true,
             [&](double value) { return colour_of(range.share(value)); });
  draw_axes(canvas, axes_of(map, fmt::format("{} [{}]", what, name)), height, top);
  if (!std::isnan(range.high))
    draw_scale(canvas, left_margin, top + height + 30, 560, {range.low / unit, range.high / unit});
}

void draw_owners(Canvas& canvas, const ChunkMap& map, int top) {
  const int height = map_height(map);
  const Range range = range_of(map.owner);
  const bool few = range.high < 12;  // as many colours as there are
  draw_cells(canvas, map, map.owner, top, false, [&](double rank) {
    return few ? colour_of_kind(static_cast<std::size_t>(rank)) : colour_of(range.share(rank));
  });
  draw_axes(canvas, axes_of(map, "rank that encoded the chunk"), height, top);
  const int y = top + height + 30;
  if (!few) {
    draw_scale(canvas, left_margin, y, 560, range);
    return;
  }
  const std::set<double> ranks(map.owner.begin(), map.owner.end());
  int x = left_margin;
  for (const double rank : ranks) {
    if (std::isnan(rank)) continue;
    canvas.fill(x, y, 16, 12, colour_of_kind(static_cast<std::size_t>(rank)));
    canvas.frame(x, y, 16, 12, line);
    const std::string label = fmt::format("rank {:g}", rank);
    canvas.text(x + 22, y + 1, label, ink, label_size);
    x += 44 + Canvas::text_width(label, label_size);
  }
}

void draw_absent(Canvas& canvas, int x, int y) {
  canvas.fill(x, y, 16, 12, no_data);
  canvas.frame(x, y, 16, 12, line);
  canvas.text(x + 22, y + 1, "never written", faint, label_size);
}

}  // namespace

Canvas draw_chunks(const Source& source, const std::string& variable, const std::string& report,
                   std::string& summary) {
  const VarId id = find_variable(source.schema(), source.path(), variable);
  ChunkMap map = read_map(source, id);
  lay_out(source, id, map);
  if (!report.empty() && source.is_hdf5())
    throw Error(Errc::einval,
                printable(source.path()) + ": chunks of an HDF5 file have no owners to be drawn",
                "leave out --report");
  if (!report.empty()) read_owners(report, variable, map);
  const Chunking& chunking = *source.schema().vars[static_cast<std::size_t>(id)].chunking;
  std::string shape;
  for (const Count n : chunking.shape) shape += (shape.empty() ? "" : " x ") + grouped(n);
  const double ratio =
      map.stored > 0 ? static_cast<double>(map.raw) / static_cast<double>(map.stored) : 0;
  summary = fmt::format("{}: {} of {} chunks stored, {} in {}, ratio {:.3g}", variable,
                        grouped(map.present), grouped(std::ssize(map.bytes)),
                        friendly_size(map.raw), friendly_size(map.stored), ratio);
  if (map.unfiltered > 0)
    summary += fmt::format(", {} without some of the filters", grouped(map.unfiltered));
  const int height = map_height(map);
  Canvas canvas(left_margin + picture_width + right_margin,
                top_margin + 2 * height + gap + bottom_margin - 20, paper);
  draw_heading(canvas, summary,
               fmt::format("{}  |  chunks of {}  |  {}{}", source.path(), shape, source.codec(id),
                           source.is_hdf5() ? "  |  HDF5 does not know who wrote a chunk" : ""));
  draw_values(canvas, map, map.bytes, "stored size of each chunk", top_margin);
  const int lower = top_margin + height + gap;
  if (map.owner.empty()) {
    const bool known = !std::isnan(range_of(map.place).high) || map.present == 0;
    const char* const what = known ? "place in the file" : "place: not known of so many chunks";
    draw_values(canvas, map, map.place, what, lower);
  } else {
    draw_owners(canvas, map, lower);
  }
  if (map.present < std::ssize(map.bytes))
    draw_absent(canvas, left_margin + picture_width - 130, lower + height + 60);
  return canvas;
}

}  // namespace forebay::tools
