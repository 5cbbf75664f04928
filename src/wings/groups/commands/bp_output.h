// Conversions write files of the classic model as BP4 directories, which bp_source.h reads as they
// were. Any number of ranks write them; each record is a step.
//
//     T(time, y, x)      T in every step, of shape y, x: a record is a step
//     P(y, x)            P in the first step
//     dimensions         attributes of the file and of variables (bp_attribute)
//     T:units            attribute T/units
//     text attributes    strings; characters where they are longer than a string may be
//     variables of text  arrays of characters
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "files/source.h"
#include "tools/convert/convert_file.h"

namespace forebay::tools {

/// Returns what BP cannot express of a file: arrays without elements, and attributes.
std::vector<LeftOut> no_word_in_bp(const Source& source);

/// Collective, with equal arguments. Makes the directory `path`, or replaces the BP file there. It
/// gets the variables of `source`, except those in no_word_in_bp(). `options.method` says how
/// groups are written. Errors are those of StepWriter::create, and Errc::enotsupport.
std::unique_ptr<Output> create_bp(const Comm& comm, const Source& source, const std::string& path,
                                  const ConvertOptions& options);

}  // namespace forebay::tools
