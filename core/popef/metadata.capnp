@0xb8f1c2a59d3e7046;
# Payload of a METADATA blob: one message in canonical form, without a segment table.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("poprt::popef::schema");

struct TensorInfo {
  dataType @0 :UInt32;  # popef::DataType
  shape @1 :List(Int64);
}

struct Anchor {
  name @0 :Text;
  handle @1 :Text;
  tensorInfo @2 :TensorInfo;
  type @3 :UInt32;  # popef::TensorType
  isPerReplica @4 :Bool;
  programs @5 :List(UInt32);
}

struct Option {
  name @0 :Text;
  value @1 :Text;
}

struct ProgramName {
  index @0 :UInt32;
  name @1 :Text;
}

struct Metadata {
  replicationFactor @0 :UInt32;
  numIpus @1 :UInt32;
  ipuVersion @2 :Int32;
  isPod @3 :Bool;
  isInference @4 :Bool;
  numProcesses @5 :UInt32;
  executable @6 :Text;
  seedHandle @7 :Text;
  engineOptions @8 :List(Option);
  deviceOptions @9 :List(Option);
  deviceIterations @10 :UInt64;
  anchors @11 :List(Anchor);
  load @12 :List(UInt32);
  main @13 :List(UInt32);
  save @14 :List(UInt32);
  programsMap @15 :List(ProgramName);  # ascending by index
}
