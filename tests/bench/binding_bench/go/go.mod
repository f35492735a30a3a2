module poprt.org/tests/bench/binding_bench

go 1.19

require poprt.org/bindings/go v0.1.0

replace poprt.org/bindings/go => ../../../../bindings/go
