// The type of the function that a library exports so that `flor watch DIR --evaluator
// lib.so:symbol` can score checkpoints with it (docs/evaluations.md). Needs no library of Flor.
#pragma once

extern "C" {

/// Scores the complete checkpoint at the absolute `path`, a file or a directory. Returns a JSON
/// object such as {"accuracy": 0.91}, whose members become the results. The text must stay valid
/// until the next call; Flor never frees it. To report a failure, throw an exception derived from
/// std::exception, whose text is kept as the reason, or return a null pointer. Called from one
/// thread at a time, in a separate process that evaluates many checkpoints; a crash ends only that
/// process, and counts as a failure. What the function writes to stdout and stderr is kept with the
/// job.
///
/// With `flor watch --experiment`, the path is a file that was made from a run's checkpoint and
/// exists until the function returns. With `--as reference` as well, it is not a path but the
/// address of the checkpoint: KEY@EPOCH, or KEY@NAME for one that the program saved. The checkpoint
/// can then be read from the store at $FLOR_HOME without a copy: by `flor::store::find_checkpoint`
/// (checkpoint/named_checkpoints.h) and `CheckpointReader`, or by `flor export`.
///
/// A declaration `extern "C" flor_evaluator accuracy;` before the definition lets the compiler
/// check the signature.
typedef const char* flor_evaluator(const char* path);

}  // extern "C"
