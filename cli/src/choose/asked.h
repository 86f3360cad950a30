// Names that the command shares with programs that ask by flor::query.
#pragma once

#include "ask/condition.h"
#include "ask/join.h"
#include "ask/listing.h"
#include "ask/metric_names.h"
#include "ask/run_columns.h"

namespace flor::cli {

using ask::as_number;
using ask::builtin_column;
using ask::builtin_column_names;
using ask::column_named;
using ask::Condition;
using ask::each_listed;
using ask::Field;
using ask::find_column;
using ask::first_indices;
using ask::has_samples;
using ask::is_doubtful_of;
using ask::Join;
using ask::keep_runs_where;
using ask::keep_where;
using ask::ListedRun;
using ask::listing_order;
using ask::ListingPlan;
using ask::metric_names;
using ask::names_of;
using ask::none_meets;
using ask::note_column;
using ask::number_names;
using ask::Order;
using ask::read_listing;
using ask::require_metrics;
using ask::run_filter;
using ask::RunColumn;
using ask::sorts_before;
using ask::status_text;
using ask::status_tone;
using ask::tag_column;

}  // namespace flor::cli
