module poprt.example.org/tests/bench/servers

go 1.19

require poprt.example.org/bindings/go v1.0.0

replace poprt.example.org/bindings/go => ../../../../bindings/go
