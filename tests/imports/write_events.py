"""Writes an event file with TensorBoard's own writer: write_events.py DIRECTORY. Ends with status 77 where
TensorBoard is not installed."""
import sys

try:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import summary_v2 as hparams
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError:
    sys.exit(77)

writer = EventFileWriter(sys.argv[1])
start = hparams.hparams_pb({"lr": 0.01, "optimizer": "adam", "nesterov": True})
writer.add_event(Event(wall_time=1700000000.0, summary=start))
for step in range(100):
    time = 1700000001.0 + step
    old = Summary(value=[Summary.Value(tag="loss", simple_value=1.0 / (step + 1))])
    writer.add_event(Event(wall_time=time, step=step, summary=old))
    writer.add_event(Event(wall_time=time, step=step, summary=scalar_pb("accuracy", step / 128)))
writer.close()
