// What a reader finds that follows a file step by step while it is written.
#pragma once

namespace forebay::process_group {

/// adios2 has the same three.
enum class StepStatus {
  ok,         ///< there is a further step
  not_ready,  ///< not yet, and the program that writes has not closed the file
  end,        ///< there is none, and that program has closed the file
};

}  // namespace forebay::process_group
