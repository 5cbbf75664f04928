// Which codec a variable's values go through, whatever layout cuts them into what is encoded.
#pragma once

#include <string>

#include "array/schema.h"
#include "codec/pipeline.h"
#include "method/method.h"

namespace forebay {

/// A coordinate variable has the name of its only dimension; what depends on it expects it exact.
bool is_coordinate(const Schema& schema, const Variable& var);

/// The layout that the method names for a variable. All variables of all ranks are asked for it, by
/// several layouts: no map of keys is made.
const std::string& layout_for(const Method& method, const Variable& var);

/// Whether a rule for variables of that name has the key.
bool has_rule(const Method& method, const Variable& var, const char* key);

/// The pipeline that the method names for a variable, of those stages that its type can go through.
/// A lossy one for the whole file leaves out coordinates and whatever is not floating-point; a rule
/// for the variable is taken at its word.
std::string codec_for(const Method& method, const Schema& schema, const Variable& var);

/// The pipeline that a program names for a variable, of those stages that its type can go through;
/// a hierarchy, too, as it stands in another file.
/// Errc::einval for one that is none, or would change what is not floating-point.
std::string codec_by_program(const Variable& var, const std::string& text);

/// The pipeline that a file says a variable's values went through. Errc::enotsupport, naming the
/// variable, for one that this build lacks.
Pipeline stored_pipeline(const Variable& var, const std::string& codec);

}  // namespace forebay
