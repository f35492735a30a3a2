@0xd41c7b6e90a2f385;
# program::Program inside an executable payload: one message in canonical form, without a segment
# table.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("poprt::program::schema");

struct Buffer {
  offset @0 :UInt64;
  bytes @1 :UInt64;
  index @2 :UInt32;
  space @3 :UInt8;  # program::Space
  dtype @4 :UInt8;  # poprt::DType
  shape @5 :List(Int64);
}

struct Instruction {
  kernel @0 :UInt32;
  operands @1 :List(UInt32);
  ints @2 :List(Int64);
  floats @3 :List(Float32);
  name @4 :Text;
}

struct Anchor {
  name @0 :Text;
  dtype @1 :UInt8;
  shape @2 :List(Int64);
  data @3 :UInt64;  # 1 + offset into the weights; 0: none
}

# Floats of the weights that the payload stores as a narrower type (program/narrow_weights.h).
struct Narrow {
  offset @0 :UInt64;  # in the weights as the program sees them
  bytes @1 :UInt64;
  exponent @2 :Int32;
  dtype @3 :UInt8;  # poprt::DType
  tile @4 :UInt8;  # 0; a reader refuses other values, which are from development versions
  m @5 :UInt32;  # unused
  c @6 :UInt32;  # unused
}

struct Program {
  arenaBytes @0 :UInt64;
  weightsBytes @1 :UInt64;
  kernels @2 :List(Text);
  buffers @3 :List(Buffer);
  load @4 :List(Instruction);
  main @5 :List(Instruction);
  save @6 :List(Instruction);
  inputs @7 :List(Anchor);
  outputs @8 :List(Anchor);
  notes @9 :List(Text);  # by turns a name and a text: the opaque blobs that belong to the program
  stateBytes @10 :UInt64;  # size of the beginning of the arena that lasts from run to run
  narrow @11 :List(Narrow);  # weights that the payload stores in fewer bytes
}
