// Tables and text for output that people read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace forebay {

/// Collects rows of cells and prints them with every column as wide as its widest cell.
class TextTable {
 public:
  /// Each letter of `sides` aligns one column: 'l' for left or 'r' for right.
  explicit TextTable(std::string sides) : sides_(std::move(sides)) {}

  /// Adds a row. It has at most as many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), {}}); }
  /// Adds a line of text below the last row.
  void add_below(const std::string& line) { rows_.back().below += line + '\n'; }

  /// Returns all rows. Each begins with `indent` and ends with a newline, without trailing blanks.
  std::string text(const std::string& indent = "  ") const;

 private:
  std::string sides_;
  struct Row {
    std::vector<std::string> cells;
    std::string below;
  };
  std::vector<Row> rows_;
};

/// Returns the number of characters: the bytes that are not UTF-8 continuation bytes.
std::size_t display_width(const std::string& text);

/// Returns `text` with control characters written as \n, \t, \x1b…, so that a file cannot steer the
/// terminal. If `limit` is not 0, the text is cut after `limit` characters and ends with "…".
std::string printable(const std::string& text, std::size_t limit = 0);

/// Returns 1234567 as "1,234,567".
std::string grouped(long long number);
/// Returns raw / stored with two decimals; "-" if `stored` is not positive.
std::string ratio_text(long long raw, long long stored);

/// Returns text such as "1 chunk" or "1,234 chunks".
std::string counted(long long number, const std::string& one);

}  // namespace forebay
