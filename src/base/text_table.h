// Columns that line up, for output that people read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace forebay {

/// Collects rows of cells and prints them with every column as wide as its widest cell.
class TextTable {
 public:
  /// One letter a column: 'l' or 'r' for the side on which cells stand.
  explicit TextTable(std::string sides) : sides_(std::move(sides)) {}

  /// A row of at most as many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), {}}); }
  /// A line below the last row, as it is.
  void add_below(const std::string& line) { rows_.back().below += line + '\n'; }

  /// All rows, each begun by `indent` and ended by a newline, without blanks at the end.
  std::string text(const std::string& indent = "  ") const;

 private:
  std::string sides_;
  struct Row {
    std::vector<std::string> cells;
    std::string below;
  };
  std::vector<Row> rows_;
};

/// Characters on a terminal: bytes that are not continuation bytes of UTF-8.
std::size_t display_width(const std::string& text);

/// `text` with control characters written as \n, \t, \x1b…, so that a file cannot steer the
/// terminal; cut after `limit` characters, if it is not 0, and ended by "…" then.
std::string printable(const std::string& text, std::size_t limit = 0);

/// 1234567 as "1,234,567".
std::string grouped(long long number);

/// "1 chunk", "1,234 chunks".
std::string counted(long long number, const std::string& one);

}  // namespace forebay
