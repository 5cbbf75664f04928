#include "base/text_table.h"

#include <fmt/format.h>

#include <cstdio>

namespace forebay {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string TextTable::text(const std::string& indent) const {
  std::vector<std::size_t> widths(sides_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.cells.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row.cells[c]));
  }
  std::string all;
  for (const auto& [cells, below] : rows_) {
    std::string line = indent;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string blanks(widths[c] - display_width(cells[c]), ' ');
      line += c == 0 ? "" : "  ";
      line += sides_[c] == 'r' ? blanks + cells[c] : cells[c] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + '\n' + below;
  }
  return all;
}

std::string printable(const std::string& text, std::size_t limit) {
  std::string shown;
  std::size_t width = 0;
  for (const char c : text) {
    if (limit != 0 && width >= limit && !continues(c)) return shown + "…";
    const auto byte = static_cast<unsigned char>(c);
    char escape[8] = {c, 0};
    if (c == '\n') {
      std::snprintf(escape, sizeof escape, "\\n");
    } else if (c == '\t') {
      std::snprintf(escape, sizeof escape, "\\t");
    } else if (byte < 0x20 || byte == 0x7f) {
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
    }
    shown += escape;
    if (!continues(c)) ++width;
  }
  return shown;
}

std::string ratio_text(long long raw, long long stored) {
  return stored > 0 ? fmt::format("{:.2f}", static_cast<double>(raw) / static_cast<double>(stored))
                    : "-";
}

std::string grouped(long long number) {
  const std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(long long number, const std::string& one) {
  return grouped(number) + ' ' + one + (number == 1 ? "" : "s");
}

}  // namespace forebay
