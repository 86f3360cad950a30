// The function that a library exports so that `flor watch DIR --evaluator lib.so:symbol` can score
// checkpoints with it (docs/evaluations.md). Stands alone: nothing of Flor needs to be linked.
#pragma once

extern "C" {

/// Scores the checkpoint at `path`, which is complete: a file or a directory, absolute. Returns a
/// JSON object, {"accuracy": 0.91}, whose members become the results; the text must stay until the
/// next call and is never freed by Flor. To fail it throws an exception derived from
/// std::exception, whose text is kept as the reason, or returns a null pointer. Called from one
/// thread at a time, in a process of its own that is kept for many checkpoints; a crash ends that
/// process only, and counts as a failure. Its output to stdout and stderr is kept with the job.
///
/// With `flor watch --experiment` the path is a file that was made of a run's checkpoint and is
/// there until the function returns. With `--as reference` as well it is no path, but the
/// checkpoint's address: KEY@EPOCH, or KEY@NAME for one that the program saved. It can be read in
/// place then, without a copy: `flor::store::find_checkpoint` (checkpoint/named_checkpoints.h) and
/// `CheckpointReader` take it, and so does `flor export`; $FLOR_HOME is the store.
///
/// `extern "C" flor_evaluator accuracy;` before the definition lets the compiler check its form.
typedef const char* flor_evaluator(const char* path);

}  // extern "C"
