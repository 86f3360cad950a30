// A run that lies in an object store, fetched as far as a replay reads it.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

class Context;

/// Brings `run` here from the object store at `url`: RUN or RUN@EPOCH, where NAME means the latest
/// that is there. `epochs` is a list as "A..B" or "0,4..6"; empty: all, or EPOCH alone. Says on
/// standard error what came. Returns the key of the run, which NAME may not mean here; of a group
/// that of its rank 0, unless another rank was named.
std::string fetch_for_replay(Context& context, std::string_view run, std::string_view epochs,
                             std::string_view url);

}  // namespace flor::cli
