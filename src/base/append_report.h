// Reports that programs read, one line each, in a file that several may share.
#pragma once

#include <string>

namespace forebay {

/// In one write, so that lines of programs that share the file stay whole. What fails is told on
/// stderr: it must not make a close fail.
void append_report(const std::string& path, const std::string& line);

}  // namespace forebay
