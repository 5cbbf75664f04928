// The codec of a variable's values, for all layouts that encode.
#pragma once

#include <string>

#include "array/schema.h"
#include "codec/pipeline.h"
#include "method/method.h"

namespace forebay {

/// A coordinate variable has the name of its only dimension. Its values are expected to be exact.
bool is_coordinate(const Schema& schema, const Variable& var);

/// The layout that the method sets for a variable. Several layouts ask for it for all variables on
/// all ranks, so no map of keys is built.
const std::string& layout_for(const Method& method, const Variable& var);

/// The pipeline that the method sets for a variable, reduced to the stages that its type can use. A
/// lossy pipeline for the whole file is not applied to coordinates and to types other than
/// floating-point ones; a rule for the variable applies unchanged.
std::string codec_for(const Method& method, const Schema& schema, const Variable& var);

/// The pipeline that a program sets for a variable, reduced to the stages that its type can use; it
/// may be a hierarchy, as copied from another file. Errc::einval if it is invalid, or lossy for a
/// type that is not floating-point.
std::string codec_by_program(const Variable& var, const std::string& text);

/// Gives a new variable whose codec quantises the attributes that say so: netCDF-C's and CF's
/// (1.12, 8.4.2), whose container variable is left out, as it would shift the numbers of variables.
/// One of fewer digits or bits, which a copied variable brings along, stays. The result is the same
/// on all ranks, as the codec is.
void add_quantisation(Variable& var);

/// The pipeline that a file states for a variable. Errc::enotsupport, with the variable's name, if
/// this build lacks it.
Pipeline stored_pipeline(const Variable& var, const std::string& codec);

}  // namespace forebay
