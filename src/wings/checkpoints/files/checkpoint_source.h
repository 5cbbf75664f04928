// Checkpoints as a file of the classic model, for the tools and for conversion. States become
// records.
//
//     theta of the model, one rank               theta(step, …), and step(step)
//     the same on several ranks                  theta(step, rank, …)
//     its shape differs between ranks            theta_rank0(step, …), theta_rank1(step, …), …
//     theta of the adjoint's states              adjoint_theta(adjoint_step, …), adjoint_step
//     bytes                                      of type byte
//     bool (of Python)                           of its number type, with the attribute dtype
//
// A state that lacks a variable has netCDF's fill value there. Dimensions are called dim_N, where N
// is their length. "/" in a name becomes ".". A name that is taken already gets "_" at its end.
#pragma once

#include "files/open_source.h"

namespace forebay {

/// Opens NAME, which is the name of checkpoints as the program gave it or the path of one journal,
/// or NAME@STEPS with some of its steps: "run@3,10-20". left_out() has variables whose type or
/// shape differs between states, states that not all ranks have, and damage. Errc::enoent,
/// Errc::ebadlog if the files of a rank are missing, Errc::enodata for a step that is not there.
extern const FormatEntry checkpoint_format;

}  // namespace forebay
