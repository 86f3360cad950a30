// Flor: record training cheaply, ask questions later, replay exactly. This header is all that a
// program needs, together with <flor/torch.h> for the types of libtorch.
#pragma once

#include <flor/arg.h>
#include <flor/checkpoint_strategy.h>
#include <flor/iteration.h>
#include <flor/load.h>
#include <flor/log.h>
#include <flor/loop.h>
#include <flor/overlap.h>
#include <flor/pinned.h>
#include <flor/query.h>
#include <flor/session.h>
#include <flor/state.h>
