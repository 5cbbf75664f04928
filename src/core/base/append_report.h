// Appends reports for programs to a file that several programs may share. Each report is one line.
#pragma once

#include <string>

namespace forebay {

/// Appends `line` in one write, so that lines of several programs stay whole. An error is printed
/// on stderr and not thrown: it must not make a close fail.
void append_report(const std::string& path, const std::string& line);

}  // namespace forebay
