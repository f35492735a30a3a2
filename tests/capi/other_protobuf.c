/* A library with symbols of protobuf that do not work, as TensorFlow's of another version. */

#define EXPORTED(name) __asm__(name) __attribute__((visibility("default")))

extern void* const message_vtable[4] EXPORTED("_ZTVN6google8protobuf7MessageE");
void* const message_vtable[4] = {0};

int parse_from_array(void) EXPORTED("_ZN6google8protobuf11MessageLite14ParseFromArrayEPKvi");
int parse_from_array(void) { return 0; }

int parse_from_coded_stream(void)
    EXPORTED("_ZN6google8protobuf11MessageLite20ParseFromCodedStreamEPNS0_2io16CodedInputStreamE");
int parse_from_coded_stream(void) { return 0; }
