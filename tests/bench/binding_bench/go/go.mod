module poprt.org/tests/bench/binding_bench

go 1.19

require poprt.org/bindings/go v1.0.0

replace poprt.org/bindings/go => ../../../../bindings/go
