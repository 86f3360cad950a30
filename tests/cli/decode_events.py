"""Reads an event file with Google's protobuf, from the fields that TensorFlow's .proto files have.

Prints each event as text. Ends with status 77 where protobuf is not installed.
"""
import struct
import sys

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
except ImportError:
    sys.exit(77)

FIELD = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": FIELD.TYPE_DOUBLE, "float": FIELD.TYPE_FLOAT, "int64": FIELD.TYPE_INT64,
         "int32": FIELD.TYPE_INT32, "string": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES}
MESSAGES = {
    "Event": ["1 wall_time double", "2 step int64", "3 file_version string", "5 summary Summary"],
    "Summary": ["1 value Value*"],
    "Value": ["1 tag string", "2 simple_value float", "4 image Image", "5 histo Histogram",
              "8 tensor Tensor", "9 metadata Metadata"],
    "Image": ["1 height int32", "2 width int32", "3 colorspace int32", "4 encoded bytes"],
    "Histogram": ["1 min double", "2 max double", "3 num double", "4 sum double",
                  "5 sum_squares double", "6 bucket_limit double*", "7 bucket double*"],
    "Tensor": ["1 dtype int32", "2 shape Shape", "8 string_val bytes*"],
    "Shape": ["2 dim Dim*"],
    "Dim": ["1 size int64", "2 name string"],
    "Metadata": ["1 plugin_data PluginData"],
    "PluginData": ["1 plugin_name string", "2 content bytes"],
}

file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="t", syntax="proto3")
for name, fields in MESSAGES.items():
    message = file.message_type.add(name=name)
    for text in fields:
        number, field_name, kind = text.split()
        repeated = kind.endswith("*")
        kind = kind.rstrip("*")
        field = message.field.add(name=field_name, number=int(number))
        field.label = FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL
        field.type = KINDS.get(kind, FIELD.TYPE_MESSAGE)
        if kind not in KINDS:
            field.type_name = ".t." + kind
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
factory = message_factory.MessageFactory(pool)
Event = factory.GetPrototype(pool.FindMessageTypeByName("t.Event"))

data = open(sys.argv[1], "rb").read()
at = 0
while at < len(data):
    (length,) = struct.unpack_from("<Q", data, at)
    event = Event()
    event.ParseFromString(data[at + 12:at + 12 + length])
    known = Event()
    known.CopyFrom(event)
    known.DiscardUnknownFields()
    assert known.SerializeToString(deterministic=True) == event.SerializeToString(deterministic=True)
    print(text_format.MessageToString(event, as_one_line=True))
    at += 16 + length
