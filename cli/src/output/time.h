// Times, durations and sizes as text, for people and for programs.
#pragma once

#include "ask/time.h"

namespace flor::cli {

using ask::bytes;
using ask::duration;
using ask::now_us;
using ask::relative;
using ask::remaining;
using ask::rfc3339;

}  // namespace flor::cli
