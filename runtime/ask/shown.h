// How a cell of a table is to be shown.
#pragma once

namespace flor::ask {

enum class Tone : unsigned char { plain, strong, faint, good, warning, bad, hindsight };

enum class Align : unsigned char { left, right };

}  // namespace flor::ask
